#ifndef LIVE_CHANGES_H
#define LIVE_CHANGES_H

#include "base/map.h"
#include "beads/model/bead.h"

/*
 * The writes to beads, from two sources that overlap: a bead has the mark of the last write of each
 * register, a record of the journal what one command wrote. A write is known by its mark.
 */
struct change {
	struct str bead;
	struct mark mark;
	struct str member[MEMBERS]; /* canonical JSON */
	unsigned regs;              /* bit r: the write has set register r */
	bool created;
};

struct changes {
	struct map by_mark; /* struct change */
};

/* Adds the writes that a bead, or a change of one, has marks of. */
void changes_note(struct changes *all, const struct bead *b);

/* The registers that the write has set, without that of a lease that it only renewed. */
unsigned change_regs(const struct change *c);

/* "created", "closed", "claimed", "released", "renewed", "status", "changed" */
struct str change_word(const struct change *c);

#endif
