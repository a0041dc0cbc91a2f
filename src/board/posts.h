#ifndef BOARD_POSTS_H
#define BOARD_POSTS_H

#include "store/board/board_messages.h"

struct board;
struct json;

/* Posts on the board. Messages are never changed, and removed only when the board is cleared. */

enum { THREAD_MOST = 50 }; /* maximum number of messages shown of one thread */

struct post {
	struct str content;
	struct str tags, refs; /* JSON arrays */
	int priority;
	int64_t in_reply_to; /* 0: not a reply */
};

/* The JSON array that the board stores. */
struct str tags_encode(struct call *c, const struct str *tags, size_t count);

enum err post_add(struct call *c, struct board *b, const struct post *draft, struct message **out);

struct post_query {
	struct message_filter filter;
	bool unread;   /* only messages that the actor has not read, oldest first */
	bool catch_up; /* also mark all older messages as read */
};

/* Reads a page of messages, and marks them as read by the actor, if there is one. */
enum err post_read(struct call *c, struct board *b, const struct post_query *query,
		   struct message **out);

/* Reads a message and its replies, depth first; `left_out` replies are not shown. */
enum err post_thread(struct call *c, struct board *b, int64_t id, struct message **out,
		     int64_t *left_out);

void message_encode(struct json *j, const struct message *m);
void message_encode_all(struct json *j, const struct message *list);

#endif
