#ifndef STORE_DB_BEAD_READY_H
#define STORE_DB_BEAD_READY_H

#include "store/db/bead_cache.h"

/*
 * The rule for ready beads, as C for rows and as SQL conditions.
 *
 * A bead is ready for an actor if no open bead blocks it, and it is either open and not under
 * another actor's live lease, or in progress with an expired lease. A deferred bead is not ready
 * before its time. A bead that is assigned to an agent must also have no open child, because then
 * the work is in the children. 'bd ready' lists both kinds.
 */

/*
 * Both halves of the ready beads, as conditions on the table `beads`. Leases and deferrals are
 * compared by the query, because they depend on the time.
 */
#define READY_OPEN_SQL "status = 0 AND blockers = 0"
#define READY_HELD_SQL "status = 1 AND blockers = 0"
/* Open beads whose readiness depends on the time and the actor; see with_half() in bead_query.c. */
#define READY_TIMED_SQL "status = 0 AND (lease IS NOT NULL OR deferred IS NOT NULL)"
#define BLOCKED_SQL     "status < 2 AND blockers > 0"

/*
 * The rule for claimed beads: in progress, or open with an assignee whose lease has not ended. The
 * second is what a merge makes of one clone's claim and another clone's `bd reopen`. The lease is
 * compared by the query.
 */
#define CLAIMED_OPEN_SQL "status = 0 AND assignee IS NOT NULL"
bool bead_claimed(int status, struct str assignee, int64_t lease, int64_t now);
bool bead_row_claimed(const struct bead_row *row, int64_t now);

/* A bead's own state, as far as it affects readiness. */
enum holding {
	HOLDING_NONE,        /* open, and not claimed by another actor */
	HOLDING_ENDED,       /* in progress, but the lease has expired */
	HOLDING_CLOSED,      /* closed */
	HOLDING_IN_PROGRESS, /* in progress */
	HOLDING_CLAIMED,     /* open, but another actor has claimed it */
};
enum holding bead_row_holding(const struct bead_row *row, struct str actor, int64_t now);

/*
 * Does an edge of this kind block a bead, if the bead at its target has this status? beads/counts.h
 * counts these edges in the column `blockers`.
 */
bool edge_blocks(struct str kind, int status);

bool bead_row_ready(const struct bead_row *row, struct str actor, int64_t now);

/* Is the bead ready and without an open child, so that it can be assigned? */
bool bead_row_assignable(const struct bead_row *row, struct str actor, int64_t now);

/*
 * The moment, in ms, from which the bead can be assigned to the actor; 0: now; ASSIGNABLE_NEVER:
 * not in its present state.
 */
enum { ASSIGNABLE_NEVER = -1 };
int64_t bead_row_assignable_from(const struct bead_row *row, struct str actor);

#endif
