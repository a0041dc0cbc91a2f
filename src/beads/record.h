#ifndef BEADS_RECORD_H
#define BEADS_RECORD_H

#include "base/call.h"

struct receipt;
struct state;

/*
 * A record of the journal: what one command changed, as a small state, and the
 * receipt that it left. Members that are empty are not there.
 */
struct str record_encode(struct call *c, const struct state *change,
			 const struct receipt *receipt); /* NULL: none */

/* `receipt->id` is absent where there is none. False: why it cannot be one. */
bool record_decode(struct str json, struct state *change, struct receipt *receipt,
		   struct str *why);

/* Does a record with this change say anything? */
bool record_empty(const struct state *change);

#endif
