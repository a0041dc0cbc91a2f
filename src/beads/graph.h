#ifndef BEADS_GRAPH_H
#define BEADS_GRAPH_H

#include "base/map.h"
#include "beads/beads.h"
#include "store/db/bead_query.h"

/*
 * Cycles are found in three ways, because the questions differ. graph_check() answers for one new
 * edge by index reads, so that refusing a cycle costs no more in a large store.
 * graph_cycle_members() answers for many beads at once: those of a change, or all when the cache is
 * built. graph_cycles() lists the cycles for people. For all of them an edge counts while both of
 * its beads are live.
 */

/* May `from` depend on `to`? SELF_DEPENDENCY; CYCLE, with the way back. */
enum err graph_check(struct call *c, struct beads *b, struct str from, struct str to,
		     struct str kind);

/* The cycles, as lists of ids, each once. If there are very many, only the first are listed. */
struct cycle {
	struct str kind;
	struct str *ids;
	size_t count;
	struct cycle *next;
};
/*
 * The parent edges of the beads in `seen` and of all their ancestors, which are added to `seen`.
 * Each bead is read once, however many of the beads have the same ancestors.
 */
enum err graph_ancestors(struct call *c, struct cache *cache, struct map *seen,
			 struct edge_row **edges);

/* The ids of all beads that are in a cycle of these edges, each once. */
struct str *graph_cycle_members(struct arena *mem, const struct edge_row *edges, size_t *count);

struct cycle *graph_cycles(struct arena *mem, const struct edge_row *edges);

/*
 * Have edges of one kind a cycle? They are pairs of numbers below `beads`. It takes less memory
 * than to list the cycles, and most stores have none.
 */
struct edge_numbers;
bool graph_has_cycle(struct edge_numbers *edges, size_t count, size_t beads);

/* The same for all edges of the cache, in little memory: a healthy store has no cycle. */
enum err graph_cycles_of(struct call *c, struct cache *cache, struct cycle **out);

/* A node of the tree of a bead's dependencies or dependents, depth first. */
struct branch {
	const struct bead_row *bead;
	struct str kind;  /* of the edge that leads here; absent at the root */
	struct str under; /* the bead above it in the tree */
	bool inward;      /* it depends on `under`, not the other way round */
	bool again;       /* it was shown before, and is not followed here */
	int64_t depth;
	struct branch *next;
};
enum { TREE_DEPTH = 100 }; /* at most */
enum err graph_tree(struct call *c, struct beads *b, struct bead_row *root, bool down, bool up,
		    int64_t deepest, struct branch **out);

#endif
