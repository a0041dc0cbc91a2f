#include "live/conversation.h"

#include <stdlib.h>

#include "agents/mailbox.h"
#include "agents/protocol.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "beads/find.h"
#include "beads/model/line.h"
#include "beads/model/record.h"
#include "beads/model/state.h"
#include "beads/public.h"
#include "board/artifacts.h"
#include "board/posts.h"
#include "continuity/continuity.h"
#include "live/changes.h"
#include "live/open.h"
#include "live/texts.h"
#include "store/board/board_db.h"

enum { MOST = 1000 }; /* items of each kind, newest first */

struct conversation_item {
	struct stamp at; /* outside of beads: the time, and a number that orders within it */
	size_t order;
	struct str json;
};

struct thread {
	struct call *c;
	struct str id, brief; /* of the bead; `brief` is without the prefix */
	struct conversation_item *item;
	size_t count;
	struct changes changes;
	struct agent_files files;
	struct map boxes; /* by agent: struct mailbox */
	struct map seen;  /* ids of messages */
	struct board *board;
	struct map mail; /* by content: struct mail_item */
	struct mail_item *first_mail, **mail_end;
	size_t posts;
	enum err e; /* of a visit */
};

static void conversation_add(struct thread *t, struct stamp at, struct json *j)
{
	t->item = arena_room(&t->c->mem, t->item, t->count, sizeof *t->item);
	t->item[t->count] = (struct conversation_item){ at, t->count, json_text(j) };
	t->count++;
}

static void conversation_begin(struct json *j, const char *kind, int64_t at, struct str by)
{
	json_object(j);
	json_put_str(j, "kind", str_of(kind));
	json_put_moment(j, "at", at);
	json_put_str(j, "by", by);
}

/* Whether it is about this bead. The writer may have left out the prefix of the id. */
static bool conversation_about(const struct thread *t, struct str bead)
{
	return str_eq(bead, t->id) || (t->brief.n && str_eq(bead, t->brief));
}

/* --- changes --- */

/* Long texts are not repeated in the thread. */
static bool is_short(enum member m)
{
	return m == MEMBER_STATUS || m == MEMBER_ASSIGNEE || m == MEMBER_PRIORITY ||
	       m == MEMBER_TITLE || m == MEMBER_TYPE || m == MEMBER_LABELS ||
	       m == MEMBER_CLOSED_REASON;
}

static void conversation_put_change(struct thread *t, const struct change *c)
{
	struct json j = json_new(&t->c->mem);

	if (!c->regs)
		return;
	conversation_begin(&j, "change", c->mark.at.ms, c->mark.by);
	json_put_str(&j, "what", change_word(c));
	json_put_array(&j, "fields");
	for (int r = 0; r < REGS; r++)
		if (c->regs & 1u << r)
			json_str(&j, str_of(reg_word((enum reg)r)));
	json_end(&j);
	json_put_object(&j, "values");
	for (int m = 0; m < MEMBERS; m++)
		if (c->member[m].p && is_short((enum member)m))
			json_put_raw(&j, names_word(&bead_members, m), c->member[m]);
	json_end(&j);
	json_end(&j);
	conversation_add(t, c->mark.at, &j);
}

static enum err conversation_see_record(struct call *c, const struct journal_record *r, void *arg)
{
	struct thread *t = arg;
	struct record record = { .change = state_new(&c->mem) };
	const struct slot *slot;
	struct str why;

	if (!str_has(r->json, t->id) || !record_decode(r->json, &record, &why))
		return ERR_OK;
	slot = state_find(record.change, t->id);
	if (slot && slot->bead)
		changes_note(&t->changes, slot->bead);
	return ERR_OK;
}

static void conversation_put_notes(struct thread *t, const struct bead *b)
{
	for (size_t i = 0; i < b->notes; i++) {
		const struct note *n = &b->note[i];
		struct json j = json_new(&t->c->mem);

		conversation_begin(&j, "note", n->at.ms, n->author);
		json_put_str(&j, "id", n->id);
		json_put_str(&j, "text", n->content);
		json_end(&j);
		conversation_add(t, n->at, &j);
	}
}

/* The journal has every write since it was last cut; the bead has the last write of each field. */
static enum err conversation_put_bead(struct thread *t, struct beads *b, const struct bead_row *row,
				      struct json *j)
{
	static const struct shape all;
	struct journal_place start = { .last = -1 };
	struct bead bead = { 0 };
	struct str why;
	enum err e;

