#ifndef STORE_MEND_H
#define STORE_MEND_H

#include "base/call.h"

struct json;

/*
 * What a look at the stores finds, file by file, and what was done about it. A damaged file is
 * copied to NAME.damaged_<time>_<random> before it is repaired, and what could not be saved is
 * listed.
 */
struct mend {
	struct json *checks; /* an open list */
	const char *store;
	bool fix; /* repair it, do not only look */
	bool sound;
};

struct mend_finding {
	struct str file;
	const char *status; /* ok, warning, error, fixed */
	struct str message;
	struct str fix;  /* the command that repairs it; or absent */
	struct str kept; /* the copy of the damaged file; or absent */
	struct str lost; /* JSON: a list of texts; absent: nothing is */
};

void mend_tell(struct mend *m, const struct mend_finding *f);

/* The call's failure, as a finding; the call goes on. */
void mend_fail(struct call *c, struct mend *m, struct str file);

/* A new name for a damaged file, NAME.damaged_<time>_<random>: nobody can prepare it. */
struct str mend_name(struct call *c, struct str path);

/* Copies a damaged file, on the medium when it returns. */
enum err mend_keep(struct call *c, struct str path, struct str *kept);

/* The same by renaming it: for a file that a new one takes the place of, or that is huge. */
enum err mend_set_aside(struct call *c, struct str path, struct str *kept);

#endif
