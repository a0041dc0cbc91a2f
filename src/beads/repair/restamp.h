#ifndef BEADS_REPAIR_RESTAMP_H
#define BEADS_REPAIR_RESTAMP_H

#include "beads/beads.h"

/*
 * The way back from stamps that are ahead of time. A stamp cannot be taken back once others know
 * it, because the later one always wins; so a bead that carries one, or that has a dependency
 * which carries the last stamp there is, is copied to a new bead and deleted. In the copy, stamps
 * that are ahead are replaced by those of its creation, so that it is the same copy in every
 * clone and whatever is written to it wins.
 */
struct restamped {
	struct str id, title;
	int64_t at_ms;   /* of the stamp that is ahead */
	struct str copy; /* its new id; absent: nothing was changed */
	struct restamped *next;
};

enum { RESTAMP_MOST = 1000 }; /* at once */

/* Lists such beads; with `apply`, and a store that is open for writing, copies them. */
enum err restamp_all(struct call *c, struct beads *b, bool apply, struct restamped **out);

/* Copies deleted beads, with their dependencies, because no write can be later than their
 * deletion. */
enum err restamp_undelete(struct call *c, struct beads *b, const struct str *ids, size_t count,
			  struct restamped **out);

#endif
