#ifndef STORE_DB_BOARD_READS_H
#define STORE_DB_BOARD_READS_H

#include "base/call.h"

struct board;

/*
 * What an agent has seen, as spans of message ids. Everything outside of them is unread. Its own
 * messages are seen as they are posted.
 */
struct span {
	int64_t first, last;
	struct span *next;
};

/* The agent's spans, in order, none touching the next. */
enum err reads_each(struct call *c, struct board *b, struct str agent, struct span **out);

/* Joins a span to the others, inside the transaction of a write. */
enum err reads_add(struct call *c, struct board *b, struct str agent, struct span span);

/* The same for spans that were only looked at: never waits; false: it is lost. */
bool reads_note(struct board *b, struct str agent, const struct span *spans);

/* How many messages lie strictly between two ids, and the highest priority there. */
struct gap {
	int64_t after, before;
};
enum err gap_count(struct call *c, struct board *b, struct gap gap, int64_t most, int64_t *count,
		   int *priority);

#endif
