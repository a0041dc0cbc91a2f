#ifndef OP_NOTICES_H
#define OP_NOTICES_H

#include "base/call.h"

struct board;
struct op;

/*
 * Notices to the actor that go with every reply, in the call's `meta`: unread posts on the board,
 * mail, and lost claims.
 */
enum err notices_add_unread(struct call *c, struct board *b);

/* Also records that the agent is alive, whether or not its command failed. Leaves the failure of
 * the call as it is. */
void notices_add_mail(struct call *c, bool wrote);

/* Adds the machine of the holder to ALREADY_CLAIMED, if that agent works on another machine. */
void notices_name_machine(struct call *c);

/* The claims that the actor has lost since its last reply; people read them as a warning. */
void notices_add_lost_claims(struct call *c, const struct op *op);

#endif
