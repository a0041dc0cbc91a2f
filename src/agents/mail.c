#include "agents/mail.h"

#include "agents/mailbox.h"
#include "agents/protocol.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "store/agent_pending.h"

enum { TITLE_MOST = 500, TEXT_MOST = 1024 * 1024 }; /* bytes */

static const char *const category_words[] = { "HANDOFF", "BLOCKED", "DECISION", "INFO" };
const struct names categories = { category_words, 4, NULL };

const char *category_label(int category)
{
	static const char *const labels[] = {
		[CATEGORY_HANDOFF] = "Passed to",
		[CATEGORY_BLOCKED] = "Needs input",
		[CATEGORY_DECISION] = "Decided",
		[CATEGORY_INFO] = "Told",
	};

	return labels[category];
}

static const char *const state_words[] = { "unread", "read", "acked" };
const struct names mail_states = { state_words, 3, NULL };

/* --- text --- */

void mail_put(struct json *j, const struct mail *m)
{
	json_put_str(j, "message_id", m->id);
	json_put_str(j, "thread_id", m->thread);
	json_put_str(j, "bead_id", m->bead);
	json_put_str(j, "from_agent", m->from);
	json_put_str(j, "to_agent", m->to);
	json_put_str(j, "category", str_of(names_word(&categories, m->category)));
	json_put_str(j, "subject", m->subject);
	json_put_str(j, "body", m->body);
	json_put_str(j, "state", str_of(names_word(&mail_states, m->state)));
	json_put_bool(j, "requires_ack", m->requires_ack);
	json_put_moment(j, "created_at", m->created_ms);
	json_put_moment(j, "read_at", m->read_ms);
	json_put_moment(j, "acked_at", m->acked_ms);
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

static enum err check_letter(struct call *c, const struct letter *l)
{
	enum err e;

	if (!str_trim(l->bead).n)
		return call_fail(c, ERR_MISSING_BEAD_ID,
				 "a message has to say which bead it is about");
	if (utf8_has_control(l->bead))
		return call_fail(c, ERR_INVALID_INPUT,
				 "the id of a bead has no control characters");
	if (names_exact(&categories, l->category) < 0)
		return call_fail(c, ERR_INVALID_CATEGORY,
				 "'" STR_FMT "' is not a category of messages",
				 STR_ARG(l->category));
	if (l->urgency.p && !str_is(l->urgency, "low") && !str_is(l->urgency, "medium") &&
	    !str_is(l->urgency, "high"))
		return call_fail(c, ERR_INVALID_INPUT,
				 "the urgency is low, medium or high, not '" STR_FMT "'",
				 STR_ARG(l->urgency));
	if ((l->urgency.p && !str_is(l->category, "BLOCKED")) ||
	    (l->action.p && !str_is(l->category, "BLOCKED") && !str_is(l->category, "HANDOFF")))
		return call_fail(c, ERR_INVALID_INPUT,
				 "a message of the category " STR_FMT " has no %s",
				 STR_ARG(l->category), l->urgency.p ? "urgency" : "next action");
	if (l->action.p && (e = mail_check_text(c, "the next action", l->action, TITLE_MOST)))
		return e;
	if (l->thread.p && (e = mail_check_text(c, "the thread", l->thread, TITLE_MOST)))
		return e;
	if ((e = mail_check_text(c, "the subject", l->subject, TITLE_MOST)))
		return e;
	return mail_check_text(c, "the body", l->body, TEXT_MOST);
}

/* Somebody who is not registered is one of these, not simply not found. */
static enum err mail_known(struct call *c, struct agent_files *f, struct str id, enum err what,
			   struct registered **out)
{
	enum err e = registry_find(c, f, id, out);

	if (e == ERR_AGENT_NOT_FOUND || e == ERR_INVALID_INPUT) {
		call_fail(c, what, "there is no agent '" STR_FMT "'", STR_ARG(id));
		return call_step(c, "'bb agent list' shows who is registered.");
	}
	return e;
}

/* What a repeat of the request comes to again: the end of an id. Absent: it cannot be known. */
static struct str mail_mark_of(struct call *c, const struct letter *l, struct str to)
{
	struct str zero = { "", 1 }, pieces[] = { c->request_id, zero, l->from, zero, to };

	if (!c->request_id.p)
		return STR_NONE;
	return str_head(sha256_pieces(&c->mem, pieces, 5), 16);
}

static bool mail_same_letter(const struct letter *l, const struct mail *m)
{
	return str_eq(l->bead, m->bead) && str_eq(l->subject, m->subject) &&
	       str_eq(l->body, m->body) && names_exact(&categories, l->category) == m->category &&
	       (!l->thread.p || str_eq(l->thread, m->thread));
}

static struct mail *mail_new(struct call *c, const struct letter *l, struct str to, struct str mark)
{
	struct mail *m = arena_new(&c->mem, struct mail);
	int category = names_exact(&categories, l->category);

	*m = (struct mail){ .id = mark.p ? id_mint_as(&c->mem, "msg", c->now_ms, mark) :
					   id_mint(&c->mem, "msg", c->now_ms),
			    .thread = l->thread.p ?
					      l->thread :
					      arena_fmt(&c->mem, "bead:" STR_FMT, STR_ARG(l->bead)),
			    .bead = l->bead,
			    .from = l->from,
			    .to = to,
			    .subject = l->subject,
			    .body = l->body,
			    .category = category,
			    .requires_ack =
				    category == CATEGORY_HANDOFF || category == CATEGORY_BLOCKED,
			    .created_ms = c->now_ms };
	return m;
}

/* A message on its way. */
struct delivery {
	struct mailbox box;
	struct mail *mail;
	bool fresh; /* false: an earlier try of the same request has sent it */
	struct delivery *next;
};

/* Once, however often the request is repeated. */
static enum err mail_prepare(struct call *c, struct agent_files *f, const struct letter *l,
			     struct str to, struct delivery ***tail)
{
	struct delivery *d = arena_new(&c->mem, struct delivery);
	struct str mark = mail_mark_of(c, l, to);
	enum err e;

	*d = (struct delivery){ 0 };
	if ((e = mailbox_open(c, f, to, &d->box)) ||
	    (mark.p && (e = mailbox_find_end(c, f, &d->box, mark, &d->mail))))
		return e;
	if (d->mail && !mail_same_letter(l, d->mail))
		return call_fail(c, ERR_REQUEST_MISMATCH,
				 "request id '" STR_FMT "' was used for another message",
				 STR_ARG(c->request_id));
	if (!d->mail) {
		d->fresh = true;
		d->mail = mail_new(c, l, to, mark);
		if (d->box.latest_ms > d->mail->created_ms) /* later is never older */
			d->mail->created_ms = d->box.latest_ms;
	}
	**tail = d;
	*tail = &d->next;
	return ERR_OK;
}

/* All agents but the sender; with a role, those that have it. */
static enum err prepare_all(struct call *c, struct agent_files *f, const struct letter *l,
			    struct str role, struct delivery ***tail)
{
	struct registered *a;
	enum err e = registry_each(c, f, role, STR_NONE, &a);

	for (; !e && a; a = a->next)
		if (!str_eq(a->id, l->from))
			e = mail_prepare(c, f, l, a->id, tail);
	return e;
}

/* A handoff, and a call for help, belong to the story of the session. */
static enum err event_line(struct call *c, struct agent_files *f, const struct letter *l,
			   const struct mail *m, struct agent_append *out)
{
	struct protocol_event event = {
		.type = m->category == CATEGORY_HANDOFF ? EVENT_HANDOFF : EVENT_BLOCKED,
		.mark = mail_mark_of(c, l, l->to),
		.bead = l->bead,
		.from = l->from,
		.to = l->to,
		.subject = l->subject,
		.text = l->body,
		.action = l->action.p ? l->action : l->subject,
		.urgency = l->urgency.p ? l->urgency : STR("medium"),
	};

	*out = (struct agent_append){ 0 };
	return m->requires_ack ? protocol_line(c, f, &event, out) : ERR_OK;
}

/* All recipients get it, with its event, or none does. */
static enum err mail_deliver(struct call *c, struct agent_files *f, const struct letter *l,
			     struct delivery *list)
{
	struct agent_append *all = NULL, event;
	size_t count = 0;
	enum err e = event_line(c, f, l, list->mail, &event);

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
	for (struct delivery *d = list; !e && d; d = d->next)
		if (d->fresh)
			e = mailbox_settle(c, f, &d->box);
	return e;
}

/* Who gets it: an agent, everybody ("broadcast"), or all of a role ("role:ui"). */
static enum err mail_address(struct call *c, struct agent_files *f, const struct letter *l,
			     struct delivery **list)
{
	struct delivery **tail = list;
	struct str role = { 0 };
	struct registered *other;
	enum err e;

	if (str_is(l->to, "broadcast"))
		return prepare_all(c, f, l, role, &tail);
	if (!str_starts(l->to, STR("role:"))) {
		e = mail_known(c, f, l->to, ERR_UNKNOWN_RECIPIENT, &other);
		return e ? e : mail_prepare(c, f, l, l->to, &tail);
	}
	role = str_trim(str_skip(l->to, 5));
	if ((e = prepare_all(c, f, l, role, &tail)) || *list)
		return e;
	call_fail(c, ERR_UNKNOWN_RECIPIENT, "no other agent has the role '" STR_FMT "'",
		  STR_ARG(role));
	return call_step(c, "'bb agent list' shows the agents and their roles.");
}

enum err mail_send(struct call *c, struct agent_files *f, const struct letter *letter,
		   struct mail **out)
{
	struct registered *sender = NULL;
	struct delivery *list = NULL;
	struct letter l = *letter;
	enum err e;

	*out = NULL;
	l.bead = str_trim(l.bead);
	if ((e = check_letter(c, &l)) ||
	    (!l.system && (e = mail_known(c, f, l.from, ERR_UNKNOWN_SENDER, &sender))) ||
	    (e = mail_address(c, f, &l, &list)) || (list && (e = mail_deliver(c, f, &l, list))))
		return e;
	for (struct delivery *d = list; d; d = d->next) {
		*out = d->mail;
		out = &d->mail->next;
		*out = NULL;
	}
	return sender ? registry_acted(c, f, sender) : ERR_OK;
}

/* --- receiving --- */

static bool mail_fits(const struct mail_filter *filter, const struct mail *m)
{
	return (filter->state < 0 || m->state == filter->state) &&
	       (!filter->bead.p || str_eq(m->bead, filter->bead));
}

/* So many there are at most: who has found them need not look further. */
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
	return call_fail(c, ERR_MESSAGE_NOT_FOUND, "there is no message '" STR_FMT "'",
			 STR_ARG(id));
}

