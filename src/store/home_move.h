#ifndef STORE_HOME_MOVE_H
#define STORE_HOME_MOVE_H

#include "store/home.h"

/* What a move did. */
struct home_moving {
	struct str from, to; /* equal: the store was there already */
};

/*
 * Moves the store of a repository into the Git directory or into the workspace. Waits until no
 * process writes to it. The folder is renamed, or, between two file systems, copied first; a
 * process that is killed leaves the store in exactly one of the two places. DATABASE_BUSY: a
 * service runs, or a writer does not end. NOT_INITIALIZED: there is no store.
 */
enum err home_move(struct call *c, struct str common, enum home_kind kind, struct home_moving *out);

#endif
