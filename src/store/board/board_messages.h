#ifndef STORE_DB_BOARD_MESSAGES_H
#define STORE_DB_BOARD_MESSAGES_H

#include "base/call.h"
#include "base/names.h"

struct board;
struct ref;

enum priority { PRIORITY_LOW, PRIORITY_NORMAL, PRIORITY_HIGH, PRIORITY_CRITICAL };
extern const struct names priorities;

enum seen { SEEN_UNKNOWN, SEEN_BEFORE, SEEN_FIRST };

struct message {
	int64_t id;
	struct str from_agent, content;
	struct str tags, refs; /* JSON arrays */
	int priority;          /* enum priority */
	int64_t in_reply_to;   /* 0: not a reply */
	int64_t created_at;    /* moment */
	enum seen seen;        /* seen by the reader? */
	struct message *next;
};

struct message_filter {
	int64_t since; /* moment; 0: all */
	struct str from_agent;
	struct str tags;       /* JSON array: messages with any of these tags; absent: all */
	int min_priority;      /* enum priority; -1: any */
	const struct ref *ref; /* NULL: any */
	struct str mentions;   /* in its text or references; absent: any */
	int64_t after, before; /* exclusive bounds of the id; 0: no bound */
	int64_t limit;         /* 0: no limit */
	bool oldest_first;     /* also decides which messages the limit keeps */
};

/* A linked list in the given order; NULL: empty. */
enum err message_each(struct call *c, struct board *b, const struct message_filter *filter,
		      struct message **out);
enum err message_find(struct call *c, struct board *b, int64_t id, struct message **out);
enum err message_put(struct call *c, struct board *b, struct message *m); /* sets its id */

/* Renames the author of posts that came from a machine; absent: of posts that were made here. */
enum err message_rename(struct call *c, struct board *b, struct str machine, struct str from,
			struct str to);

/* A message and its replies, depth first, and their total number. */
enum err message_thread(struct call *c, struct board *b, int64_t id, int64_t limit,
			struct message **out, int64_t *total);

/* Messages older than a moment, except those with a later direct or indirect reply. */
enum err message_count_before(struct call *c, struct board *b, int64_t before, int64_t *out);
enum err message_delete_before(struct call *c, struct board *b, int64_t before);

#endif
