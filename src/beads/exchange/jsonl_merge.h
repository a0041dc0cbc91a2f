#ifndef BEADS_EXCHANGE_JSONL_MERGE_H
#define BEADS_EXCHANGE_JSONL_MERGE_H

#include "base/arena.h"

/*
 * Merges two versions of upstream's issues.jsonl, as Git's merge driver: by id and by member, so
 * that there is never a conflict. A line that is not an object with an id is kept as it is.
 *
 * A member that one side changed has that side's value. If both sides changed it:
 * - lists of labels, dependencies and comments become their union, without what a side removed;
 * - texts that differ are both kept, the older one first;
 * - a closed or deleted issue stays so; otherwise the side with the later `updated_at` wins.
 * A line that one side removed is removed unless the other side changed it.
 */
struct jsonl_sides {
	struct str base, ours, theirs;
};
struct str jsonl_merge(struct arena *mem, const struct jsonl_sides *sides);

#endif
