#ifndef LIVE_CHANGES_H
#define LIVE_CHANGES_H

#include "base/map.h"
#include "beads/model/bead.h"

/*
 * The writes to beads. They come from two sources that overlap: a bead has the mark of the last
 * write to each of its registers, and a record of the journal has all that one command wrote. The
 * mark identifies the write in both.
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

/* Adds the writes whose marks are in a bead, or in a change to one. */
void changes_note(struct changes *all, const struct bead *b);

/*
 * The registers that the write has set. The assignee does not count if only its lease was renewed.
 */
unsigned change_regs(const struct change *c);

/* "created", "closed", "claimed", "released", "renewed", "status", "changed" */
struct str change_word(const struct change *c);

#endif
