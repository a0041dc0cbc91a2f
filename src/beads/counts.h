#ifndef BEADS_COUNTS_H
#define BEADS_COUNTS_H

#include "base/map.h"
#include "store/db/bead_cache.h"

struct state;

/*
 * The columns of a row that follow from the edges: blockers, waits, dependencies, dependents,
 * children, parent, epic. An edge counts while both of its beads are live. A bead waits for each
 * bead that it has a `blocks` edge to and that is not closed, and for itself if it is its own
 * ancestor. Its epic is the nearest one above it: its parent, the parent of that, and so on.
 *
 * The rule is in C and not in SQL because the cache is built from a state in memory, where SQL
 * would have to write every row twice. A change reads the edges at the beads that it touches, by
 * index.
 */

/* By id: a struct bead_row with only these columns. Beads without edges are not in the map. */
struct map counts_of_state(struct arena *mem, const struct state *s);

/*
 * Counts the edges of these beads again, and writes the columns; the keys are their ids. The beads
 * below one that is now in another epic are moved to it, too. The caller must include the children
 * of a bead that became an epic, or is none any more.
 */
enum err counts_update(struct call *c, struct cache *cache, const struct map *ids);

#endif
