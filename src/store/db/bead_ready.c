#include "store/db/bead_ready.h"

#include "base/moment.h"

enum holding bead_row_holding(const struct bead_row *row, struct str actor, int64_t now)
{
	bool live = row->lease > now;
	bool mine = row->assignee.p && actor.p && str_eq(row->assignee, actor);

	if (row->status == BEAD_CLOSED)
		return HOLDING_CLOSED;
	if (row->status == BEAD_IN_PROGRESS)
		return row->lease && !live ? HOLDING_ENDED : HOLDING_IN_PROGRESS;
	return live && !mine ? HOLDING_CLAIMED : HOLDING_NONE;
}

bool bead_claimed(int status, struct str assignee, int64_t lease, int64_t now)
{
	return status == BEAD_IN_PROGRESS || (status == BEAD_OPEN && assignee.p && lease > now);
}

bool bead_row_claimed(const struct bead_row *row, int64_t now)
{
	return bead_claimed(row->status, row->assignee, row->lease, now);
}

bool edge_blocks(struct str kind, int status)
{
	return edge_is(kind, EDGE_BLOCKS) && status != BEAD_CLOSED;
}

bool bead_row_ready(const struct bead_row *row, struct str actor, int64_t now)
{
	return bead_row_holding(row, actor, now) <= HOLDING_ENDED && !row->blockers &&
	       row->deferred <= now;
}

bool bead_row_assignable(const struct bead_row *row, struct str actor, int64_t now)
{
	return bead_row_ready(row, actor, now) && !row->children;
}

int64_t bead_row_assignable_from(const struct bead_row *row, struct str actor)
{
	int64_t later = row->lease > row->deferred ? row->lease : row->deferred;

	if (bead_row_assignable(row, actor, 0))
		return 0;
	if (later == MOMENT_LAST)
		return ASSIGNABLE_NEVER;
	if (row->deferred && bead_row_assignable(row, actor, row->deferred))
		return row->deferred;
	return later && bead_row_assignable(row, actor, later) ? later : ASSIGNABLE_NEVER;
}
