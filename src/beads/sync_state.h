#ifndef BEADS_SYNC_STATE_H
#define BEADS_SYNC_STATE_H

#include "store/journal.h"

/*
 * What is known of the last syncs, in the file `sync.json` of the store. Nothing depends on it
 * but when the next one is tried, and what `bd status` tells.
 */
struct sync_state {
	int64_t tried_ms, succeeded_ms, pushed_ms; /* 0: never */
	int64_t failures;                          /* since it last succeeded */
	int64_t not_before_ms;                     /* of the next try by itself */
	struct str code, message;                  /* of the last failure; or absent */
	struct str warning;             /* what people should know of the last success; or absent */
	struct str made;                /* the last commit of ours, which may not be published */
	struct journal_place made_upto; /* it has all that the journal has up to here */
	/* what was packed: up to which commit, into which packs (with spaces between), and how
	 * many commits the first of them has */
	struct str packed, packs;
	int64_t packed_commits;
};

/* All zeros where there is none, or none that can be read. */
struct sync_state sync_state_read(struct call *c, struct str home);
enum err sync_state_write(struct call *c, struct str home, const struct sync_state *s);

#endif
