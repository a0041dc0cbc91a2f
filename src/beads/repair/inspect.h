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

/* The files on the ref, and what the journal knows: read once, for all who look at them. */
struct inspection {
	struct str ref;
	struct snapshot tip;        /* as they are; `commit` is absent: there are none */
	struct finding *unreadable; /* why there are none; or NULL */
	bool foreign;               /* another program wrote them */
	bool replayed;              /* the journal could be read; the rest is of that */
	struct snapshot base;
	struct state *since;
};
enum err inspect_open(struct call *c, const struct beads *b, struct inspection *out);

/* With the journal: see beads_replay(). */
enum err inspect_journal(struct call *c, struct beads *b, struct inspection *i);

/*
 * What is wrong with the files on the ref, and, where the journal was read, with what the next
 * commit would have with its changes.
 */
enum err inspect_store(struct call *c, const struct beads *b, const struct inspection *i,
		       struct finding **out);

#endif
