#ifndef BEADS_READY_H
#define BEADS_READY_H

#include "beads/beads.h"

struct bead_filter;

/* Hands out the next bead to an agent. The rule is in store/db/bead_ready.h. */

/* The beads that may be handed out to `c->actor` now, filtered and sorted. */
enum err ready_each(struct call *c, struct beads *b, const struct bead_filter *filter,
		    struct bead_row **out);

/* Claims the first of them for `c->actor`, atomically; no row if there is none. */
enum err ready_claim(struct call *c, struct beads *b, const struct bead_filter *filter,
		     int64_t lease_ms, struct bead_row **out);

#endif
