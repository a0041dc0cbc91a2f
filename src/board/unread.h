#ifndef BOARD_UNREAD_H
#define BOARD_UNREAD_H

#include "store/board/board_reads.h"

struct json;
struct message;

/*
 * The unread messages of an agent. Every reply to the agent carries their number, so that it reads
 * them.
 */
struct unread {
	int64_t count; /* up to UNREAD_MOST */
	int priority;  /* highest priority of the unread messages; -1: there are none */
};

enum { UNREAD_MOST = 999 };

enum err unread_count(struct call *c, struct board *b, struct str agent, struct unread *out);
void unread_encode(struct json *j, const struct unread *u);

/* The gaps between the messages that were read; an empty gap ends the list. */
const struct gap *unread_gaps(struct call *c, const struct span *seen);

/*
 * Sets `seen` of each shown message, and records the new ones as read; with `all_between`, the
 * messages between them too.
 */
void unread_show(struct call *c, struct board *b, const struct span *seen, struct message *shown,
		 bool all_between);

#endif
