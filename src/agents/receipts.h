#ifndef AGENTS_RECEIPTS_H
#define AGENTS_RECEIPTS_H

#include "store/agent_files.h"

/*
 * The replies to the agents' request ids, in receipts.db. A receipt is written after the command is
 * done, and a repeat of the request gets the same reply. A command that must not be done twice also
 * leaves the mark of its request in the record that it writes, so that a repeat after a crash
 * between the two writes finds what was done.
 */
enum err receipts_find(struct call *c, struct agent_files *f, struct str op,
		       struct str *reply); /* REQUEST_MISMATCH; absent: no receipt */
enum err receipts_put(struct call *c, struct agent_files *f, struct str actor, struct str op,
		      struct str reply);

/* For repairs: whether it is a line of the file in which earlier versions kept receipts. */
bool receipts_line_valid(struct call *c, struct str line);

/* The mark of the agent's request: a hash of its id and arguments; absent if it has no id. */
struct str receipts_mark(struct call *c, struct str agent);

#endif
