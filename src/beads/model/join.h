#ifndef BEADS_MODEL_JOIN_H
#define BEADS_MODEL_JOIN_H

#include "beads/model/bead.h"

/*
 * The join of two states of one lineage: every register as it was written last, all notes, the
 * last deletion. It has no clock and no preference for a side, so it may be applied in any order,
 * and again.
 */
void bead_join(struct arena *mem, const struct bead *a, const struct bead *b, struct bead *out);

#endif