	json_key(j, STR("bead"));
	public_encode(j, row, &all);
	if (line_decode(&t->c->mem, value_read(&t->c->mem, row->line), &bead, &why)) {
		changes_note(&t->changes, &bead);
		conversation_put_notes(t, &bead);
	}
	e = journal_each(t->c, b->home, &start, conversation_see_record, t);
	if (e)
		call_forgive(t->c); /* the journal was cut meanwhile, or is damaged */
	for (size_t i = 0; i < t->changes.by_mark.count; i++)
		conversation_put_change(t, t->changes.by_mark.entry[i].value);
	return ERR_OK;
}

static enum err add_bead(struct thread *t, struct str text, struct json *j)
{
	struct beads b;
	struct bead_row *row;
	bool there;
	enum err e = live_open_beads(t->c, &b, &there);

	t->id = text;
	if (e)
		return e;
	if (!there) {
		json_key(j, STR("bead"));
		json_null(j);
		return ERR_OK;
	}
	if (!(e = find_bead(t->c, &b, text, &row))) {
		t->id = row->id;
		t->brief = find_brief(b.about.prefix, row->id);
		e = conversation_put_bead(t, &b, row, j);
	}
	beads_close(&b);
	return e;
}

/* --- mail and protocol events --- */

/* A message. The messages of a broadcast are one item of the thread: they have the same content and
 * the same time, and each has another recipient. */
struct mail_item {
	struct mail first;         /* the first message of the item */
	struct mail *to;           /* the message to each recipient, in its current state */
	const struct value *event; /* the protocol event of the same message; or NULL */
	struct mail_item *next;    /* in the thread */
	struct mail_item *same;    /* an earlier one with the same content */
};

static struct str content_key(struct thread *t, struct str from, struct str category,
			      struct str subject, struct str body)
{
	struct str zero = { "", 1 }, pieces[] = { from, zero, category, zero, subject, zero, body };

	return sha256_pieces(&t->c->mem, pieces, sizeof pieces / sizeof *pieces);
}

static const struct mail *conversation_recipient(const struct mail_item *sent, struct str agent)
{
	const struct mail *to = sent->to;

	while (to && !str_eq(to->to, agent))
		to = to->next;
	return to;
}

static bool conversation_same_mail(const struct mail_item *sent, const struct mail *m)
{
	return str_eq(sent->first.thread, m->thread) && !conversation_recipient(sent, m->to);
}

/* The item of a message: a new one, or that of the broadcast to which the message belongs. */
static struct mail_item *mail_item_of(struct thread *t, const struct mail *m)
{
	struct str category = str_of(names_word(&categories, m->category));
	void **head = map_put(&t->mail, content_key(t, m->from, category, m->subject, m->body));
	struct mail_item *sent = *head;

	/* messages are visited in the order of their times */
	for (; sent && sent->first.created_ms == m->created_ms; sent = sent->same)
		if (conversation_same_mail(sent, m))
			return sent;
	sent = arena_new(&t->c->mem, struct mail_item);
	*sent = (struct mail_item){ .first = *m, .same = *head };
	*head = sent;
	*t->mail_end = sent;
	t->mail_end = &sent->next;
	return sent;
}

static bool conversation_visit_mail(struct call *c, struct str box, struct str id, void *arg)
{
	struct thread *t = arg;
	struct mail_item *sent;
	size_t known = t->seen.count;
	struct mail *m;

	map_put(&t->seen, id);
	if (t->seen.count == known) /* a damaged index can name a message twice */
		return true;
	t->e = texts_find_mail(c, &t->files, &t->boxes, box, id, &m);
	if (!t->e && m && conversation_about(t, m->bead)) {
		sent = mail_item_of(t, m);
		m->next = sent->to;
		sent->to = m;
	}
	return !t->e;
}

static void conversation_put_recipients(struct json *j, const struct mail *to)
{
	json_put_array(j, "recipients");
	for (; to; to = to->next) {
		json_object(j);
		json_put_str(j, "agent", to->to);
		json_put_str(j, "message_id", to->id);
		json_put_word(j, "state", &mail_states, to->state);
		json_put_moment(j, "read_at", to->read_ms);
		json_put_moment(j, "acked_at", to->acked_ms);
		json_end(j);
	}
	json_end(j);
}

