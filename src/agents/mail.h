#ifndef AGENTS_MAIL_H
#define AGENTS_MAIL_H

#include "agents/registry.h"

struct json;

/* What agents write to each other. Where it is kept: see mailbox.h. */
enum category { CATEGORY_HANDOFF, CATEGORY_BLOCKED, CATEGORY_DECISION, CATEGORY_INFO };
extern const struct names categories;
const char *category_label(int category); /* what people read */

enum mail_state { MAIL_UNREAD, MAIL_READ, MAIL_ACKED };
extern const struct names mail_states;

struct mail {
	struct str id, thread, bead, from, to, subject, body;
	int category, state;
	bool requires_ack;
	int64_t created_ms, read_ms, acked_ms; /* 0: not yet */
	struct mail *next;
};

/* To one agent, or to "broadcast": a message for each who is registered, but the sender. */
struct letter {
	struct str from, to, bead, category, subject, body;
	struct str thread;  /* absent: that of the bead */
	struct str action;  /* what the other is to do; absent: the subject */
	struct str urgency; /* of what blocks; absent: medium */
	bool system;        /* from this program, which is no registered agent */
};
enum err mail_send(struct call *c, struct agent_files *f, const struct letter *letter,
		   struct mail **out);

/* Which of the messages of an agent; the newest first. */
struct mail_filter {
	int state; /* -1: any */
	struct str bead;
	struct str after; /* only what was sent after this message; absent: all */
	int64_t limit;
};
/* `newest`, if not NULL: the last message of any kind that was there then; or absent. */
enum err mail_inbox(struct call *c, struct agent_files *f, struct str agent,
		    const struct mail_filter *filter, struct mail **out, struct str *newest);

/* By the one it was sent to: MESSAGE_NOT_FOUND, READ_FORBIDDEN, ACK_FORBIDDEN. */
enum err mail_read(struct call *c, struct agent_files *f, struct str agent, struct str id,
		   struct mail **out);
enum err mail_ack(struct call *c, struct agent_files *f, struct str agent, struct str id,
		  struct mail **out);

/* What agents have still to accept, the newest first, and how many messages there are in each
 * state; absent: of all agents, about all beads. */
struct mail_totals {
	struct mail *owed;
	int64_t count[3]; /* by state */
};
enum err mail_totals(struct call *c, struct agent_files *f, struct str agent, struct str bead,
		     struct mail_totals *out);

/* How much mail waits for an agent, to be shown beside another reply; nothing if the agent is not
 * known. */
struct mail_waiting {
	int64_t unread;
	int64_t owed; /* of all that have to be accepted, those that are not */
};
struct mail_waiting mail_waiting(struct call *c, struct agent_files *f, struct str agent);

void mail_put(struct json *j, const struct mail *m); /* into an open object */
void mail_encode(struct json *j, const struct mail *m);

#endif
