#include "base/call.h"

enum err call_fail(struct call *c, enum err code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	c->message = arena_vfmt(&c->mem, fmt, ap);
	va_end(ap);
	c->step = (struct str){ 0 };
	return c->code = code;
}

enum err call_step(struct call *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	c->step = arena_vfmt(&c->mem, fmt, ap);
	va_end(ap);
	return c->code;
}

struct str call_next_step(const struct call *c)
{
	return c->step.p ? c->step : str_of(err_step(c->code));
}

void call_release(struct call *c)
{
	arena_release(&c->mem);
	*c = (struct call){ 0 };
}
