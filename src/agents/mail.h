#ifndef AGENTS_MAIL_H
#define AGENTS_MAIL_H

#include "agents/registry.h"

struct json;

/* Messages between agents: sending, reading, accepting. mailbox.h says where they are kept. */
enum category { CATEGORY_HANDOFF, CATEGORY_BLOCKED, CATEGORY_DECISION, CATEGORY_INFO };
extern const struct names categories;
const char *category_label(enum category category);                           /* what people read */
const char *category_act(int category);                                       /* "passed on" */
enum err category_parse(struct call *c, struct str word, enum category *out); /* INVALID_CATEGORY */

enum mail_state { MAIL_UNREAD, MAIL_READ, MAIL_ACKED };
enum { MAIL_STATES = 3 };
extern const struct names mail_states;

struct mail {
	struct str id, thread, bead, from, to, subject, body;
	enum category category;
	enum mail_state state;
	bool requires_ack;
	int64_t created_ms, read_ms, acked_ms; /* 0: not yet */
	struct str machine; /* the name of the machine that it was sent on; absent: this one */
	struct str via;     /* the id of the machine whose log its last line came from; or absent */
	struct str read_mark, ack_mark; /* receipts_mark() of the requests that read and acked it */
	bool again;                     /* its line repeats the state before it, with other times */
	bool listed;                    /* mailbox_next() has returned it */
	struct mail *next;
};

/* A record has a line for every step of a message: adds what the step changes in the counts. */
void mail_count_step(const struct mail *m, int64_t *unread, int64_t *unacked);

/* A message to be sent. */
struct mail_draft {
	struct str from, bead, subject, body;
	struct str to; /* see recipient_parse() */
	enum category category;
	int urgency;       /* enum urgency, only of BLOCKED; -1: medium */
	struct str thread; /* absent: the bead's thread */
	struct str action; /* the recipient's next action; absent: the subject */
	bool system;       /* sent by this program, which is no registered agent */
};

/* Are the sender and the recipient registered? UNKNOWN_SENDER, UNKNOWN_RECIPIENT. mail_send()
 * checks it again. */
enum err mail_check_names(struct call *c, struct agent_files *f, const struct mail_draft *d);

/*
 * `out` has one message for each recipient; a repeated request sends none twice. A message whose
 * last line is not in the snapshots may lack the receipt of its request. So for a request with an id
 * mail_settle() writes the snapshots, after the receipt; the same is true of reading and acking.
 */
enum err mail_send(struct call *c, struct agent_files *f, const struct mail_draft *draft,
		   struct mail **out);
enum err mail_settle(struct call *c, struct agent_files *f);

struct mail_filter {
	int state; /* enum mail_state; -1: any */
	struct str bead;
	struct str after; /* only messages sent after this one; absent: all */
	int64_t limit;
};
/* Newest first. `newest`, if not NULL, is the id of the agent's newest message, whether it fits the
 * filter or not; absent if the agent has none. */
enum err mail_inbox(struct call *c, struct agent_files *f, struct str agent,
		    const struct mail_filter *filter, struct mail **out, struct str *newest);

/*
 * The message that an earlier try of this request has read (MAIL_READ) or acked (MAIL_ACKED); an
 * absent id: none.
 */
enum err mail_find_done(struct call *c, struct agent_files *f, struct str agent, enum mail_state to,
			struct str *id);

/* Only the recipient may: MESSAGE_NOT_FOUND, READ_FORBIDDEN, ACK_FORBIDDEN. */
enum err mail_read(struct call *c, struct agent_files *f, struct str agent, struct str id,
		   struct mail **out);
enum err mail_ack(struct call *c, struct agent_files *f, struct str agent, struct str id,
		  struct mail **out);

/* The messages that still have to be acknowledged, newest first, and the number of messages in each
 * state. An absent agent or bead stands for all of them. */
struct mail_totals {
	struct mail *unacked;
	int64_t count[MAIL_STATES];
};
enum err mail_totals(struct call *c, struct agent_files *f, struct str agent, struct str bead,
		     struct mail_totals *out);

/* An agent's unread and unacked messages, to be shown beside another reply; 0 if the agent is
 * not known or its mailbox cannot be read. */
struct mail_waiting {
	int64_t unread, unacked;
};
struct mail_waiting mail_waiting(struct call *c, struct agent_files *f, struct str agent);

void mail_put(struct json *j, const struct mail *m); /* into an open object */
void mail_encode(struct json *j, const struct mail *m);

#endif
