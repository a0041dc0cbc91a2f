#ifndef STORE_MEND_H
#define STORE_MEND_H

#include "base/call.h"

struct json;

/*
 * The findings of a check of the stores, file by file, and the repairs. A damaged file is copied to
 * NAME.damaged_<time>_<random> before it is repaired, and lost data is listed.
 */
struct mend {
	struct json *checks; /* an open JSON array */
	const char *store;
	bool fix; /* repair, instead of only checking */
	bool sound;
};

struct mend_finding {
	struct str file;
	const char *status; /* ok, warning, error, fixed */
	struct str message;
	struct str fix;  /* the command that repairs it; or absent */
	struct str kept; /* the copy of the damaged file; or absent */
	struct str lost; /* a JSON array of texts; absent: nothing was lost */
};

void mend_tell(struct mend *m, const struct mend_finding *f);

/* Records the call's failure as a finding, and clears it. */
void mend_fail(struct call *c, struct mend *m, struct str file);

/*
 * A new name for a damaged file, NAME.damaged_<time>_<random>; random, so that no other user can
 * prepare it.
 */
struct str mend_name(struct call *c, struct str path);

/* Copies a damaged file durably. */
enum err mend_keep(struct call *c, struct str path, struct str *kept);

/*
 * Renames a damaged file instead of copying it: for a file that will be replaced, or that is huge.
 */
enum err mend_set_aside(struct call *c, struct str path, struct str *kept);

#endif
