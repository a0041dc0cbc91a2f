#include "agents/mail.h"

#include "agents/mailbox.h"
#include "agents/protocol.h"
#include "agents/receipts.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/moment.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "store/agent_pending.h"

enum { TITLE_MOST = 500, TEXT_MOST = 1024 * 1024, MARK = 16 }; /* bytes */

const struct names categories =
	NAMES_OF([CATEGORY_HANDOFF] = "HANDOFF", [CATEGORY_BLOCKED] = "BLOCKED",
		 [CATEGORY_DECISION] = "DECISION", [CATEGORY_INFO] = "INFO");

const char *category_label(enum category category)
{
	static const char *const labels[] = {
		[CATEGORY_HANDOFF] = "Passed to",
		[CATEGORY_BLOCKED] = "Needs input",
		[CATEGORY_DECISION] = "Decided",
		[CATEGORY_INFO] = "Told",
	};

	return labels[category];
}

const char *category_act(int category)
{
	return category == CATEGORY_HANDOFF  ? "passed on" :
	       category == CATEGORY_BLOCKED  ? "asked for input" :
	       category == CATEGORY_DECISION ? "decided" :
					       "wrote";
}

void mail_count_step(const struct mail *m, int64_t *unread, int64_t *unacked)
{
	*unread += m->state == MAIL_UNREAD ? 1 : m->state == MAIL_READ ? -1 : 0;
	if (m->requires_ack)
		*unacked += m->state == MAIL_UNREAD ? 1 : m->state == MAIL_ACKED ? -1 : 0;
}

enum err category_parse(struct call *c, struct str word, enum category *out)
{
	int value = names_exact(&categories, word);

	if (value < 0)
		return call_fail(c, ERR_INVALID_CATEGORY,
				 "'" STR_FMT "' is not a category of messages", STR_ARG(word));
	*out = (enum category)value;
	return ERR_OK;
}

const struct names mail_states =
	NAMES_OF([MAIL_UNREAD] = "unread", [MAIL_READ] = "read", [MAIL_ACKED] = "acked");

/* --- text --- */

void mail_put(struct json *j, const struct mail *m)
{
	json_put_str(j, "message_id", m->id);
	json_put_str(j, "thread_id", m->thread);
	json_put_str(j, "bead_id", m->bead);
	json_put_str(j, "from_agent", m->from);
	json_put_str(j, "to_agent", m->to);
	json_put_word(j, "category", &categories, m->category);
	json_put_str(j, "subject", m->subject);
	json_put_str(j, "body", m->body);
	json_put_word(j, "state", &mail_states, m->state);
	json_put_bool(j, "requires_ack", m->requires_ack);
	json_put_moment(j, "created_at", m->created_ms);
	json_put_moment(j, "read_at", m->read_ms);
	json_put_moment(j, "acked_at", m->acked_ms);
	json_put_present(j, "machine", m->machine);
}

void mail_encode(struct json *j, const struct mail *m)
{
	json_object(j);
	mail_put(j, m);
	json_end(j);
}

/* --- sending --- */

static enum err mail_check_text(struct call *c, const char *what, struct str text, size_t most)
{
	if (text.n > most)
		return call_fail(c, ERR_INVALID_INPUT, "%s is longer than %zu bytes", what, most);
	return str_trim(text).n ? ERR_OK : call_fail(c, ERR_INVALID_INPUT, "%s is blank", what);
}

static bool category_requires_ack(enum category category)
{
	return category == CATEGORY_HANDOFF || category == CATEGORY_BLOCKED;
}

static enum err mail_check_draft(struct call *c, const struct mail_draft *d)
{
	bool urgency = d->urgency >= 0;
	enum err e;

