#ifndef SYNC_SYNC_H
#define SYNC_SYNC_H

#include "beads/lost.h"

struct json;

/*
 * One sync: fetch, merge, commit, push, verify. Only `abacus-sync` does it, at most one at a time
 * in a repository. The process may be killed at any moment.
 */
struct sync_wants {
	bool pull, push;
	bool begin;                /* the store need not exist yet */
	bool dry;                  /* report what would be done, change nothing */
	int64_t timeout_ms;        /* no retry after a lost race once this has passed */
	int64_t collect_before_ms; /* deletions older than this are removed; 0: none */
	void (*doing)(const char *what, struct str with); /* reports progress */
	lost_tell *lost; /* notifies an actor that lost a claim; or NULL */
};

/* The reply is what `bd sync` prints. `c->dir` must be inside the repository. */
enum err sync_run(struct call *c, const struct sync_wants *wants, struct json *reply);

/*
 * A change that counts only once the remote has it. `run` is called with the fetched beads, opened
 * for writing, under the name of the receipt's actor; it makes the change and writes the reply, but
 * commits nothing. If another clone pushes first, it is called again with what that clone has
 * pushed. The beads that the change claims for the actor are marked in the reply: `durability` is
 * `remote`.
 */
struct exclusive {
	enum err (*run)(struct call *c, struct beads *b, void *arg, struct json *reply);
	void *arg;
	struct receipt receipt; /* `id` is absent if the request has none */
	struct str reply;       /* the result */
};

/*
 * Makes the change. SYNC_FAILED, SYNC_TIMEOUT: nothing was claimed here. If the remote may have the
 * claim, the next step says so; repeating the command finds out.
 */
enum err sync_run_exclusive(struct call *c, const struct sync_wants *wants, struct exclusive *x);

/*
 * Looks for damaged commits, at the remote and here. With `apply`, publishes their readable data
 * and keeps the damaged commits with backup refs. The reply lists every line that was changed or
 * removed.
 */
enum err sync_repair(struct call *c, const struct sync_wants *wants, bool apply,
		     struct json *reply);

/*
 * Lists problems that would stop a sync, as far as they can be found without contacting a server:
 * {"code","message","fix"}, where `fix` is the remedy. Changes nothing.
 */
enum err sync_diagnose(struct call *c, struct json *reply);

/* Packs the objects that syncs have written to Git, once there are enough of them. */
enum err sync_pack(struct call *c);

/* Waits for a random time, which grows with the number of lost races. */
void sync_wait(int64_t attempts);

#endif
