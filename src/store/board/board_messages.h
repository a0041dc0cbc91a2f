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
	enum seen seen;        /* by the reader */
	struct message *next;
};

struct message_filter {
	int64_t since; /* moment; 0: all */
	struct str from_agent;
	struct str tags;       /* JSON array, any of which will do; absent: all */
	int min_priority;      /* enum priority; -1: any */
	const struct ref *ref; /* NULL: any */
	struct str mentions;   /* in its text or what it refers to; absent: any */
	int64_t after, before; /* ids in between; 0: no bound */
	int64_t limit;         /* 0: none */
	bool oldest_first;     /* also which ones the limit keeps */
};

/* A chain in the order asked for; NULL is the empty one. */
enum err message_each(struct call *c, struct board *b, const struct message_filter *filter,
		      struct message **out);
enum err message_find(struct call *c, struct board *b, int64_t id, struct message **out);
enum err message_put(struct call *c, struct board *b, struct message *m); /* sets its id */

/* A message and its replies, depth first, and how many there are in all. */
enum err message_thread(struct call *c, struct board *b, int64_t id, int64_t limit,
			struct message **out, int64_t *total);

/* Those older than a moment to which no later one replies, however indirectly. */
enum err message_count_before(struct call *c, struct board *b, int64_t before, int64_t *out);
enum err message_delete_before(struct call *c, struct board *b, int64_t before);

#endif
