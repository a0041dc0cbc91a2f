#ifndef BEADS_GRAPH_H
#define BEADS_GRAPH_H

#include "beads/beads.h"
#include "store/db/bead_query.h"

/* May `from` depend on `to`? SELF_DEPENDENCY; CYCLE, with the way back. */
enum err graph_check(struct call *c, struct beads *b, struct str from, struct str to,
		     struct str kind);

/*
 * Beads that wait for each other, as lists of ids; each list once. Of very many cycles only the
 * first are listed.
 */
struct cycle {
	struct str kind;
	struct str *ids;
	size_t count;
	struct cycle *next;
};
/* The ids of all that are in a circle of these edges, whatever their kinds; each once. */
struct str *graph_circles(struct arena *mem, const struct edge_row *edges, size_t *count);

struct cycle *graph_cycles(struct arena *mem, const struct edge_row *edges);

/* What hangs together with a bead, depth first. */
struct branch {
	const struct bead_row *bead;
	struct str kind;  /* of the edge that leads here; absent at the root */
	struct str under; /* the bead it hangs on */
	bool inward;      /* it depends on `under`, not the other way round */
	bool again;       /* it was shown before, and is not followed here */
	int64_t depth;
	struct branch *next;
};
enum { TREE_DEPTH = 100 }; /* at most */
enum err graph_tree(struct call *c, struct beads *b, struct bead_row *root, bool down, bool up,
		    int64_t deepest, struct branch **out);

#endif
