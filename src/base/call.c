#include "base/call.h"

#include "base/buf.h"
#include "base/text/utf8.h"

enum {
	PART = 300,        /* bytes kept at each end of a message that is too long */
	STEP_MOST = 16384, /* maximum bytes of a step; a longer one is left out */
};

/* A message is one line: newlines and tabs are replaced like other control characters. */
static void call_put_safe(struct buf *b, struct str text)
{
	uint32_t cp;
	size_t n;

	for (; text.n; text = str_skip(text, n)) {
		bool valid = (n = utf8_decode(text, &cp)) > 0;

		n = valid ? n : 1;
		if (!valid || utf8_is_unsafe(cp))
			buf_put(b, STR("\xef\xbf\xbd"));
		else
			buf_put(b, str_head(text, n));
	}
}

static bool is_continuation(char ch)
{
	return ((unsigned char)ch & 0xc0) == 0x80;
}

/* Messages and steps quote text of users, and are shown on terminals and to models: unsafe
 * characters are replaced. */
static struct str call_safe(struct arena *mem, struct str text)
{
	struct buf b = { .mem = mem };

	call_put_safe(&b, text);
	return buf_str(&b);
}

/*
 * A step may contain a command, and part of a command is a different command. So a step is kept
 * whole, or replaced by the default step of the error code.
 */
static struct str call_safe_step(struct arena *mem, struct str text)
{
	return text.n > STEP_MOST ? STR_NONE : call_safe(mem, text);
}

/* Only both ends of a long message are kept. */
static struct str call_safe_message(struct arena *mem, struct str text)
{
	struct buf b = { .mem = mem };
	size_t head = PART, tail = PART;

	if (text.n <= 2 * PART)
		return call_safe(mem, text);
	while (head && is_continuation(text.p[head]))
		head--;
	while (tail && is_continuation(text.p[text.n - tail]))
		tail--;
	call_put_safe(&b, str_head(text, head));
	buf_put(&b, STR("…"));
	call_put_safe(&b, str_skip(text, text.n - tail));
	return buf_str(&b);
}

enum err call_fail(struct call *c, enum err code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	c->message = call_safe_message(&c->mem, arena_vfmt(&c->mem, fmt, ap));
	va_end(ap);
	c->step = c->remedy = c->details = STR_NONE;
	c->missing = false;
	return c->code = code;
}

enum err call_step(struct call *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	c->step = call_safe_step(&c->mem, arena_vfmt(&c->mem, fmt, ap));
	va_end(ap);
	return c->code;
}

enum err call_remedy(struct call *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	c->remedy = call_safe_step(&c->mem, arena_vfmt(&c->mem, fmt, ap));
	va_end(ap);
	return c->code;
}

static struct str call_capitalize(struct arena *mem, struct str sentence)
{
	if (!sentence.n || *sentence.p < 'a' || *sentence.p > 'z')
		return sentence;
	return arena_fmt(mem, "%c" STR_FMT, *sentence.p - 'a' + 'A',
			 STR_ARG(str_skip(sentence, 1)));
}

void call_warn(struct call *c, const char *fmt, ...)
{
	enum { MOST = 4096 }; /* bytes */
	const struct str more = STR("There are more warnings");
	struct arena before = arena_mark(&c->mem);
	struct str text;
	va_list ap;

	if (c->warning.n > MOST && str_ends(c->warning, more))
		return;
	va_start(ap, fmt);
	text = arena_vfmt(&c->mem, fmt, ap);
	va_end(ap);
	if (c->warning.p &&
	    (str_has(c->warning, text) || str_has(c->warning, call_capitalize(&c->mem, text)))) {
		arena_rewind(&c->mem, before);
		return;
	}
	if (c->warning.n > MOST)
		text = more;
	c->warning = c->warning.p ? arena_fmt(&c->mem, STR_FMT "%s" STR_FMT, STR_ARG(c->warning),
					      str_ends(c->warning, STR(".")) ? " " : ". ",
					      STR_ARG(call_capitalize(&c->mem, text))) :
				    text;
}

enum err call_forgive(struct call *c)
{
	c->message = c->step = c->remedy = c->details = STR_NONE;
	c->missing = false;
	return c->code = ERR_OK;
}

struct call call_save(struct call *c)
{
	struct call before = *c;

	call_forgive(c);
	return before;
}

void call_restore(struct call *c, const struct call *before)
{
	struct arena mem = c->mem;

	*c = *before;
	c->mem = mem;
}

struct call call_part(const struct call *c)
{
	struct call part = *c;

	part.mem = (struct arena){ 0 };
	part.seen = (struct call_seen){ 0 };
	return part;
}

enum err call_part_end(struct call *c, struct call *part, enum err e)
{
	if (e) {
		call_fail(c, e, STR_FMT, STR_ARG(part->message));
		c->step = arena_copy(&c->mem, part->step);
		c->remedy = arena_copy(&c->mem, part->remedy);
		c->details = arena_copy(&c->mem, part->details);
	}
	if (part->warning.p != c->warning.p)
		c->warning = arena_copy(&c->mem, part->warning);
	call_stored(c, part->stored);
	arena_release(&part->mem);
	return e;
}

void call_stored(struct call *c, enum stored stored)
{
	if (stored > c->stored)
		c->stored = stored;
}

enum err call_detail(struct call *c, struct str json)
{
	c->details = json;
	return c->code;
}

/* The advice for a retry where changes may be stored already. */
static const char *call_retry_step(const struct call *c)
{
	if (!c->request_id.p)
		return "Check whether it is there before running the command again.";
	return c->wire ? "Send it again with the same request_id: it is stored once." :
			 "Run the command again with the same --request-id: it is stored once.";
}

/* A default step without a full stop is a remedy. Any other one without a full stop ends with a
 * command, which nothing may follow. */
struct str call_next_step(struct call *c)
{
	static const char *const left[] = {
		[STORED_NOTHING] = "Nothing was changed.",
		[STORED_UNDONE] = "What the command had done was undone.",
		[STORED_MAYBE] = "It is not known whether this was stored.",
		[STORED_PART] = "Only part of it was stored.",
		[STORED_SAFE] = "Nothing was lost.",
	};
	struct str step = c->step.p   ? c->step :
			  c->remedy.p ? c->remedy :
					str_of(err_steps[c->code]);
	bool command = c->step.p && !str_ends(step, STR("."));
	bool remedy = !c->step.p && !str_ends(step, STR("."));

	if (c->stored == STORED_UNDONE && !remedy)
		return arena_fmt(&c->mem, "%s " STR_FMT, left[c->stored], STR_ARG(step));
	if (c->stored == STORED_NOTHING || c->stored == STORED_UNDONE || c->stored == STORED_SAFE)
		return remedy ? arena_fmt(&c->mem, "%s " STR_FMT ", then run the command again.",
					  left[c->stored], STR_ARG(step)) :
				step;
	if (command)
		return arena_fmt(&c->mem, "%s %s " STR_FMT, left[c->stored], call_retry_step(c),
				 STR_ARG(step));
	return arena_fmt(&c->mem, "%s " STR_FMT "%s %s", left[c->stored], STR_ARG(step),
			 remedy ? "." : "", call_retry_step(c));
}

void call_release(struct call *c)
{
	arena_release(&c->mem);
	*c = (struct call){ 0 };
}
