#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

/*
 * Every way in which a call can fail, as callers see it. The names are the wire codes
 * ("NOT_INITIALIZED"), so they are never renamed or reused.
 */
enum err {
	ERR_OK,
#define ERR(name, code, bd_code, agent_code, class, http, again) ERR_##name,
#include "base/err.def"
#undef ERR
	ERR_COUNT,
};

/* The family of commands in use: each has its own error codes and exit statuses. */
enum dialect { DIALECT_BOARD, DIALECT_BEADS, DIALECT_AGENTS, DIALECT_VYBE };

const char *err_code(enum err e, enum dialect dialect);
int err_exit(enum err e, enum dialect dialect);
int err_http(enum err e); /* an HTTP status */
/* For communication between our own programs: the name in the table, and back. */
const char *err_name(enum err e);
enum err err_named(const char *name);

bool err_of_sync(enum err e);   /* the remote, or the way to it, has failed */
bool err_retryable(enum err e); /* the same call may succeed a moment later */

/* The default next step of each error; defined in op/steps.c. */
extern const char *const err_steps[ERR_COUNT];

#endif
