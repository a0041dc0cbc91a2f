#ifndef BEADS_REPAIR_INSPECT_H
#define BEADS_REPAIR_INSPECT_H

#include "beads/beads.h"
#include "beads/repair/validate.h"

/* Finds what is wrong with a store: with the published files, byte for byte, and with the changes
 * of the journal. */

/* The unconverted files of the commit that `when` names, or of the ref if it is absent. */
enum err inspect_commit(struct call *c, const struct beads *b, const struct when *when,
			struct finding **out);

/* The published files and the journal, read once for all checks. */
struct inspection {
	struct str ref;
	struct snapshot tip;        /* unconverted; `commit` is absent: there are none */
	struct finding *unreadable; /* why there are no files; or NULL */
	bool foreign;               /* another program wrote them */
	bool replayed;              /* the journal could be read; the members below are set */
	struct snapshot base;
	struct state *since;
};
enum err inspect_open(struct call *c, const struct beads *b, struct inspection *out);

/* From the journal: see beads_replay(). */
enum err inspect_journal(struct call *c, struct beads *b, struct inspection *i);

/* The findings of the published files and, if the journal was read, of the next commit. */
enum err inspect_store(struct call *c, const struct beads *b, const struct inspection *i,
		       struct finding **out);

#endif
