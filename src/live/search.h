#ifndef LIVE_SEARCH_H
#define LIVE_SEARCH_H

#include "base/call.h"

struct json;

/*
 * Finds texts in all stores of a project: beads with their comments, mail, posts, the notes of
 * agents, and memory. Each word of the query has to begin a word of the text, in either case. Each
 * store gives at most `limit` results, newest first, but beads with a match in their title before
 * all other beads; a store that the project does not have gives none.
 */
enum err search_encode(struct call *c, struct str query, size_t limit, struct json *j);

#endif
