#ifndef HOSTS_HANDLER_H
#define HOSTS_HANDLER_H

#include "hosts/host.h"

/*
 * Handles a call of a host's hook: gives a new session its brief, notes what the agent does, shows
 * it each message once, and renews its leases. A hook must never disturb the host: a failure gives
 * no text and no error.
 */
struct handler_ask {
	enum host_id host;
	struct str input;    /* from the host; JSON, if the host is sound */
	struct str env_file; /* a script that the host runs before each command of the
			      * session; or absent */
};

struct handler_answer {
	struct str event;   /* the event's name in the host's words; or absent */
	struct str text;    /* for the model; or absent */
	struct str refusal; /* why the tool must not run; or absent */
};

/*
 * The host that has called. Copilot and VS Code read the same files, whose entries name VS Code; a
 * variable that Copilot sets tells them apart.
 */
enum host_id handler_host(enum host_id named, const char *copilot_cli);

void handler_run(struct call *c, const struct handler_ask *ask, struct handler_answer *out);

#endif
