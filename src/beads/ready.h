#ifndef BEADS_READY_H
#define BEADS_READY_H

#include "beads/beads.h"

struct bead_filter;

/* Handing out work: which bead an agent gets that asks for the next one. The rule is in
 * store/db/bead_ready.h. */

/* The beads that `c->actor` may be given now, as the filter narrows and sorts them. */
enum err ready_each(struct call *c, struct beads *b, const struct bead_filter *filter,
		    struct bead_row **out);

/* Claims the first of them for `c->actor`, in one step; no row if there is none. */
enum err ready_claim(struct call *c, struct beads *b, const struct bead_filter *filter,
		     int64_t lease_ms, struct bead_row **out);

#endif
