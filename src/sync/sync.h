#ifndef SYNC_SYNC_H
#define SYNC_SYNC_H

#include "beads/lost.h"

struct json;

/*
 * One sync: fetch, join, commit, push, look. Only `abacus-sync` does it; at most one at a time in
 * a repository. It may be killed at any moment.
 */
struct sync_wants {
	bool pull, push;
	bool begin;                /* there need not be a store yet */
	bool dry;                  /* only tell what there is to do */
	int64_t timeout_ms;        /* after that no race is run again */
	int64_t collect_before_ms; /* deletions before that are forgotten; 0: none are */
	void (*doing)(const char *what, struct str with); /* says what comes next */
	lost_tell *lost;                                  /* tells who has lost a claim; or NULL */
};

/* The reply is what `bd sync` prints. `c->dir` is in the repository. */
enum err sync_run(struct call *c, const struct sync_wants *wants, struct json *reply);

/*
 * Looks for commits that cannot be used, at the remote and here; with `apply`, publishes what can
 * be read of them, and keeps them as backup refs. The reply lists every line that is not kept as
 * it was.
 */
enum err sync_repair(struct call *c, const struct sync_wants *wants, bool apply,
		     struct json *reply);

/*
 * What would stop a sync, as far as that can be seen without asking a server: a list of
 * {"code","message","fix"}, where `fix` is what to do. Nothing is changed.
 */
enum err sync_diagnose(struct call *c, struct json *reply);

/* Packs what we have written into Git, once there is enough of it. */
enum err sync_pack(struct call *c);

#endif
