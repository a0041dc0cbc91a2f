#ifndef BOARD_POSTS_H
#define BOARD_POSTS_H

#include "store/board/board_messages.h"

struct board;
struct json;

/* What was said. Messages are never changed; they go only when the board is cleared. */

enum { THREAD_MOST = 50 }; /* messages of one thread that are shown */

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
	bool unread;   /* only what the actor has not seen, oldest first */
	bool catch_up; /* and let what is older count as seen too */
};

/* A page of messages. A reader who gave a name has seen them after this. */
enum err post_read(struct call *c, struct board *b, const struct post_query *query,
		   struct message **out);

/* A message and the replies below it, depth first; `left_out` of them are not shown. */
enum err post_thread(struct call *c, struct board *b, int64_t id, struct message **out,
		     int64_t *left_out);

void message_encode(struct json *j, const struct message *m);
void message_encode_all(struct json *j, const struct message *list);

#endif
