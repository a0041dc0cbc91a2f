#ifndef BEADS_HANDOUT_H
#define BEADS_HANDOUT_H

#include "beads/beads.h"

struct bead_filter;

/*
 * Handing out work: which bead an agent gets that asks for the next one, on whatever face. The
 * rule is bead_row_free_from() of store/bead_query.h; a bead with open children is never handed
 * out, because the work is in the children.
 */

/* The beads that `c->actor` may be given now, as the filter narrows and sorts them. */
enum err handout_each(struct call *c, struct beads *b, const struct bead_filter *filter,
		      struct bead_row **out);

/* Claims the first of them for `c->actor`, in one step; no row if there is none. */
enum err handout_claim(struct call *c, struct beads *b, const struct bead_filter *filter,
		       int64_t lease_ms, struct bead_row **out);

#endif