	if (!str_trim(d->bead).n)
		return call_fail(c, ERR_MISSING_BEAD_ID, "a message requires a bead id");
	if (utf8_has_control(d->bead))
		return call_fail(c, ERR_INVALID_INPUT,
				 "a bead id can't contain control characters");
	if ((urgency && d->category != CATEGORY_BLOCKED) ||
	    (d->action.p && !category_requires_ack(d->category)))
		return call_fail(c, ERR_INVALID_INPUT, "a message of the category %s can't have %s",
				 names_word(&categories, d->category),
				 urgency ? "an urgency" : "a next action");
	if (d->action.p && (e = mail_check_text(c, "the next action", d->action, TITLE_MOST)))
		return e;
	if (d->thread.p && (e = mail_check_text(c, "the thread", d->thread, TITLE_MOST)))
		return e;
	if ((e = mail_check_text(c, "the subject", d->subject, TITLE_MOST)))
		return e;
	return mail_check_text(c, "the body", d->body, TEXT_MOST);
}

/* Lists the first registered agents, to choose from. */
static enum err mail_unknown_agent(struct call *c, struct agent_files *f, struct str id,
				   enum err what)
{
	enum { LISTED = 8 };
	struct buf all = { .mem = &c->mem };
	struct registered *a;
	size_t count = 0;
	enum err e = registry_each(c, f, STR_NONE, STR_NONE, &a);

	if (e)
		return e;
	for (; a && count < LISTED; a = a->next)
		buf_fmt(&all, "%s" STR_FMT, count++ ? ", " : "", STR_ARG(a->id));
	call_fail(c, what, "there is no agent '" STR_FMT "'%s" STR_FMT "%s", STR_ARG(id),
		  count ? "; registered: " : "", STR_ARG(buf_str(&all)), a ? " and more" : "");
	if (what == ERR_UNKNOWN_SENDER && registry_id_valid(id))
		return call_step(
			c, "To register it: bb agent register --name " STR_FMT " --role agent",
			STR_ARG(id));
	return call_step(c, "Run 'bb agent list' to see the registered agents.");
}

/* Like registry_find(), but an unknown agent is the error `what`. */
static enum err mail_known(struct call *c, struct agent_files *f, struct str id, enum err what,
			   struct registered **out)
{
	enum err e = registry_find(c, f, id, out);

	if (e == ERR_AGENT_NOT_FOUND) {
		call_forgive(c);
		return mail_unknown_agent(c, f, id, what);
	}
	return e;
}

/*
 * The end of the message's id, a hash of the request id, the sender and the recipient: a repeated
 * request finds the message of the first try by it. Absent if the request has no id.
 */
static struct str mail_mark_of(struct call *c, const struct mail_draft *d, struct str to)
{
	struct str zero = { "", 1 }, pieces[] = { c->request_id, zero, d->from, zero, to };

	if (!c->request_id.p)
		return STR_NONE;
	return str_head(sha256_pieces(&c->mem, pieces, 5), MARK);
}

static bool mail_is_of_draft(const struct mail *m, const struct mail_draft *d)
{
	return str_eq(d->bead, m->bead) && str_eq(d->subject, m->subject) &&
	       str_eq(d->body, m->body) && d->category == m->category &&
	       (!d->thread.p || str_eq(d->thread, m->thread));
}

static struct mail *mail_new(struct call *c, const struct mail_draft *d, struct str to,
			     struct str mark)
{
	struct mail *m = arena_new(&c->mem, struct mail);

	*m = (struct mail){
		.id = mark.p ? id_mint_as(&c->mem, "msg", c->now_ms, mark) :
			       id_mint(&c->mem, "msg", c->now_ms),
		.thread = d->thread.p ? d->thread :
					arena_fmt(&c->mem, "bead:" STR_FMT, STR_ARG(d->bead)),
		.bead = d->bead,
		.from = d->from,
		.to = to,
		.subject = d->subject,
		.body = d->body,
		.category = d->category,
		.requires_ack = category_requires_ack(d->category),
		.created_ms = c->now_ms,
	};
	return m;
}

