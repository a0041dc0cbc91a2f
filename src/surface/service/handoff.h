#ifndef SURFACE_SERVICE_HANDOFF_H
#define SURFACE_SERVICE_HANDOFF_H

#include "op/op.h"

/* The actor of a command before it ran: running it may replace the actor. */
struct handoff_actor {
	struct str name;
	bool anonymous;
};

/*
 * For a request that failed with READ_ONLY: a service of this user that runs for the same project
 * carries it out, if there is one. Returns the service's result; otherwise the failure stays.
 */
enum err handoff_run(struct call *c, const struct handoff_actor *actor, const struct request *r,
		     struct json *reply);

#endif
