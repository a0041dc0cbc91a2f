#include "agents/mail_choice.h"
#include "agents/protocol.h"
#include "agents/waiting.h"
#include "base/text/json.h"
#include "machines/share.h"
#include "ops/agent/agent_ops.h"
#include "ops/ops.h"

/* bb agent send, inbox, read, ack: mail between agents. */

struct body {
	struct mail_draft draft;
	struct str category, urgency;
	struct str recipient, title; /* the short form of 'send' */
	struct str agent, message, which, bead, after;
	int state;
	int64_t limit, wait;
};

#define AT(member)  offsetof(struct body, member)
#define MAX_ID_TEXT 200
#define MAX_LETTER  (1024 * 1024)

static const struct field send_fields[] = {
	{ "from", &kind_str, AT(draft.from), FIELD_ACTOR | FIELD_REQUIRED, .arg = "AGENT", .min = 1,
	  .max = MAX_ID_TEXT, .help = "your name" },
	{ "recipient", &kind_str, AT(recipient), FIELD_PLACE | FIELD_CLI | FIELD_AGENT, .arg = "TO",
	  .min = 1, .max = MAX_ID_TEXT, .help = "recipient, as in --to" },
	{ "title", &kind_line, AT(title), FIELD_PLACE | FIELD_CLI, .arg = "SUBJECT", .min = 1,
	  .max = 500, .help = "subject line" },
	{ "to", &kind_str, AT(draft.to), FIELD_REQUIRED | FIELD_ASSUMED | FIELD_AGENT, .arg = "TO",
	  .min = 1, .max = MAX_ID_TEXT,
	  .help = "recipient: an agent, role:NAME, or broadcast (everybody else)" },
	{ "bead", &kind_str, AT(draft.bead), FIELD_REQUIRED | FIELD_ASSUMED, .arg = "BEAD",
	  .max = MAX_ID_TEXT, .missing = ERR_MISSING_BEAD_ID,
	  .help = "bead that the message is about" },
	{ "category", &kind_str, AT(category), FIELD_REQUIRED | FIELD_ASSUMED, .arg = "WORD",
	  .max = MAX_ID_TEXT, .help = "HANDOFF, BLOCKED, DECISION or INFO" },
	{ "subject", &kind_line, AT(draft.subject), FIELD_REQUIRED | FIELD_ASSUMED, .arg = "TEXT",
	  .min = 1, .max = 500, .help = "subject line" },
	{ "body", &kind_str, AT(draft.body), FIELD_REQUIRED | FIELD_ASSUMED | FIELD_STDIN,
	  .letter = 'm', .arg = "TEXT", .min = 1, .max = MAX_LETTER,
	  .help = "body ('-' reads standard input)" },
	{ "thread", &kind_line, AT(draft.thread), .arg = "ID", .min = 1, .max = 500,
	  .help = "thread (default: the bead's)" },
	{ "next_action", &kind_line, AT(draft.action), .arg = "TEXT", .min = 1, .max = 500,
	  .help = "action that the recipient should take (default: the subject)" },
	{ "urgency", &kind_str, AT(urgency), .arg = "WORD", .max = MAX_ID_TEXT,
	  .help = "urgency of a BLOCKED message: low, medium or high (default medium)" },
	{ 0 },
};

static const struct field inbox_fields[] = {
	WHOSE_FIELD(struct body, agent, "agent whose messages to list"),
	{ "state", &kind_word, AT(state), .words = &mail_states, .help = "state of the messages" },
	{ "bead", &kind_str, AT(bead), .arg = "BEAD", .min = 1, .max = MAX_ID_TEXT,
	  .help = "bead id" },
	{ "after", &kind_str, AT(after), .arg = "MESSAGE", .min = 1, .max = MAX_ID_TEXT,
	  .help = "message id; show only later messages" },
	{ "limit", &kind_int, AT(limit), .role = ROLE_LIMIT, .letter = 'n', .min = 1, .max = 500,
	  .preset = "50", .help = "maximum number of results" },
	{ "wait", &kind_duration, AT(wait), .min = 0, .max = 24 * 3600 * 1000,
	  .help = "maximum time to wait for a message; without --state and --after, for an unread "
		  "message" },
	{ 0 },
};

