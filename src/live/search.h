#ifndef LIVE_SEARCH_H
#define LIVE_SEARCH_H

#include "base/call.h"

struct json;

/*
 * Finds texts in all stores of a project: beads with their comments, mail, posts, the notes of
 * agents, and memory. Each word of the query has to occur; ASCII letters match in either case. In
 * beads, a word matches the beginning of a word. Each store gives at most `limit` results, newest
 * first; a store that the project does not have gives none.
 */
enum err search_encode(struct call *c, struct str query, size_t limit, struct json *j);

#endif
