#ifndef OP_EXCLUSIVE_H
#define OP_EXCLUSIVE_H

#include "op/op.h"

/*
 * Exclusive claims: of all clones that claim a bead at the same time, one gets it. The Git remote
 * decides. The git process fetches, runs the operation on what it has fetched, and pushes the
 * result; only a claim that the remote has counts, here too.
 */
struct beads;

/* INVALID_INPUT: --exclusive without a claim. */
enum err exclusive_check(struct call *c, const struct request *r);

/* Is this request, on a store with this setting, to be carried out at the remote first? */
bool exclusive_asked(const struct request *r, bool setting);

/* Carries the request out. Only the place of `b` is used. */
enum err exclusive_run(struct call *c, struct beads *b, const struct request *r,
		       struct json *reply);

/*
 * For the git process: the request that exclusive_run() has sent. The call gets its actor and its
 * request id. The operation is one of `ops`, which NULL ends.
 */
enum err exclusive_decode(struct call *c, struct str text, const struct op *const *ops,
			  struct request *out);

#endif
