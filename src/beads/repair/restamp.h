#ifndef BEADS_REPAIR_RESTAMP_H
#define BEADS_REPAIR_RESTAMP_H

#include "beads/beads.h"

/*
 * Repairs stamps in the future. A stamp cannot be taken back once others have it, because the
 * later stamp always wins. So a bead with such a stamp, or with a dependency that has the latest
 * possible stamp, is copied to a new bead and deleted. In the copy these stamps are replaced by
 * that of the creation, so that every clone makes the same copy and any later write wins.
 */
struct restamped {
	struct str id, title;
	int64_t at_ms;   /* time of the stamp in the future */
	struct str copy; /* id of the copy; absent: not copied */
	struct restamped *next;
};

enum { RESTAMP_MOST = 1000 }; /* maximum number in one run */

/* Lists beads with stamps in the future; with `apply`, and a store that is open for writing,
 * copies them. */
enum err restamp_all(struct call *c, struct beads *b, bool apply, struct restamped **out);

/*
 * Copies deleted beads that cannot be restored because no write can be later than their deletion.
 */
enum err restamp_undelete(struct call *c, struct beads *b, const struct str *ids, size_t count,
			  struct restamped **out);

#endif