static void conversation_put_mail(struct thread *t, const struct mail_item *sent)
{
	const struct mail *m = &sent->first;
	struct json j = json_new(&t->c->mem);

	conversation_begin(&j, "mail", m->created_ms, m->from);
	json_put_word(&j, "category", &categories, m->category);
	json_put_str(&j, "label", str_of(category_label(m->category)));
	json_put_str(&j, "thread_id", m->thread);
	json_put_str(&j, "subject", m->subject);
	json_put_str(&j, "text", m->body);
	json_put_bool(&j, "requires_ack", m->requires_ack);
	conversation_put_recipients(&j, sent->to);
	json_key(&j, STR("event"));
	if (sent->event)
		json_value(&j, sent->event);
	else
		json_null(&j);
	json_end(&j);
	conversation_add(t, (struct stamp){ .ms = m->created_ms }, &j);
}

/*
 * Whether the message may be the one that an event at this time reports. Both are stored together,
 * and the message is never older: if the clock was set back, it has the time of the recipient's
 * last message.
 */
static bool may_tell(const struct mail_item *sent, struct str to, int64_t at)
{
	struct str role;
	bool many = sent->to->next,
	     one = recipient_parse(to, &role) == RECIPIENT_AGENT && registry_id_valid(to);

	return sent->first.created_ms >= at && (many || !sent->event) &&
	       (!one || conversation_recipient(sent, to));
}

static bool tells_better(const struct mail_item *a, const struct mail_item *b)
{
	if (!b || !a->event != !b->event)
		return !b || !a->event;
	return a->first.created_ms <= b->first.created_ms;
}

/* HANDOFF and BLOCKED are both mail and events, but one item of the thread. */
static bool told_by_mail(struct thread *t, const struct value *event, int64_t at)
{
	const struct value *payload = value_find(event, "payload");
	struct str text = value_str(payload, "summary");
	struct mail_item *sent, *best = NULL;
	void **found;

	text = text.p ? text : value_str(payload, "blocker");
	found = map_find(&t->mail, content_key(t, value_str(event, "from_agent"),
					       value_str(event, "event_type"),
					       value_str(payload, "subject"), text));
	for (sent = found ? *found : NULL; sent; sent = sent->same)
		if (may_tell(sent, value_str(event, "to_agent"), at) && tells_better(sent, best))
			best = sent;
	if (best)
		best->event = event;
	return best;
}

static void conversation_put_event(struct thread *t, const struct value *event)
{
	struct json j = json_new(&t->c->mem);
	struct str type = value_str(event, "event_type");
	int kind = names_exact(&event_types, type);
	int64_t at = 0;

	moment_parse(value_str(event, "created_at"), &at);
	if (kind < 0 || told_by_mail(t, event, at))
		return;
	conversation_begin(&j, "protocol", at, value_str(event, "from_agent"));
	json_put_str(&j, "label", str_of(event_label((enum event_type)kind)));
	json_key(&j, STR("event"));
	json_value(&j, event);
	json_end(&j);
	conversation_add(t, (struct stamp){ .ms = at }, &j);
}

static enum err add_protocol(struct thread *t, struct agent_files *f)
{
	struct protocol_filter filter = {
		.type = -1, .bead = t->id, .or_bead = t->brief, .limit = MOST
	};
	struct json list = json_new(&t->c->mem);
	const struct value *v;
	enum err e = protocol_each(t->c, f, &filter, &list);

	v = e ? NULL : value_read(&t->c->mem, json_text(&list));
	for (size_t i = v ? v->count : 0; i; i--) /* the list has the newest first */
		conversation_put_event(t, &v->item[i - 1]);
	return e;
}

static enum err add_agents(struct thread *t)
{
	struct text_db index;
	enum err e = agent_files_open(t->c, AGENTS_READ, &t->files);

	if (e || !t->files.home.p || (e = texts_open_mail(t->c, &t->files, &index)))
		return e;
	e = text_db_about(t->c, &index, t->id, t->brief, conversation_visit_mail, t);
	text_db_close(&index);
	if (!e && !(e = t->e))
		e = add_protocol(t, &t->files);
	for (const struct mail_item *l = t->first_mail; !e && l; l = l->next)
		conversation_put_mail(t, l);
	return e;
}

/* --- the board, and the events of continuity --- */

static void put_whole(struct thread *t, const char *kind, struct stamp at, struct str by,
		      struct str member, struct json *value)
{
	struct json j = json_new(&t->c->mem);

	conversation_begin(&j, kind, at.ms, by);
	json_put_raw(&j, member.p, json_text(value));
	json_end(&j);
	conversation_add(t, at, &j);
}

