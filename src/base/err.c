#include "base/err.h"

#include <string.h>

enum class { CLASS_NONE, CLASS_USER, CLASS_USAGE, CLASS_STORAGE, CLASS_SYNC };

static const struct {
	const char *name, *code[3];
	enum class class;
	int http;
	enum { FINAL, RETRY } again;
} table[ERR_COUNT] = {
	[ERR_OK] = { "OK", { "OK", "ok", "OK" }, CLASS_NONE, 200, FINAL },
#define ERR(name, code, bd_code, agent_code, class, http, again) \
	[ERR_##name] = { #name, { code, bd_code, agent_code }, CLASS_##class, http, again },
#include "base/err.def"
#undef ERR
};

const char *err_code(enum err e, enum dialect dialect)
{
	if (dialect == DIALECT_VYBE)
		return e == ERR_REQUEST_MISMATCH ? "IDEMPOTENCY_MISMATCH" : err_name(e);
	return table[e].code[dialect];
}

int err_exit(enum err e, enum dialect dialect)
{
	static const int status[][3] = {
		[CLASS_NONE] = { 0, 0, 0 },  [CLASS_USER] = { 1, 1, 1 },
		[CLASS_USAGE] = { 2, 2, 2 }, [CLASS_STORAGE] = { 1, 3, 3 },
		[CLASS_SYNC] = { 1, 4, 3 },
	};

	if (dialect == DIALECT_VYBE)
		return e != ERR_OK;
	return status[table[e].class][dialect];
}

int err_http(enum err e)
{
	return table[e].http;
}

bool err_of_sync(enum err e)
{
	return table[e].class == CLASS_SYNC;
}

bool err_retryable(enum err e)
{
	return table[e].again == RETRY;
}

const char *err_name(enum err e)
{
	return table[e].name;
}

enum err err_named(const char *name)
{
	int e = 0;

	while (e < ERR_COUNT && strcmp(err_name((enum err)e), name) != 0)
		e++;
	return e < ERR_COUNT ? (enum err)e : ERR_INTERNAL_ERROR;
}
