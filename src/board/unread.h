#ifndef BOARD_UNREAD_H
#define BOARD_UNREAD_H

#include "store/board/board_reads.h"

struct json;
struct message;

/* What waits for an agent. It rides on every reply to it, so that it looks again. */
struct unread {
	int64_t count; /* up to UNREAD_MOST */
	int priority;  /* the highest among them; -1: there are none */
};

enum { UNREAD_MOST = 999 };

enum err unread_count(struct call *c, struct board *b, struct str agent, struct unread *out);
void unread_encode(struct json *j, const struct unread *u);

/* The parts of the board between what was seen; ends with an empty gap. */
const struct gap *unread_gaps(struct call *c, const struct span *seen);

/* Marks what was not seen before, and notes that now it is. */
void unread_show(struct call *c, struct board *b, const struct span *seen, struct message *shown,
		 bool all_between);

#endif
