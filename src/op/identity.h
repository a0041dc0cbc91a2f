#ifndef OP_IDENTITY_H
#define OP_IDENTITY_H

#include "base/call.h"

enum { AGENT_MOST = 64, ACTOR_MOST = 256 }; /* bytes of a name: on the board; of beads */

/* Trims an agent's name; INVALID_IDENTITY if it cannot be shown and compared. */
enum err identity_check(struct call *c, struct str *name, size_t most);

#endif