/* The walk begins before anything is counted: all that it meets is in the count. */
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

/* A message to this agent, or why it is not. */
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

/* Nothing happens to a message before what happened to it last. */
static int64_t mail_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The recipient has done something with it: its state moves on by one step, or two. */
static enum err mail_advance(struct call *c, struct agent_files *f, struct str agent, struct str id,
			     int to, struct mail **out)
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
	*out = now;
	two = to - now->state == 2;
	now->state = MAIL_READ;
	if (!now->read_ms)
		now->read_ms = mail_later(c->now_ms, now->created_ms);
	first = *now;
	if (to == MAIL_ACKED) {
		now->state = MAIL_ACKED;
		now->acked_ms = mail_later(c->now_ms, now->read_ms);
	}
	e = mailbox_put(c, f, &box, two ? &first : now, two ? now : NULL);
	return e ? e : registry_acted(c, f, a);
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

/* --- what it comes to --- */

static enum err add_all(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			struct mail_totals *t, struct mail ***tail)
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

/* About all beads: the mailbox has counted them already. */
static enum err add_box(struct call *c, struct agent_files *f, struct str agent,
			struct mail_totals *t, struct mail ***tail)
{
	struct mailbox box;
	struct mail *m;
	enum err e = mailbox_open(c, f, agent, &box);

