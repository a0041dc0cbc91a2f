#ifndef STORE_DB_BEAD_READY_H
#define STORE_DB_BEAD_READY_H

#include "store/db/bead_cache.h"

/*
 * The one rule of what is ready, for rows and as conditions of SQL.
 *
 * A bead is ready for an actor if no open bead blocks it, and it is open and not under another
 * actor's live lease, or in progress with a lease that has ended. Work that is handed out has no
 * open child either: then the work is in the children. 'bd ready' lists both.
 */

/* Both parts of what is ready, of the table of beads. What the lease says is compared when it is
 * asked. */
#define READY_OPEN_SQL "status = 0 AND blockers = 0"
#define READY_HELD_SQL "status = 1 AND blockers = 0"
#define BLOCKED_SQL    "status < 2 AND blockers > 0"

/* What a bead's own state means for being ready. */
enum holding {
	HOLDING_NONE,        /* open, and nobody else has claimed it */
	HOLDING_ENDED,       /* in progress, but the lease has ended */
	HOLDING_CLOSED,      /* closed */
	HOLDING_IN_PROGRESS, /* in progress */
	HOLDING_CLAIMED,     /* open, but another actor has claimed it */
};
enum holding bead_row_holding(const struct bead_row *row, struct str actor, int64_t now);

/*
 * Does an edge of this kind keep a bead from being ready, if the bead that it leads to has this
 * status? beads/counts.h counts these edges in the column `blockers`.
 */
bool edge_blocks(struct str kind, int status);

/* Is it ready? */
bool bead_row_ready(const struct bead_row *row, struct str actor, int64_t now);

/* May it be handed out: is it ready, without an open child? */
bool bead_row_free(const struct bead_row *row, struct str actor, int64_t now);

/* From which moment on, in ms, it may be handed out to the actor; 0: it is free already;
 * FREE_NEVER: not as long as the bead is as it is. */
enum { FREE_NEVER = -1 };
int64_t bead_row_free_from(const struct bead_row *row, struct str actor);

#endif
