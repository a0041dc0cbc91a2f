#ifndef LIVE_OVERVIEW_H
#define LIVE_OVERVIEW_H

#include "base/call.h"

struct json;

/*
 * The state of a project in one reply: epics and their tasks, each with its owner, last change and
 * mail; agents with their liveness; reservations and incursions. A store that the project does not
 * have is empty.
 */
struct overview_ask {
	bool all;     /* closed tasks too; by default only those of open epics */
	bool brief;   /* without epics and tasks */
	int64_t most; /* tasks of each epic; 0: all */
	/* Only these tasks, without counts of their mail, which a client that asks repeatedly keeps
	 * itself; NULL: everything. */
	const struct str *ids;
	size_t id_count;
	/* A page of all tasks, also without their mail: in progress, open, closed; each by
	 * priority. `after` is the place where the page before ended, or absent. Not positive: no
	 * pages. */
	int64_t limit;
	struct str after;
	bool mail; /* only the counts of mail about each bead */
};
enum err overview_encode(struct call *c, const struct overview_ask *ask, struct json *j);

#endif