/* A message to one recipient that is about to be stored. */
struct delivery {
	struct mailbox box;
	struct mail *mail;
	bool fresh; /* false: an earlier try of the same request has sent it */
	struct delivery *next;
};

static enum err mail_prepare(struct call *c, struct agent_files *f, const struct mail_draft *draft,
			     struct str to, struct delivery ***tail)
{
	struct delivery *d = arena_new(&c->mem, struct delivery);
	struct str mark = mail_mark_of(c, draft, to);
	enum err e;

	*d = (struct delivery){ 0 };
	if ((e = mailbox_open(c, f, to, &d->box)) ||
	    (mark.p && (e = mailbox_find_unsure(c, f, &d->box, mark, &d->mail))))
		return e;
	if (d->mail && !mail_is_of_draft(d->mail, draft))
		return call_fail(c, ERR_REQUEST_MISMATCH,
				 "request id '" STR_FMT "' was used for another message",
				 STR_ARG(c->request_id));
	if (!d->mail) {
		d->fresh = true;
		d->mail = mail_new(c, draft, to, mark);
		/* A clock that was set back must not reorder the mailbox. */
		if (d->box.latest_ms > d->mail->created_ms)
			d->mail->created_ms = d->box.latest_ms;
	}
	**tail = d;
	*tail = &d->next;
	return ERR_OK;
}

/* To all agents but the sender; to those of a role, if it is not absent. */
static enum err mail_prepare_all(struct call *c, struct agent_files *f,
				 const struct mail_draft *draft, struct str role,
				 struct delivery ***tail)
{
	struct registered *a;
	enum err e = registry_each(c, f, role, STR_NONE, &a);

	for (; !e && a; a = a->next)
		if (!str_eq(a->id, draft->from))
			e = mail_prepare(c, f, draft, a->id, tail);
	return e;
}

static bool mail_all_fresh(const struct delivery *list)
{
	while (list && list->fresh)
		list = list->next;
	return !list;
}

/*
 * HANDOFF and BLOCKED are protocol events too; the lines are absent for other categories. An event
 * is stored together with its messages, so without a message of an earlier try there is no event.
 */
static enum err mail_event_line(struct call *c, struct agent_files *f, const struct mail_draft *d,
				const struct delivery *list, struct agent_append *out)
{
	struct protocol_event event = {
		.type = d->category == CATEGORY_HANDOFF ? EVENT_HANDOFF : EVENT_BLOCKED,
		.mark = mail_mark_of(c, d, d->to),
		.first = mail_all_fresh(list),
		.bead = d->bead,
		.from = d->from,
		.to = d->to,
		.subject = d->subject,
		.text = d->body,
		.action = d->action.p ? d->action : d->subject,
		.urgency = d->urgency < 0 ? URGENCY_MEDIUM : (enum urgency)d->urgency,
	};

	*out = (struct agent_append){ 0 };
	return category_requires_ack(d->category) ? protocol_line(c, f, &event, out) : ERR_OK;
}

enum err mail_settle(struct call *c, struct agent_files *f)
{
	struct delivery *d = f->unsettled;
	enum err e = ERR_OK;

	f->unsettled = NULL;
	for (; !e && d; d = d->next)
		if (d->fresh)
			e = mailbox_settle(c, f, &d->box);
	return e;
}

/* One append stores the messages to all recipients and the event, so a crash leaves all or none. */
static enum err mail_deliver(struct call *c, struct agent_files *f, const struct mail_draft *draft,
			     struct delivery *list)
{
	struct agent_append *all = NULL, event;
	size_t count = 0;
	enum err e = mail_event_line(c, f, draft, list, &event);

	for (struct delivery *d = list; !e && d; d = d->next) {
		if (!d->fresh)
			continue;
		all = arena_room(&c->mem, all, count, sizeof *all);
		all[count++] = mailbox_line(c, &d->box, d->mail);
	}
	if (!e && event.lines.p) {
		all = arena_room(&c->mem, all, count, sizeof *all);
		all[count++] = event;
	}
	if (!e && count)
		e = agent_files_append_all(c, f, all, count);
	f->unsettled = e ? NULL : list;
	return e || c->request_id.p ? e : mail_settle(c, f);
}

