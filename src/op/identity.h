#ifndef OP_IDENTITY_H
#define OP_IDENTITY_H

#include "base/call.h"

/* The maximum length of a name in bytes: on the board, of beads, in continuity. */
enum { AGENT_MOST = 64, ACTOR_MOST = 256, VYBE_AGENT_MOST = 128 };

/* Trims an agent's name; INVALID_IDENTITY if it is empty, too long or has control characters. */
enum err identity_check(struct call *c, struct str *name, size_t most);

#endif
