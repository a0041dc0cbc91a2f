#ifndef AGENTS_RECEIPTS_H
#define AGENTS_RECEIPTS_H

#include "store/agent_files.h"

/*
 * What was answered to a request id of an agent: rows of receipts.db. One is written after what
 * was asked for is done, so that a repeat gets the same answer. A command that cannot be done
 * twice leaves its request's mark in the record that it writes: a repeat after a crash between
 * the two finds what it did itself.
 */
enum err receipts_find(struct call *c, struct agent_files *f, struct str op,
		       struct str *reply); /* REQUEST_MISMATCH; absent: none */
enum err receipts_put(struct call *c, struct agent_files *f, struct str actor, struct str op,
		      struct str reply);

/* For repairs: is it a line of the file in which earlier versions kept receipts? */
bool receipts_line_valid(struct call *c, struct str line);

/* Of the agent's request: its id with its arguments. Absent: it has no id. */
struct str receipts_mark(struct call *c, struct str agent);

#endif