static enum err mail_address(struct call *c, struct agent_files *f, const struct mail_draft *d,
			     struct delivery **list)
{
	struct delivery **tail = list;
	struct registered *other;
	struct str role;
	enum err e;

	switch (recipient_parse(d->to, &role)) {
	case RECIPIENT_ALL:
		return mail_prepare_all(c, f, d, STR_NONE, &tail);
	case RECIPIENT_AGENT:
		e = mail_known(c, f, d->to, ERR_UNKNOWN_RECIPIENT, &other);
		return e ? e : mail_prepare(c, f, d, d->to, &tail);
	case RECIPIENT_ROLE:
		break;
	}
	if ((e = mail_prepare_all(c, f, d, role, &tail)) || *list)
		return e;
	call_fail(c, ERR_UNKNOWN_RECIPIENT, "no other agent has the role '" STR_FMT "'",
		  STR_ARG(role));
	return call_step(c, "Run 'bb agent list' to see the agents and their roles.");
}

enum err mail_check_names(struct call *c, struct agent_files *f, const struct mail_draft *d)
{
	struct registered *one;
	struct str role;
	enum err e = mail_known(c, f, d->from, ERR_UNKNOWN_SENDER, &one);

	if (e || recipient_parse(d->to, &role) != RECIPIENT_AGENT)
		return e;
	return mail_known(c, f, d->to, ERR_UNKNOWN_RECIPIENT, &one);
}

enum err mail_send(struct call *c, struct agent_files *f, const struct mail_draft *draft,
		   struct mail **out)
{
	struct registered *sender = NULL;
	struct delivery *list = NULL;
	struct mail_draft d = *draft;
	enum err e;

	*out = NULL;
	d.bead = str_trim(d.bead);
	if ((e = mail_check_draft(c, &d)) ||
	    (!d.system && (e = mail_known(c, f, d.from, ERR_UNKNOWN_SENDER, &sender))) ||
	    (e = mail_address(c, f, &d, &list)) || (list && (e = mail_deliver(c, f, &d, list))))
		return e;
	for (; list; list = list->next) {
		*out = list->mail;
		out = &list->mail->next;
		*out = NULL;
	}
	return sender ? registry_acted(c, f, sender) : ERR_OK;
}

/* --- receiving --- */

static bool mail_fits(const struct mail_filter *filter, const struct mail *m)
{
	return (filter->state < 0 || m->state == (enum mail_state)filter->state) &&
	       (!filter->bead.p || str_eq(m->bead, filter->bead));
}

/* How many messages can fit the filter at most: the search stops once it has found them. */
static enum err mail_most(struct call *c, struct agent_files *f, struct str agent,
			  const struct mail_filter *filter, int64_t *out)
{
	struct mailbox box;
	enum err e;

	*out = filter->limit;
	if (filter->state < 0)
		return mailbox_check(c, f, agent);
	if (!(e = mailbox_open(c, f, agent, &box)) && box.count[filter->state] < *out)
		*out = box.count[filter->state];
	return e;
}

static enum err mail_not_found(struct call *c, struct str id)
{
	call_fail(c, ERR_MESSAGE_NOT_FOUND, "there is no message '" STR_FMT "'", STR_ARG(id));
	return call_step(c,
			 "'bb agent inbox --agent " STR_FMT "' lists what was sent to that agent.",
			 STR_ARG(spawn_word(&c->mem, c->actor)));
}

/* The walk begins before mail_most() counts, so it finds no message that was not counted. */
static enum err mail_collect(struct call *c, struct agent_files *f, struct str agent,
			     const struct mail_filter *filter, struct mail **tail,
			     struct str *newest)
{
	struct mailbox_walk w = mailbox_walk(c, f, agent);
	struct mail *m;
	int64_t left;
	enum err e = mailbox_next(c, &w, &m);

