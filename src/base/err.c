#include "base/err.h"

static const struct {
	const char *code, *step;
	int exit;
} table[ERR_COUNT] = {
	[ERR_OK] = { "OK", "", 0 },
#define ERR(name, code, exit, step) [ERR_##name] = { code, step, exit },
#include "base/err.def"
#undef ERR
};

const char *err_code(enum err e)
{
	return table[e].code;
}

const char *err_step(enum err e)
{
	return table[e].step;
}

int err_exit(enum err e)
{
	return table[e].exit;
}
