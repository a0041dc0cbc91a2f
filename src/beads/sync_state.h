#ifndef BEADS_SYNC_STATE_H
#define BEADS_SYNC_STATE_H

#include "store/journal.h"

/* The results of the last syncs, in the file `sync.json` of the store. Only the time of the next
 * attempt and the output of `bd status` depend on it. */
struct sync_state {
	int64_t tried_ms, succeeded_ms, pushed_ms; /* 0: never */
	int64_t failures;                          /* failures since the last success */
	int64_t not_before_ms;                     /* time of the next attempt of autosync */
	struct str code, message, step;            /* of the last failure; or absent */
	struct str warning;                        /* warning of the last success; or absent */
	struct str made;                /* the last commit of this clone, perhaps not published */
	struct journal_place made_upto; /* that commit has every record before this place */
	/* packing: the last packed commit, the packs (separated by spaces), and the number of
	 * commits in the first pack */
	struct str packed, packs;
	int64_t packed_commits;
};

/* All zeros if the file is missing or cannot be read. */
struct sync_state sync_state_read(struct call *c, struct str home);
enum err sync_state_write(struct call *c, struct str home, const struct sync_state *s);

#endif
