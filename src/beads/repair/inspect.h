#ifndef BEADS_REPAIR_INSPECT_H
#define BEADS_REPAIR_INSPECT_H

#include "beads/beads.h"
#include "beads/repair/validate.h"

/*
 * What is wrong with a store: with the files that are published, byte for byte, and with what the
 * journal adds to them.
 */

/* The files of the commit that `when` names, as they are; absent: that of the ref. */
enum err inspect_commit(struct call *c, const struct beads *b, const struct when *when,
			struct finding **out);

/*
 * The files on the ref, and what the next commit would have with the journal's changes. `all` is
 * that state, from beads_replay(); NULL: only the files on the ref.
 */
enum err inspect_store(struct call *c, const struct beads *b, const struct state *all,
		       struct finding **out);

#endif
