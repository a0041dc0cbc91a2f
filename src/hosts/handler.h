#ifndef HOSTS_HANDLER_H
#define HOSTS_HANDLER_H

#include "hosts/host.h"

/*
 * What a host's hook is for: an agent that begins a session knows where it was, what it does is
 * noted, what others wrote to it reaches it once, and its leases go on. Nothing of it may be in
 * the host's way: where something is wrong, there is simply nothing to say.
 */
struct handler_ask {
	enum host_id host;
	struct str input;    /* what the host tells: JSON, or anything */
	struct str env_file; /* a script that the host runs before each command of the
			      * session; or absent */
};

struct handler_answer {
	struct str event; /* as the host calls it; absent: it did not say */
	struct str text;  /* for the model; or absent */
};

void handler_run(struct call *c, const struct handler_ask *ask, struct handler_answer *out);

#endif
