#ifndef BEADS_UNDO_BEFORE_H
#define BEADS_UNDO_BEFORE_H

#include "beads/beads.h"

struct state;

/*
 * Adds the values that a change is about to replace to `b->before`, for 'bd undo': of a bead the
 * registers that change, of an edge whether it was there. A bead that is about to be created has
 * no entry, one that is about to be deleted only its lineage. Changes that carry other actors'
 * marks, which a sync restores, are not noted, and neither are those of an import.
 */
enum err before_note(struct call *c, struct beads *b, const struct state *change);

#endif
