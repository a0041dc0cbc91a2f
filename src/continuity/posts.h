#ifndef CONTINUITY_POSTS_H
#define CONTINUITY_POSTS_H

#include "store/db/board_messages.h"

/*
 * What was said on the board to an agent: posts of others that have "@name" in them, the oldest
 * first, among the last few hundred after a message (0: of all). Nothing where there is no board.
 * `last` is the newest message there is.
 */
struct message *posts_to(struct call *c, struct str agent, int64_t after, int64_t *last);

#endif
