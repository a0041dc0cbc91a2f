#ifndef BEADS_AUTOSYNC_H
#define BEADS_AUTOSYNC_H

#include "beads/beads.h"
#include "beads/sync_state.h"

/* Starts syncs. 'bd sync' waits for its sync. After a change, autosync publishes in a background
 * process that ends when there is nothing left to do. */

/* Prefix of the ref that keeps the last known commit of a remote; the remote's name follows. */
#define SYNC_TRACKING "refs/beads/remote/"

struct sync_ask {
	bool no_pull, no_push, dry;
	bool begin; /* create the store if there is none, or join the published one */
	int64_t timeout_ms;
};

/* Syncs now, and records the result in sync.json. The reply is JSON. Only the place of `b` is
 * used. */
enum err sync_now(struct call *c, struct beads *b, const struct sync_ask *ask, struct str *reply);

/*
 * Carries out a request that counts only once the remote has its result; see op/exclusive.h. The
 * reply is that of the request.
 */
enum err sync_exclusive(struct call *c, struct beads *b, struct str request, int64_t timeout_ms,
			struct str *reply);

/* After a change: starts the background process, unless it runs already or autosync is off. Never
 * fails. */
void autosync_start(struct call *c, const struct beads *b);

/* Does the background process run? */
bool autosync_is_running(struct call *c, const struct beads *b);

/* The main function of the background process. Returns when everything is published, or when the
 * next attempt is far away. */
enum err autosync_run(struct call *c, struct beads *b);

#endif
