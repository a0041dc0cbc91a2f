#ifndef HOSTS_TOOL_GUARD_H
#define HOSTS_TOOL_GUARD_H

#include "base/call.h"
#include "hosts/host.h"

struct value;

/*
 * Asked by a host before a tool runs: the reason, for the model, why the tool must not write, which
 * is that another agent has reserved one of its files; absent: it may. With the setting guard.auto,
 * a file that nobody has reserved becomes reserved for the agent's current bead. Any failure of
 * ours lets the tool run.
 */
struct str tool_guard(struct call *c, const struct value *in);

/* The answer with which the host refuses to run the tool. */
struct str tool_guard_answer(struct call *c, enum host_id host, struct str event,
			     struct str reason);

#endif
