#ifndef LIVE_CONVERSATION_H
#define LIVE_CONVERSATION_H

#include "base/call.h"

struct json;

/*
 * The history of one bead as one thread, oldest first: changes, notes, mail, protocol events, posts
 * on the board, artifacts, and the events that agents noted.
 */
enum err conversation_encode(struct call *c, struct str bead, struct json *j);

/* Whether the text has the id as a whole word, not as a part of a longer id. */
bool conversation_names(struct str text, struct str id);

#endif
