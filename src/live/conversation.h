#ifndef LIVE_CONVERSATION_H
#define LIVE_CONVERSATION_H

#include "base/call.h"

struct json;

/*
 * All that was done and said about one bead, in one thread, the oldest first: changes to it,
 * notes, mail, what happened between agents, posts on the board, files, and what agents noted of
 * their work.
 */
enum err conversation_encode(struct call *c, struct str bead, struct json *j);

#endif
