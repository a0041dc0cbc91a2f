#ifndef SYNC_HISTORY_H
#define SYNC_HISTORY_H

#include "base/call.h"

struct json;
struct repo;
struct snapshot;

/* The history of beads, read from the commits of a ref. Only `abacus-sync` can read commits. */

/*
 * Finds a commit. With a time (in ms; 0 means none), the last commit made before that time;
 * otherwise the commit that `spec` names. `~2` is two commits before the last one; an absent `spec`
 * is the last one.
 */
enum err history_find(struct call *c, struct repo *r, struct str ref, int64_t at_ms,
		      struct str spec, struct str *commit);

/* Reads the files of a commit that the user named. NOT_FOUND: the commit has no beads. */
enum err history_read(struct call *c, struct repo *r, struct str commit, struct snapshot *out);

/* Writes the changes of a bead as a list, newest first. */
enum err history_of(struct call *c, struct repo *r, struct str ref, struct str id, int64_t limit,
		    struct json *reply);

/* Writes the tombstone that the last commit had of a deleted bead. NOT_FOUND: no commit has one, or
 * the bead exists in the last commit. */
enum err history_tombstone(struct call *c, struct repo *r, struct str ref, struct str id,
			   struct json *reply);

/* Writes for each member of a bead who wrote it, when, and which commit brought it. */
enum err history_blame(struct call *c, struct repo *r, struct str ref, struct str id,
		       struct json *reply);

/* Writes the beads and dependencies that differ between two commits. */
enum err history_diff(struct call *c, struct repo *r, struct str from, struct str to,
		      struct json *reply);

/* Writes the published commits as a list, newest first; a limit of 0 means all. */
enum err history_commits(struct call *c, struct repo *r, struct str ref, int64_t limit,
			 struct json *out);

#endif
