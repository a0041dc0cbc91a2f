#ifndef AGENTS_RECEIPTS_H
#define AGENTS_RECEIPTS_H

#include "store/agent_files.h"

/*
 * What was answered to a request id of an agent: rows of receipts.db. One is written
 * after what was asked for is done, so that a repeat gets the same answer; a repeat after
 * a crash between the two does what doing it twice does. (Mail knows its repeats by
 * itself.)
 */
enum err receipts_find(struct call *c, struct agent_files *f, struct str op,
		       struct str *reply); /* REQUEST_MISMATCH; absent: none */
enum err receipts_put(struct call *c, struct agent_files *f, struct str actor,
		      struct str op, struct str reply);

#endif
