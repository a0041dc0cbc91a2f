#ifndef BEADS_MODEL_VISITS_H
#define BEADS_MODEL_VISITS_H

#include "base/map.h"
#include "beads/model/stamp.h"

/*
 * The ids that a join has to read: each once, and once more for every lineage that moves to it.
 * Beads that lost their ids to others form chains as long as the author of a commit likes, so the
 * ids are kept in a queue, not on the stack.
 */
struct visit {
	struct str id;
	const struct mark *created; /* of the bead that moves to the id; NULL: none */
	struct visit *next;
};

struct visits {
	struct arena *mem;
	struct map known;
	struct visit *first, **last;
};

struct visits visits_new(struct arena *mem);
void visits_add(struct visits *v, struct str id, const struct mark *created);
const struct visit *visits_next(struct visits *v); /* NULL: none is left */

#endif
