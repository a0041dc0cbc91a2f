#ifndef BEADS_MODEL_JOIN_H
#define BEADS_MODEL_JOIN_H

#include "beads/model/bead.h"

/*
 * The join of two states of one lineage: the last write of every register, all notes, the last
 * deletion. It depends on no clock and prefers no side, so it may be applied in any order and
 * repeatedly.
 */
void bead_join(struct arena *mem, const struct bead *a, const struct bead *b, struct bead *out);

#endif