static const struct field message_fields[] = {
	AGENT_FIELD(struct body, agent, "recipient"),
	{ "which", &kind_str, AT(which), FIELD_PLACE | FIELD_CLI, .arg = "MESSAGE", .min = 1,
	  .max = MAX_ID_TEXT, .help = "message id, or a unique part of it (default: see above)" },
	{ "message", &kind_str, AT(message), FIELD_REQUIRED | FIELD_ASSUMED, .arg = "MESSAGE",
	  .min = 1, .max = MAX_ID_TEXT, .help = "message id" },
	{ 0 },
};

static const struct prop mail_props[] = {
	{ "message_id thread_id bead_id from_agent to_agent category subject body state", NULL },
	{ "requires_ack:bool created_at read_at|null acked_at|null machine?", NULL },
	{ 0 },
};
static const struct prop mail_reply = { "message", mail_props };

/* The members of the first message; a broadcast without recipients has none. */
static const struct prop sent_props[] = {
	{ "message_id? thread_id? bead_id? from_agent? to_agent? category? subject? body?", NULL },
	{ "state? requires_ack:bool? created_at? read_at|null? acked_at|null? machine?", NULL },
	{ "messages[]", mail_props },
	{ "recipients[]", NULL },
	{ 0 },
};

static void encode_all(struct json *j, const struct mail *m)
{
	json_array(j);
	for (; m; m = m->next)
		mail_encode(j, m);
	json_end(j);
}

static enum err agent_mail_missing(struct call *c, enum err code, const char *field)
{
	return call_fail(c, code, "%s%s is missing", c->wire ? "" : "--", field);
}

/* All flags are given: nothing is assumed. */
static enum err agent_mail_check_long(struct call *c, const struct body *in)
{
	if (!in->draft.to.p)
		return agent_mail_missing(c, ERR_USAGE, "to");
	if (!in->draft.bead.p)
		return agent_mail_missing(c, ERR_MISSING_BEAD_ID, "bead");
	if (!in->category.p)
		return agent_mail_missing(c, ERR_USAGE, "category");
	if (!in->draft.subject.p)
		return agent_mail_missing(c, ERR_USAGE, "subject");
	return in->draft.body.p ? ERR_OK : agent_mail_missing(c, ERR_USAGE, "body");
}

/* 'bb agent send TO SUBJECT': the other parts have defaults. */
static enum err agent_mail_complete(struct call *c, const struct body *in, struct mail_draft *d)
{
	if (d->to.p)
		return call_fail(c, ERR_USAGE,
				 "--to can't be combined with TO, which is '" STR_FMT "'",
				 STR_ARG(in->recipient));
	if (d->subject.p && in->title.p)
		return call_fail(c, ERR_USAGE, "--subject can't be combined with SUBJECT");
	d->to = in->recipient;
	d->subject = in->title.p ? in->title : d->subject;
	if (!d->subject.p)
		return call_fail(c, ERR_USAGE, "SUBJECT is missing");
	d->body = d->body.p ? d->body : d->subject;
	return d->bead.p ? ERR_OK : mail_current_bead(c, d->from, &d->bead);
}

static enum err agent_mail_look(struct call *c, struct stores *s, const void *body)
{
	const struct body *in = body;
	struct mail_draft *d = arena_new(&c->mem, struct mail_draft);
	bool brief = in->recipient.p;
	enum err e;

	*d = in->draft;
	s->seen = d;
	if ((e = brief ? agent_mail_complete(c, in, d) : agent_mail_check_long(c, in)) ||
	    (e = category_parse(c, brief && !in->category.p ? STR("INFO") : in->category,
				&d->category)) ||
	    (e = urgency_parse(c, in->urgency, &d->urgency)) ||
	    (e = mail_check_names(c, s->agents, d)))
		return e;
	if (!(e = mail_check_bead(c, d->bead, &d->bead)) || brief)
		return e;
	/* The form with flags is for scripts: it takes the ids of any tracker. */
	call_warn(c, STR_FMT, STR_ARG(c->message));
	return call_forgive(c);
}

static enum err agent_mail_run_send(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct mail_draft *draft = s->seen;
	struct mail *sent;
	enum err e = mail_send(c, s->agents, draft, &sent);

	(void)body;
	if (e)
		return e;
	json_object(reply);
	if (sent)
		mail_put(reply, sent);
	json_key(reply, STR("messages"));
	encode_all(reply, sent);
	json_put_array(reply, "recipients");
	for (const struct mail *m = sent; m; m = m->next)
		json_str(reply, m->to);
	json_end(reply);
	json_end(reply);
	return ERR_OK;
}

