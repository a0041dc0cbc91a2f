#ifndef STORE_DB_BOARD_READS_H
#define STORE_DB_BOARD_READS_H

#include "base/call.h"

struct board;

/*
 * The messages that an agent has seen, as spans of ids. All others are unread. An agent's own
 * messages are marked as seen when they are posted.
 */
struct span {
	int64_t first, last;
	struct span *next;
};

/* The agent's spans in order; no two are adjacent. */
enum err reads_each(struct call *c, struct board *b, struct str agent, struct span **out);

/* Adds a span and merges it with its neighbours, inside a write transaction. */
enum err reads_add(struct call *c, struct board *b, struct str agent, struct span span);

/*
 * Like reads_add(), for a read-only command: never waits for a lock; false: the spans were not
 * recorded.
 */
bool reads_note(struct board *b, struct str agent, const struct span *spans);

/* The number of messages strictly between two ids, and their highest priority. */
struct gap {
	int64_t after, before;
};
enum err gap_count(struct call *c, struct board *b, struct gap gap, int64_t most, int64_t *count,
		   int *priority);

#endif
