#ifndef SYNC_HISTORY_H
#define SYNC_HISTORY_H

#include "base/call.h"

struct json;
struct repo;
struct snapshot;

/* What the commits of a ref say of the past. Only `abacus-sync` can read them. */

/*
 * The commit that is meant: at a time (ms; 0: none given) the last one before it, else what
 * `spec` names. `~2` is two before the last, an absent one is the last itself.
 */
enum err history_find(struct call *c, struct repo *r, struct str ref, int64_t at_ms,
		      struct str spec, struct str *commit);

/* The files of a commit that is asked about; NOT_FOUND: it is none with beads. */
enum err history_read(struct call *c, struct repo *r, struct str commit, struct snapshot *out);

/* How a bead came to be what it is: a list, the newest change first. */
enum err history_of(struct call *c, struct repo *r, struct str ref, struct str id, int64_t limit,
		    struct json *reply);

/* For each of its members, who wrote it, when, and in which commit it came. */
enum err history_blame(struct call *c, struct repo *r, struct str ref, struct str id,
		       struct json *reply);

/* What is different in one commit from another. */
enum err history_diff(struct call *c, struct repo *r, struct str from, struct str to,
		      struct json *reply);

/* The states that were published, the newest first, as a list; a limit of 0: all. */
enum err history_commits(struct call *c, struct repo *r, struct str ref, int64_t limit,
			 struct json *out);

#endif