static enum err agent_mail_run_inbox(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	const struct body *in = body;
	struct mail_filter filter = { .state = in->state, .after = in->after, .limit = in->limit };
	struct wait_ask ask = { .agent = in->agent, .mail = true, .timeout_ms = in->wait };
	struct wait_answer answer = { 0 };
	enum err e;

	if (in->bead.p && (e = mail_filter_bead(c, in->bead, &filter.bead)))
		return e;
	if (in->wait == ABSENT) {
		e = mail_inbox(c, s->agents, in->agent, &filter, &answer.mail, NULL);
		share_changed(c); /* an agent that reads its mail is active */
	} else {
		if (filter.state < 0 && !filter.after.p)
			filter.state = MAIL_UNREAD;
		ask.filter = filter;
		e = agent_wait_for(c, s->agents, &ask, &answer);
	}
	if (!e)
		encode_all(reply, answer.mail);
	return e;
}

static enum err agent_mail_name(struct call *c, struct stores *s, const struct body *in,
				enum mail_state to, struct str *id)
{
	if (in->which.p && in->message.p)
		return call_fail(c, ERR_USAGE, "--message can't be combined with MESSAGE");
	return mail_choose(c, s->agents, in->agent, in->which.p ? in->which : in->message, to, id);
}

static enum err agent_mail_run_read(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct body *in = body;
	struct mail *m;
	struct str id;
	enum err e = agent_mail_name(c, s, in, MAIL_READ, &id);

	if (e || (e = mail_read(c, s->agents, in->agent, id, &m)))
		return e;
	mail_encode(reply, m);
	return ERR_OK;
}

static enum err agent_mail_run_ack(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	struct mail *m;
	struct str id;
	enum err e = agent_mail_name(c, s, in, MAIL_ACKED, &id);

	if (e || (e = mail_ack(c, s->agents, in->agent, id, &m)))
		return e;
	mail_encode(reply, m);
	return ERR_OK;
}

const struct op op_agent_send = {
	.name = "agent send",
	.help = "Send a message to an agent, a role or everybody",
	.more = "With TO and SUBJECT, the category is INFO, the bead is the one you work on, and "
		"the body is the subject, unless options say otherwise. Without TO, all of them "
		"must be given as options. HANDOFF and BLOCKED messages must be acknowledged by "
		"the recipient, and are recorded as protocol events.",
	.examples =
		"bb agent send amber-otter 'The parser is ready' --bead bd-a1b2 --as cobalt-harbor",
	.flags = AGENT_WRITE | OP_RECEIPT,
	OP_BODY(struct body, send_fields),
	.reply = &(const struct prop){ "sent", sent_props },
	.run = agent_mail_run_send,
	.look = agent_mail_look,
};

const struct op op_agent_inbox = {
	.name = "agent inbox",
	.help = "List an agent's messages, newest first",
	.examples = "bb agent inbox --as amber-otter --state unread\n"
		    "bb agent inbox --as amber-otter --wait 10m",
	.more = "Marks no message as read.",
	.flags = AGENT_READ | OP_WAITS,
	OP_BODY(struct body, inbox_fields),
	.reply = &(const struct prop){ "messages[]", mail_props },
	.run = agent_mail_run_inbox,
};

const struct op op_agent_read = {
	.name = "agent read",
	.help = "Show a message and mark it as read",
	.examples = "bb agent read --as amber-otter",
	.more = "Without MESSAGE, the newest unread message is shown.",
	.flags = AGENT_WRITE | OP_IDEMPOTENT,
	OP_BODY(struct body, message_fields),
	.reply = &mail_reply,
	.run = agent_mail_run_read,
};

const struct op op_agent_ack = {
	.name = "agent ack",
	.help = "Acknowledge a message",
	.examples = "bb agent ack --as amber-otter",
	.more = "Without MESSAGE, the newest message that has to be acknowledged is chosen.",
	.flags = AGENT_WRITE | OP_IDEMPOTENT,
	OP_BODY(struct body, message_fields),
	.reply = &mail_reply,
	.run = agent_mail_run_ack,
};