	*tail = NULL;
	if (e || (e = mail_most(c, f, agent, filter, &left)))
		return e;
	if (newest)
		*newest = m ? m->id : STR_NONE;
	for (; !e && left > 0 && m; e = mailbox_next(c, &w, &m)) {
		if (filter->after.p && str_eq(m->id, filter->after))
			break;
		if (!mail_fits(filter, m))
			continue;
		*tail = m;
		tail = &m->next;
		m->next = NULL;
		left--;
	}
	mailbox_walk_end(c, &w);
	return e;
}

/* MESSAGE_NOT_FOUND, or the error `forbidden` if the message was sent to another agent. */
static enum err mail_find(struct call *c, struct agent_files *f, const struct mailbox *box,
			  struct str id, enum err forbidden, struct mail **out)
{
	struct str owner;
	enum err e = mailbox_find(c, f, box, id, out);

	if (e || *out || (e = mailbox_owner(c, f, id, &owner)))
		return e;
	if (!owner.p)
		return mail_not_found(c, id);
	return call_fail(c, forbidden,
			 "'" STR_FMT "' was sent to '" STR_FMT "', not to '" STR_FMT "'",
			 STR_ARG(id), STR_ARG(owner), STR_ARG(box->agent));
}

enum err mail_inbox(struct call *c, struct agent_files *f, struct str agent,
		    const struct mail_filter *filter, struct mail **out, struct str *newest)
{
	struct registered *a;
	struct mailbox box;
	enum err e;

	*out = NULL;
	if ((e = registry_find(c, f, agent, &a)))
		return e;
	if (filter->after.p &&
	    ((e = mailbox_open(c, f, agent, &box)) ||
	     (e = mail_find(c, f, &box, filter->after, ERR_READ_FORBIDDEN, out))))
		return e;
	return mail_collect(c, f, agent, filter, out, newest);
}

static int64_t mail_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

enum err mail_find_done(struct call *c, struct agent_files *f, struct str agent, enum mail_state to,
			struct str *id)
{
	struct str mark = receipts_mark(c, agent);
	struct mailbox box;
	struct mail *m;
	enum err e = mark.p ? mailbox_open(c, f, agent, &box) : ERR_OK;

	*id = STR_NONE;
	for (size_t i = 0; !e && mark.p && !id->p && i < box.unsure.count; i++) {
		e = mailbox_find(c, f, &box, box.unsure.entry[i].key, &m);
		if (!e && m && str_eq(to == MAIL_READ ? m->read_mark : m->ack_mark, mark))
			*id = m->id;
	}
	return e;
}

/* The snapshots of a request with an id are written after its receipt. */
static enum err mail_settle_step(struct call *c, struct agent_files *f, struct mailbox *box)
{
	struct delivery *d;

	if (!c->request_id.p)
		return mailbox_settle(c, f, box);
	d = arena_new(&c->mem, struct delivery);
	*d = (struct delivery){ .box = *box, .fresh = true };
	f->unsettled = d;
	return ERR_OK;
}

/* Moves the state forward. Accepting an unread message is two steps, and two lines of the record:
 * every line is one step further than the line before. */
static enum err mail_advance(struct call *c, struct agent_files *f, struct str agent, struct str id,
			     enum mail_state to, struct mail **out)
{
	enum err forbidden = to == MAIL_READ ? ERR_READ_FORBIDDEN : ERR_ACK_FORBIDDEN;
	struct registered *a;
	struct mailbox box;
	struct mail *now = arena_new(&c->mem, struct mail), first;
	bool two;
	enum err e;

