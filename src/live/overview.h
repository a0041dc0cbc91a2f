#ifndef LIVE_OVERVIEW_H
#define LIVE_OVERVIEW_H

#include "base/call.h"

struct json;

/*
 * What the crowd is doing, at a glance: the epics and their tasks, each with its owner, its last
 * act and the mail about it; the agents and whether they are there; what is reserved, and where
 * two were in each other's way. What nobody keeps here is empty.
 */
struct overview_ask {
	bool all;   /* closed ones too, of which otherwise only those of open epics count */
	bool brief; /* without the epics and their tasks */
	/* only these tasks, without the mail about them, which a client that asks again and again
	 * counts for itself; NULL: not so */
	const struct str *ids;
	size_t id_count;
};
enum err overview_encode(struct call *c, const struct overview_ask *ask, struct json *j);

#endif
