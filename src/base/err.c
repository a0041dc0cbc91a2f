#include "base/err.h"

#include <string.h>

enum class { CLASS_NONE, CLASS_USER, CLASS_USAGE, CLASS_STORAGE, CLASS_SYNC };

static const struct {
	const char *code[3], *step;
	enum class class;
} table[ERR_COUNT] = {
	[ERR_OK] = { { "OK", "ok", "OK" }, "", CLASS_NONE },
#define ERR(name, code, bd_code, agent_code, class, step) \
	[ERR_##name] = { { code, bd_code, agent_code }, step, CLASS_##class },
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
	static const int by_class[] = {
		[CLASS_NONE] = 200,    [CLASS_USER] = 400, [CLASS_USAGE] = 400,
		[CLASS_STORAGE] = 500, [CLASS_SYNC] = 502,
	};

	switch (e) {
	case ERR_NOT_FOUND:
	case ERR_AGENT_NOT_FOUND:
	case ERR_MESSAGE_NOT_FOUND:
	case ERR_RESERVATION_NOT_FOUND:
	case ERR_UNKNOWN_RECIPIENT:
	case ERR_UNKNOWN_SENDER:
		return 404;
	case ERR_DELETED:
		return 410;
	case ERR_DUBIOUS_OWNERSHIP:
	case ERR_READ_FORBIDDEN:
	case ERR_ACK_FORBIDDEN:
	case ERR_RELEASE_FORBIDDEN:
		return 403;
	case ERR_ALREADY_CLAIMED:
	case ERR_ALREADY_EXISTS:
	case ERR_AMBIGUOUS_ID:
	case ERR_AMBIGUOUS_SESSION:
	case ERR_ADOPTION_REJECTED:
	case ERR_BLOCKED:
	case ERR_CLOSED:
	case ERR_CYCLE:
	case ERR_DUPLICATE_AGENT_ID:
	case ERR_NOT_CLAIMED:
	case ERR_NOT_INITIALIZED:
	case ERR_NOT_A_REPOSITORY:
	case ERR_REQUEST_MISMATCH:
	case ERR_RESERVATION_CONFLICT:
	case ERR_RESERVATION_STALE_FOUND:
	case ERR_STALE_CLAIM:
	case ERR_STALE_EPOCH:
		return 409;
	case ERR_CAS_MISMATCH:
		return 412;
	case ERR_DATABASE_BUSY:
		return 503;
	case ERR_SYNC_TIMEOUT:
		return 504;
	default:
		return by_class[table[e].class];
	}
}

const char *err_step(enum err e)
{
	return table[e].step;
}

bool err_retryable(enum err e)
{
	return e == ERR_DATABASE_BUSY || e == ERR_SYNC_FAILED || e == ERR_SYNC_TIMEOUT;
}

const char *err_name(enum err e)
{
	static const char *const names[] = {
		[ERR_OK] = "OK",
#define ERR(name, code, bd_code, agent_code, class, step) [ERR_##name] = #name,
#include "base/err.def"
#undef ERR
	};

	return names[e];
}

enum err err_named(const char *name)
{
	int e = 0;

	while (e < ERR_COUNT && strcmp(err_name((enum err)e), name) != 0)
		e++;
	return e < ERR_COUNT ? (enum err)e : ERR_INTERNAL_ERROR;
}
