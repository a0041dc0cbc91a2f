#ifndef CONTINUITY_POSTS_H
#define CONTINUITY_POSTS_H

#include "store/board/board_messages.h"

/*
 * The posts on the board that mention an agent: those of others with "@name", oldest first, among
 * the last few hundred after a message (0: all). Empty if there is no board. `last` is the newest
 * message.
 */
struct message *posts_to(struct call *c, struct str agent, int64_t after, int64_t *last);

#endif