bool conversation_names(struct str text, struct str id)
{
	const char *found;

	while (id.n && (found = str_find(text, id))) {
		char before = found > text.p ? found[-1] : ' ', after;

		text = str_skip(text, (size_t)(found - text.p) + id.n);
		after = text.n ? text.p[0] : ' ';
		if (!bead_id_valid((struct str){ &before, 1 }) &&
		    !bead_id_valid((struct str){ &after, 1 }))
			return true;
	}
	return false;
}

/* Adds a post that names the bead, and not only one whose id begins like the bead's. */
static bool conversation_visit_post(struct call *c, struct str source, struct str key, void *arg)
{
	struct thread *t = arg;
	struct json j = json_new(&c->mem);
	struct message *m = NULL;

	(void)source;
	t->e = message_find(c, t->board, texts_number(key), &m);
	if (m && (conversation_names(m->content, t->id) || conversation_names(m->refs, t->id))) {
		message_encode(&j, m);
		put_whole(t, "post", (struct stamp){ m->created_at, m->id }, m->from_agent,
			  STR("post"), &j);
		t->posts++;
	}
	return !t->e && t->posts < MOST;
}

static enum err add_artifacts(struct thread *t)
{
	struct artifact_filter made = { .mentions = t->id, .limit = MOST };
	struct artifact *a = NULL;
	enum err e = artifact_each(t->c, t->board, &made, &a);

	for (; !e && a; a = a->next) {
		struct json j = json_new(&t->c->mem);

		if (!conversation_names(a->description, t->id) &&
		    !conversation_names(a->refs, t->id))
			continue;
		artifact_encode(&j, a);
		put_whole(t, "artifact", (struct stamp){ a->created_at, a->id }, a->produced_by,
			  STR("artifact"), &j);
	}
	return e;
}

static enum err add_board(struct thread *t)
{
	struct board board;
	struct text_db index;
	bool there;
	enum err e = live_open_board(t->c, &board, &there);

	if (e || !there)
		return e;
	t->board = &board;
	if (!(e = texts_open_posts(t->c, &board, &index))) {
		e = text_db_find(t->c, &index, t->id, conversation_visit_post, t);
		text_db_close(&index);
	}
	if (!e && !(e = t->e))
		e = add_artifacts(t);
	board_close(&board);
	return e;
}

static enum err add_events(struct thread *t)
{
	struct call *c = t->c;
	struct event_filter filter = { .task = t->id, .limit = MOST, .archived = true };
	struct event_row *row = NULL;
	struct artifact_row *a = NULL;
	struct str project = c->project, gitdir = c->gitdir; /* continuity_open() may change them */
	struct continuity k;
	enum err e = continuity_open(c, VYBE_READ, &k);

	c->project = project;
	c->gitdir = gitdir;
	if (e)
		return e;
	if (k.db.db && !(e = vybe_event_each(c, &k.db, &filter, &row)))
		e = vybe_artifact_each(c, &k.db, t->id, MOST, &a);
	continuity_close(&k);
	for (; !e && row; row = row->next) {
		struct json j = json_new(&c->mem);

		if (str_starts(row->kind, STR("task_"))) /* it is in the thread as a change */
			continue;
		event_row_encode(&j, row);
		put_whole(t, "event", (struct stamp){ row->created, row->id }, row->agent,
			  STR("event"), &j);
	}
	for (; !e && a; a = a->next) {
		struct json j = json_new(&c->mem);

		artifact_row_encode(&j, a);
		put_whole(t, "artifact", (struct stamp){ a->created, a->id }, STR_NONE,
			  STR("artifact"), &j);
	}
	return e;
}

static int by_time(const void *a, const void *b)
{
	const struct conversation_item *x = a, *y = b;
	int order = stamp_cmp(x->at, y->at);

	if (order)
		return order;
	return x->order < y->order ? -1 : 1;
}

enum err conversation_encode(struct call *c, struct str bead, struct json *j)
{
	struct thread t = { .c = c,
			    .changes.by_mark.mem = &c->mem,
			    .boxes.mem = &c->mem,
			    .seen.mem = &c->mem,
			    .mail.mem = &c->mem };
	enum err e;

	t.mail_end = &t.first_mail;
	json_object(j);
	if ((e = add_bead(&t, bead, j)) || (e = add_agents(&t)) || (e = add_board(&t)) ||
	    (e = add_events(&t)))
		return e;
	if (t.count)
		qsort(t.item, t.count, sizeof *t.item, by_time);
	json_put_array(j, "items");
	for (size_t i = 0; i < t.count; i++)
		json_raw(j, t.item[i].json);
	json_end(j);
	json_end(j);
	return ERR_OK;
}