	if (e)
		return e;
	for (int i = 0; i < 3; i++)
		t->count[i] += box.count[i];
	for (size_t i = box.owed.count; !e && i-- > 0;) {
		if (!box.owed.entry[i].value ||
		    (e = mailbox_find(c, f, &box, box.owed.entry[i].key, &m)) || !m)
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
	struct mail **tail = &out->owed;
	struct registered one = { .id = agent }, *a = &one;
	enum err e = ERR_OK;

	*out = (struct mail_totals){ 0 };
	if (!agent.p)
		e = registry_each(c, f, STR_NONE, STR_NONE, &a);
	for (; !e && a; a = a->next)
		e = bead.p ? add_all(c, f, a->id, bead, out, &tail) :
			     add_box(c, f, a->id, out, &tail);
	return e;
}

/* Whatever is wrong with the mail is not wrong with what was asked for. */
struct mail_waiting mail_waiting(struct call *c, struct agent_files *f, struct str agent)
{
	struct mail_waiting waiting = { 0 };
	struct mailbox box;

	if (registry_id_valid(agent) && !mailbox_open(c, f, agent, &box)) {
		waiting.unread = box.count[MAIL_UNREAD];
		for (size_t i = 0; i < box.owed.count; i++)
			waiting.owed += box.owed.entry[i].value != NULL;
	}
	c->code = ERR_OK;
	return waiting;
}