	if ((e = registry_find(c, f, agent, &a)) || (e = mailbox_open(c, f, agent, &box)) ||
	    (e = mail_find(c, f, &box, id, forbidden, out)) ||
	    (e = mailbox_confirm(c, f, &box, out)))
		return e;
	if ((*out)->state >= to)
		return registry_acted(c, f, a);
	*now = **out;
	now->via = STR_NONE;
	now->again = false;
	*out = now;
	two = to - now->state == 2;
	now->state = MAIL_READ;
	if (!now->read_ms)
		now->read_ms = mail_later(c->now_ms, now->created_ms);
	first = *now;
	if (to == MAIL_ACKED) {
		now->state = MAIL_ACKED;
		now->acked_ms = mail_later(c->now_ms, now->read_ms);
		now->ack_mark = receipts_mark(c, agent);
	} else {
		now->read_mark = receipts_mark(c, agent);
	}
	if ((e = mailbox_put(c, f, &box, two ? &first : now, two ? now : NULL)) ||
	    (e = mail_settle_step(c, f, &box)))
		return e;
	return registry_acted(c, f, a);
}

enum err mail_read(struct call *c, struct agent_files *f, struct str agent, struct str id,
		   struct mail **out)
{
	return mail_advance(c, f, agent, id, MAIL_READ, out);
}

enum err mail_ack(struct call *c, struct agent_files *f, struct str agent, struct str id,
		  struct mail **out)
{
	return mail_advance(c, f, agent, id, MAIL_ACKED, out);
}

/* --- totals --- */

static enum err mail_add_about(struct call *c, struct agent_files *f, struct str agent,
			       struct str bead, struct mail_totals *t, struct mail ***tail)
{
	struct mail_filter filter = { .state = -1, .bead = bead, .limit = INT64_MAX };
	struct mail *m, *next;
	enum err e = mail_collect(c, f, agent, &filter, &m, NULL);

	for (; !e && m; m = next) {
		next = m->next;
		t->count[m->state]++;
		if (!m->requires_ack || m->state == MAIL_ACKED)
			continue;
		**tail = m;
		*tail = &m->next;
	}
	**tail = NULL;
	return e;
}

/* For all beads the mailbox's own counts will do. */
static enum err mail_add_box(struct call *c, struct agent_files *f, struct str agent,
			     struct mail_totals *t, struct mail ***tail)
{
	struct mailbox box;
	struct mail *m;
	enum err e = mailbox_open(c, f, agent, &box);

	if (e)
		return e;
	for (int i = 0; i < MAIL_STATES; i++)
		t->count[i] += box.count[i];
	for (size_t i = box.unacked.count; !e && i-- > 0;) {
		if (!box.unacked.entry[i].value ||
		    (e = mailbox_find(c, f, &box, box.unacked.entry[i].key, &m)) || !m)
			continue;
		**tail = m;
		*tail = &m->next;
		m->next = NULL;
	}
	return e;
}

enum err mail_totals(struct call *c, struct agent_files *f, struct str agent, struct str bead,
		     struct mail_totals *out)
{
	struct mail **tail = &out->unacked;
	struct registered one = { .id = agent }, *a = &one;
	enum err e = ERR_OK;

	*out = (struct mail_totals){ 0 };
	if (!agent.p)
		e = registry_each(c, f, STR_NONE, STR_NONE, &a);
	for (; !e && a; a = a->next)
		e = bead.p ? mail_add_about(c, f, a->id, bead, out, &tail) :
			     mail_add_box(c, f, a->id, out, &tail);
	return e;
}

/* The counts are shown beside another reply, so an unreadable mailbox is no error. */
struct mail_waiting mail_waiting(struct call *c, struct agent_files *f, struct str agent)
{
	struct mail_waiting waiting = { 0 };
	struct mailbox box;

	if (registry_id_valid(agent) && !mailbox_open(c, f, agent, &box)) {
		waiting.unread = box.count[MAIL_UNREAD];
		for (size_t i = 0; i < box.unacked.count; i++)
			waiting.unacked += box.unacked.entry[i].value != NULL;
	}
	call_forgive(c);
	return waiting;
}
