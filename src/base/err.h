#ifndef BASE_ERR_H
#define BASE_ERR_H

/*
 * Every way in which a call can fail, as callers see it. The names are the
 * wire codes ("NOT_INITIALIZED"), so they are never renamed or reused.
 */
enum err {
	ERR_OK,
#define ERR(name, code, exit, step) ERR_##name,
#include "base/err.def"
#undef ERR
	ERR_COUNT,
};

const char *err_code(enum err e); /* as it is on the wire */
const char *err_step(enum err e);
int err_exit(enum err e);

#endif
