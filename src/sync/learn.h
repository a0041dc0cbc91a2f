#ifndef SYNC_LEARN_H
#define SYNC_LEARN_H

#include "base/call.h"

struct beads;
struct json;
struct repo;

/*
 * Reads the commits that `history.db` (store/commit_db.h) lacks: the files that each of them
 * changed, and the beads that its message names, by the trailer `Bead: ID` or by the id itself.
 * If history was rewritten below the commit that HEAD was at, everything is read again. `also` is
 * a commit to read besides the branches; or absent. The reply is the number of commits.
 */
enum err learn_history(struct call *c, const struct beads *b, struct repo *r, struct str also,
		       struct json *reply);

#endif
