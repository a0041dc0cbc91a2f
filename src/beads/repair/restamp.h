#ifndef BEADS_REPAIR_RESTAMP_H
#define BEADS_REPAIR_RESTAMP_H

#include "beads/beads.h"

/*
 * The way back from stamps that are ahead of time. A stamp cannot be taken back once others know
 * it, because the later one always wins; so a bead that carries one is copied to a new bead, with
 * current stamps, and deleted. Deletions that nothing can be written after are undone in the same
 * way.
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

#endif
