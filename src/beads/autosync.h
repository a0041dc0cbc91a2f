#ifndef BEADS_AUTOSYNC_H
#define BEADS_AUTOSYNC_H

#include "beads/beads.h"
#include "beads/sync_state.h"

/*
 * When syncs happen. 'bd sync' waits for its sync; after a change one happens by itself, in a
 * process that nobody waits for and that ends when there is nothing to do.
 */

/* The ref that says where a remote was last seen begins so; its name follows. */
#define SYNC_TRACKING "refs/beads/remote/"

struct sync_ask {
	bool no_pull, no_push, dry;
	bool begin; /* there need not be a store yet; one that is found is taken */
	int64_t timeout_ms;
};

/* Syncs now, and notes how it went. The reply is JSON. `b` only says where. */
enum err sync_now(struct call *c, struct beads *b, const struct sync_ask *ask, struct str *reply);

/*
 * After a change: starts the process, unless it is there already or is not wanted. It never
 * fails, and costs nothing while one is there.
 */
void autosync_start(struct call *c, const struct beads *b);

/* Is that process there? */
bool autosync_is_running(struct call *c, const struct beads *b);

/* What that process does. Ends when all is published, or cannot be for now. */
enum err autosync_run(struct call *c, struct beads *b);

#endif
