#include "live/overview.h"

#include <stdlib.h>

#include "agents/mailbox.h"
#include "agents/protocol.h"
#include "agents/reservation.h"
#include "agents/stuck.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/find.h"
#include "live/line_act.h"
#include "live/open.h"
#include "live/texts.h"
#include "store/db/bead_query.h"
#include "store/db/bead_ready.h"
#include "store/db/bead_tally.h"

/* --- the mail about each bead --- */

struct mail_tally {
	int64_t unread, unacked;
	int64_t at; /* the time of the last message */
	struct str by;
	int category;
};

struct mail_map {
	struct call *c;
	struct map beads; /* by id, as the sender wrote it: struct mail_tally */
};

static struct mail_tally *tally_of(struct mail_map *map, struct str bead)
{
	void **at = map_find(&map->beads, bead);

	if (!at) {
		at = map_put(&map->beads, arena_copy(&map->c->mem, bead));
		*at = arena_new(&map->c->mem, struct mail_tally);
	}
	return *at;
}

static void count_step(struct call *c, const struct mail *m, void *arg)
{
	struct mail_map *map = arg;
	struct mail_tally *t = tally_of(map, m->bead);

	(void)c;
	mail_count_step(m, &t->unread, &t->unacked);
	if (m->created_ms < t->at)
		return;
	t->at = m->created_ms;
	t->category = m->category;
	if (!str_eq(t->by, m->from))
		t->by = arena_copy(&map->c->mem, m->from);
}

static enum err count_mail(struct call *c, struct agent_files *f, struct mail_map *out)
{
	struct str *agents;
	size_t count;
	enum err e = mailbox_list(c, f, &agents, &count);

	*out = (struct mail_map){ .c = c, .beads.mem = &c->mem };
	for (size_t i = 0; !e && i < count; i++)
		e = mailbox_each(c, f, agents[i], &(int64_t){ 0 }, STR_NONE, count_step, out);
	return e;
}

static const struct mail_tally *tally_find(const struct mail_map *map, struct str bead)
{
	void **at = bead.p ? map_find(&map->beads, bead) : NULL;

	return at ? *at : NULL;
}

static void add_tally(const struct mail_tally *t, struct mail_tally *sum)
{
	if (!t)
		return;
	sum->unread += t->unread;
	sum->unacked += t->unacked;
	if (t->at < sum->at)
		return;
	sum->at = t->at;
	sum->by = t->by;
	sum->category = t->category;
}

/* --- beads --- */

struct overview {
	struct call *c;
	struct agent_files files;
	struct registered *agents;
	struct map by_id; /* struct registered */
	struct stuck *stuck;
	struct mail_map mail; /* if the index of mail cannot be used; else empty */
	struct text_db texts; /* the index of mail, if it is open */
	enum err e;           /* the first failure to read it */
	struct beads beads;
	struct str prefix;   /* of ids */
	struct map rows;     /* by id: struct bead_row */
	struct map sessions; /* by the epic's id, "" for none: struct overview_session */
	bool all;            /* closed tasks too */
	int64_t most;        /* tasks of an epic; 0: all */
};

/* An epic, or the tasks without one. */
struct overview_session {
	struct str epic; /* absent: tasks without an epic */
	bool done;       /* the epic is closed, or there is none: closed tasks are left out */
	int64_t tasks, closed;
	struct bead_place first; /* of the epic and its tasks, the first one in the usual order */
};

/* "": the tasks without an epic. */
static struct overview_session *session_of(struct overview *w, struct str epic)
{
	void **at = map_find(&w->sessions, epic);
	struct overview_session *s = at ? *at : arena_new(&w->c->mem, struct overview_session);

	if (at)
		return s;
	epic = arena_copy(&w->c->mem, epic);
	*map_put(&w->sessions, epic) = s;
	s->epic = epic.n ? epic : STR_NONE;
	s->done = !epic.n;
	return s;
}

static struct bead_place overview_row_place(struct overview *w, const struct bead_row *row)
{
	return (struct bead_place){ row->priority, row->created, row->created_n,
				    arena_copy(&w->c->mem, row->id) };
}

static bool put_epic(void *arg, const struct bead_row *row)
{
	struct overview *w = arg;
	struct overview_session *s = session_of(w, row->id);

	s->done = row->status == BEAD_CLOSED;
	s->first = overview_row_place(w, row);
	return true;
}

static bool is_parent(const struct link *link)
{
	return str_is(link->kind, names_word(&edge_kinds, EDGE_PARENT));
}

/* Adds the beads whose counts change with a bead: its dependents and its parents. */
static enum err add_around(struct overview *w, struct beads *b, struct str id)
{
	enum err e = ERR_OK;

	for (int side = SIDE_OUT; !e && side <= SIDE_IN; side++) {
		struct link *link;

		e = query_links(w->c, &b->cache, id, (enum side)side, true, &link);
		for (; !e && link; link = link->next) {
			void **at;

			if (side == SIDE_OUT && !is_parent(link))
				continue;
			at = map_put(&w->rows, link->bead->id);
			*at = *at ? *at : link->bead;
		}
	}
	return e;
}

/* Opens the beads for the caller; false in `there`: the project has no store of beads. */
static enum err overview_open_beads(struct overview *w, bool *there)
{
	enum err e = live_open_beads(w->c, &w->beads, there);

	if (!e && *there)
		w->prefix = w->beads.about.prefix;
	return e;
}

static int place_cmp(const struct bead_place *a, const struct bead_place *b)
{
	int64_t x[] = { a->priority, a->created, a->created_n },
		y[] = { b->priority, b->created, b->created_n };

	for (size_t i = 0; i < sizeof x / sizeof *x; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return str_cmp(a->id, b->id);
}

/* If two begin with the same bead, it is an epic in the other one's epic: its own is first. */
static int session_cmp(const void *x, const void *y)
{
	const struct overview_session *a = *(const struct overview_session *const *)x,
				      *b = *(const struct overview_session *const *)y;
	int order = place_cmp(&a->first, &b->first);

	return order ? order : str_eq(a->epic, a->first.id) ? -1 : str_eq(b->epic, b->first.id);
}

struct overview_first {
	struct overview *w;
	struct overview_session *session;
};

static bool put_first(void *arg, const struct bead_row *row)
{
	struct overview_first *f = arg;
	struct bead_place place = overview_row_place(f->w, row);

	if (!f->session->first.id.p || place_cmp(&place, &f->session->first) < 0)
		f->session->first = place;
	return false;
}

static enum err read_first(struct overview *w, struct overview_session *s)
{
	struct overview_first f = { w, s };
	struct bead_filter first = { .lean = true, .limit = 1, .visit = put_first, .arg = &f };
	enum err e = ERR_OK;

	if (s->tasks)
		e = query_tasks(w->c, &w->beads.cache, s->epic, true, &first);
	return e || s->epic.p ? e : query_tasks(w->c, &w->beads.cache, s->epic, false, &first);
}

/* Open epics; with `all` the closed ones, too. */
static enum err read_epics(struct overview *w)
{
	struct bead_filter epics = { .types = 1u << BEAD_EPIC,
				     .statuses = 1u << BEAD_OPEN | 1u << BEAD_IN_PROGRESS,
				     .lean = true,
				     .visit = put_epic,
				     .arg = w };
	struct bead_row *none;

	epics.statuses = w->all ? 0 : epics.statuses;
	return query_each(w->c, &w->beads.cache, &epics, &none);
}

/* Adds the counts, and the closed epics that have open tasks. */
static enum err read_tasks(struct overview *w)
{
	struct map tallies = { .mem = &w->c->mem };
	enum err e = tally_epics(w->c, &w->beads.cache, &tallies);

	for (size_t i = 0; !e && i < tallies.count; i++) {
		struct str epic = tallies.entry[i].key;
		const struct epic_tally *tally = tallies.entry[i].value;
		struct overview_session *s;
		struct bead_row *row = NULL;

		if (tally->closed == tally->tasks && !map_find(&w->sessions, epic) && !w->all)
			continue;
		s = session_of(w, epic);
		s->tasks = tally->tasks;
		s->closed = tally->closed;
		if (epic.n && !s->first.id.p)
			e = cache_find_row(w->c, &w->beads.cache, epic, false, &row);
		if (row)
			put_epic(w, row);
	}
	return e;
}

static enum err sort_sessions(struct overview *w, struct overview_session ***out)
{
	struct overview_session **list = arena_array(&w->c->mem, w->sessions.count, sizeof *list);
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < w->sessions.count; i++) {
		list[i] = w->sessions.entry[i].value;
		e = read_first(w, list[i]);
	}
	if (!e && w->sessions.count)
		qsort(list, w->sessions.count, sizeof(*list), session_cmp);
	*out = list;
	return e;
}

static enum err read_some(struct overview *w, const struct overview_ask *ask)
{
	struct bead_filter some = { .sort = SORT_PRIORITY,
				    .ids = ask->ids,
				    .id_count = ask->id_count };
	struct bead_row *row;
	bool there;
	enum err e;

	if (!ask->id_count)
		return ERR_OK;
	if ((e = overview_open_beads(w, &there)) || !there)
		return e;
	e = query_each(w->c, &w->beads.cache, &some, &row);
	for (; !e && row; row = row->next)
		*map_put(&w->rows, row->id) = row;
	for (size_t i = 0; !e && i < ask->id_count; i++)
		e = add_around(w, &w->beads, ask->ids[i]);
	beads_close(&w->beads);
	return e;
}

/* --- JSON --- */

static void put_last_act(struct json *j, const struct bead_row *row, const struct value *line,
			 const struct mail_tally *mail)
{
	bool mailed = mail->at > row->updated;

	json_put_object(j, "last_act");
	json_put_moment(j, "at", mailed ? mail->at : row->updated);
	json_put_str(j, "by", mailed ? mail->by : value_str(line, "_by"));
	json_put_str(j, "what", mailed ? str_of(category_act(mail->category)) : line_act(line));
	json_end(j);
}

static void overview_put_labels(struct json *j, const struct value *labels)
{
	json_name(j, STR("labels"));
	if (labels)
		json_value(j, labels);
	else
		json_raw(j, STR("[]"));
}

static enum liveness overview_liveness(const struct overview *w, const struct registered *a)
{
	return liveness_of(a->seen_ms, w->c->now_ms, w->c->stale_minutes);
}

/* The liveness of an agent; null for people and others that are not registered. */
static void put_liveness(struct overview *w, struct json *j, const char *key, struct str who)
{
	void **at = who.p ? map_find(&w->by_id, who) : NULL;

	json_put_str(j, key,
		     at ? str_of(names_word(&liveness_words, (int)overview_liveness(w, *at))) :
			  STR_NONE);
}

static void add_mail_about(struct overview *w, struct str id, struct mail_tally *sum)
{
	struct text_tally known;
	struct mail_tally tally;

	if (!w->texts.db) {
		add_tally(tally_find(&w->mail, id), sum);
		return;
	}
	if (!id.p || w->e || (w->e = text_db_tally(w->c, &w->texts, id, &known)))
		return;
	tally = (struct mail_tally){ known.unread, known.unacked, known.at_ms, known.by,
				     (int)known.kind };
	add_tally(&tally, sum);
}

/* The sender may have left out the prefix of the id. */
static struct mail_tally mail_about(struct overview *w, struct str id)
{
	struct mail_tally sum = { 0 };

	add_mail_about(w, id, &sum);
	add_mail_about(w, find_brief(w->prefix, id), &sum);
	return sum;
}

/*
 * The time from which the bead is ready for any agent (1970 if it is ready now), so that the page
 * needs no rule of its own; null if it is not ready and no time will make it so.
 */
static void put_free_from(struct json *j, const struct bead_row *row)
{
	int64_t from = bead_row_assignable_from(row, STR_NONE);

	json_put_str(j, "free_from",
		     from == ASSIGNABLE_NEVER ? STR_NONE : moment_format(j->out.mem, from));
}

static void overview_put_task(struct overview *w, struct json *j, const struct bead_row *row)
{
	struct mail_tally mail = mail_about(w, row->id);
	struct arena scratch = { 0 };
	const struct value *line = value_read(&scratch, row->line);

	json_put_str(j, "id", row->id);
	json_put_str(j, "title", row->title);
	json_put_word(j, "status", &bead_statuses, row->status);
	json_put_int(j, "priority", row->priority);
	json_put_word(j, "type", &bead_types, row->type);
	json_put_str(j, "assignee", row->assignee);
	put_liveness(w, j, "owner_liveness", row->assignee);
	json_put_moment(j, "lease_ends_at", row->lease);
	json_put_str(j, "parent", row->parent);
	json_put_int(j, "blockers", row->blockers);
	json_put_str(j, "waits_for", row->waits);
	json_put_int(j, "open_children", row->children);
	put_free_from(j, row);
	json_put_moment(j, "created_at", row->created);
	json_put_moment(j, "updated_at", row->updated);
	json_put_int(j, "unread", mail.unread);
	json_put_int(j, "to_accept", mail.unacked);
	overview_put_labels(j, value_find(line, "labels"));
	put_last_act(j, row, line, &mail);
	arena_release(&scratch);
}

/* The tasks that were read, without sessions. */
static void put_tasks(struct overview *w, struct json *j)
{
	json_put_array(j, "tasks");
	for (size_t i = 0; i < w->rows.count; i++) {
		json_object(j);
		overview_put_task(w, j, w->rows.entry[i].value);
		json_end(j);
	}
	json_end(j);
}

struct overview_writing {
	struct overview *w;
	struct json *j;
};

static bool overview_put_row(void *arg, const struct bead_row *row)
{
	const struct overview_writing *to = arg;
	struct call part = call_part(to->w->c);
	struct json one = json_new(&part.mem);

	json_object(&one);
	overview_put_task(to->w, &one, row);
	json_end(&one);
	json_raw(to->j, json_text(&one));
	return !call_part_end(to->w->c, &part, ERR_OK);
}

/* All tasks without an epic are in two lists. */
static enum err put_session_tasks(struct overview *w, struct json *j,
				  const struct overview_session *s, bool closed)
{
	struct overview_writing to = { w, j };
	struct bead_filter shown = {
		.no_epic = !s->epic.p, .limit = w->most, .visit = overview_put_row, .arg = &to
	};
	struct bead_row *none;

	if (closed && !s->epic.p)
		return query_each(w->c, &w->beads.cache, &shown, &none);
	return query_tasks(w->c, &w->beads.cache, s->epic, closed, &shown);
}

static enum err put_session(struct overview *w, struct json *j, const struct overview_session *s)
{
	bool closed = w->all || !s->done;
	int64_t tasks = closed ? s->tasks : s->tasks - s->closed;
	struct bead_row *epic = NULL;
	enum err e = s->epic.p ? cache_find_bead(w->c, &w->beads.cache, s->epic, &epic) : ERR_OK;

	if (e)
		return e;
	json_object(j);
	if (epic) {
		overview_put_task(w, j, epic);
	} else {
		json_put_str(j, "id", STR_NONE);
		json_put_str(j, "title", STR("Without an epic"));
	}
	json_put_int(j, "total", s->tasks);
	json_put_int(j, "closed", s->closed);
	json_put_int(j, "more", w->most && tasks > w->most ? tasks - w->most : 0);
	json_put_array(j, "tasks");
	e = put_session_tasks(w, j, s, closed);
	json_end(j);
	json_end(j);
	return e;
}

/* Counts all mail if the index cannot tell: a record may be too large for it. */
static enum err overview_open_mail(struct overview *w)
{
	if (w->files.home.p && !texts_open_mail(w->c, &w->files, &w->texts))
		return ERR_OK;
	call_forgive(w->c);
	w->texts.db = NULL;
	return count_mail(w->c, &w->files, &w->mail);
}

static enum err put_sessions(struct overview *w, struct json *j)
{
	struct overview_session **list = NULL;
	bool there;
	enum err e = overview_open_beads(w, &there);

	if (!e && there && !(e = read_epics(w)) && !(e = read_tasks(w)))
		e = sort_sessions(w, &list);
	json_put_array(j, "sessions");
	for (size_t i = 0; !e && i < w->sessions.count; i++)
		e = put_session(w, j, list[i]);
	json_end(j);
	if (there)
		beads_close(&w->beads);
	return e;
}

static void overview_put_agents(struct overview *w, struct json *j)
{
	json_put_array(j, "agents");
	for (struct registered *a = w->agents; a; a = a->next) {
		struct mail_waiting mail = mail_waiting(w->c, &w->files, a->id);

		json_object(j);
		json_put_str(j, "agent_id", a->id);
		json_put_str(j, "display_name", a->display);
		json_put_str(j, "role", a->role);
		json_put_str(j, "status", a->status);
		json_put_moment(j, "last_seen_at", a->seen_ms);
		json_put_word(j, "liveness", &liveness_words, overview_liveness(w, a));
		stuck_put(j, w->c, stuck_find(w->stuck, a->id));
		json_put_int(j, "unread", mail.unread);
		json_put_int(j, "to_accept", mail.unacked);
		if (a->machine.p)
			json_put_str(j, "machine", a->machine);
		json_end(j);
	}
	json_end(j);
}

/* Sessions of hosts need not be registered, so they are not among the agents. */
static void overview_put_stuck(struct overview *w, struct json *j)
{
	json_put_array(j, "stuck");
	for (const struct stuck *s = w->stuck; s; s = s->next)
		stuck_encode(j, w->c, s);
	json_end(j);
}

/* A reservation is stale if it has expired, or if its holder is not active. */
static enum err overview_put_reservations(struct overview *w, struct json *j)
{
	struct reservation *r;
	enum err e = reservation_shown(w->c, &w->files, STR_NONE, STR_NONE, true, &r);

	json_put_array(j, "reservations");
	for (; !e && r; r = r->next) {
		void **at = map_find(&w->by_id, r->agent);
		bool expired = r->expires_ms <= w->c->now_ms,
		     gone = !at || overview_liveness(w, *at) != LIVENESS_ACTIVE;

		json_object(j);
		json_put_str(j, "reservation_id", r->id);
		json_put_str(j, "scope", r->scope);
		json_put_str(j, "path", r->key);
		json_put_str(j, "agent_id", r->agent);
		json_put_str(j, "bead_id", r->bead);
		put_liveness(w, j, "owner_liveness", r->agent);
		json_put_moment(j, "created_at", r->created_ms);
		json_put_moment(j, "expires_at", r->expires_ms);
		json_put_int(j, "epoch", r->epoch);
		json_put_bool(j, "expired", expired);
		json_put_bool(j, "stale", expired || gone);
		json_end(j);
	}
	json_end(j);
	return e;
}

static enum err overview_put_incursions(struct overview *w, struct json *j)
{
	enum { MOST = 50 };
	struct protocol_filter filter = { .type = EVENT_INCURSION, .limit = MOST };

	json_name(j, STR("incursions"));
	return protocol_each(w->c, &w->files, &filter, j);
}

/* --- pages --- */

static const enum bead_status page_order[] = { BEAD_IN_PROGRESS, BEAD_OPEN, BEAD_CLOSED };
enum { PAGE_PARTS = sizeof page_order / sizeof *page_order };

/* The place of a row as text: the part of the order, the keys of the order, the id. */
static struct str overview_place(struct arena *mem, size_t part, const struct bead_row *row)
{
	return arena_fmt(mem, "%zu,%lld,%lld,%lld," STR_FMT, part, (long long)row->priority,
			 (long long)row->created, (long long)row->created_n, STR_ARG(row->id));
}

static bool overview_place_parse(struct str text, int64_t *part, struct bead_place *out)
{
	int64_t *number[] = { part, &out->priority, &out->created, &out->created_n };

	for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
		struct str word;

		if (!str_next(&text, ',', &word) || !number_int(word, number[i]))
			return false;
	}
	out->id = text;
	return text.n && *part >= 0 && *part < PAGE_PARTS;
}

static enum err overview_read_page(struct overview *w, struct beads *b,
				   const struct overview_ask *ask, struct str *next)
{
	struct bead_filter part = { .sort = SORT_PRIORITY };
	struct bead_row *row = NULL, *last = NULL;
	int64_t at = 0, left = ask->limit;
	enum err e = ERR_OK;

	*next = STR_NONE;
	if (ask->after.p && !overview_place_parse(ask->after, &at, &part.after)) {
		call_fail(w->c, ERR_INVALID_INPUT, "'" STR_FMT "' is not the end of a page",
			  STR_ARG(ask->after));
		return call_step(w->c, "Use 'next' of the page before, or leave 'after' out.");
	}
	for (; !e && left && at < PAGE_PARTS; at++, part.after = (struct bead_place){ 0 }) {
		part.statuses = 1u << page_order[at];
		part.limit = left;
		e = query_each(w->c, &b->cache, &part, &row);
		for (; !e && row; row = row->next, left--) {
			*map_put(&w->rows, row->id) = last = row;
			*next = STR_NONE;
		}
		if (!left)
			*next = overview_place(&w->c->mem, (size_t)at, last);
	}
	return e;
}

static enum err encode_page(struct overview *w, const struct overview_ask *ask, struct json *j)
{
	struct str next = STR_NONE;
	bool there;
	enum err e = overview_open_beads(w, &there);

	if (!e && there) {
		e = overview_read_page(w, &w->beads, ask, &next);
		beads_close(&w->beads);
	}
	if (e)
		return e;
	json_object(j);
	json_put_moment(j, "at", w->c->now_ms);
	put_tasks(w, j);
	json_put_str(j, "next", next);
	json_end(j);
	return ERR_OK;
}

static enum err encode_mail(struct overview *w, struct json *j)
{
	enum err e = count_mail(w->c, &w->files, &w->mail);

	if (e)
		return e;
	json_object(j);
	json_put_moment(j, "at", w->c->now_ms);
	json_put_array(j, "mail");
	for (size_t i = 0; i < w->mail.beads.count; i++) {
		const struct mail_tally *t = w->mail.beads.entry[i].value;

		json_object(j);
		json_put_str(j, "bead_id", w->mail.beads.entry[i].key);
		json_put_int(j, "unread", t->unread);
		json_put_int(j, "to_accept", t->unacked);
		json_put_object(j, "last_act");
		json_put_moment(j, "at", t->at);
		json_put_str(j, "by", t->by);
		json_put_str(j, "what", str_of(category_act(t->category)));
		json_end(j);
		json_end(j);
	}
	json_end(j);
	json_end(j);
	return ERR_OK;
}

/* Only the given tasks, and those that depend on them. */
static enum err encode_some(struct overview *w, const struct overview_ask *ask, struct json *j)
{
	enum err e = read_some(w, ask);

	json_object(j);
	json_put_moment(j, "at", w->c->now_ms);
	put_tasks(w, j);
	json_end(j);
	return e;
}

enum err overview_encode(struct call *c, const struct overview_ask *ask, struct json *j)
{
	struct overview w = { .c = c,
			      .all = ask->all,
			      .most = ask->most,
			      .by_id.mem = &c->mem,
			      .rows.mem = &c->mem,
			      .sessions.mem = &c->mem };
	enum err e;

	if ((e = liveness_check(c)) || (e = agent_files_open(c, AGENTS_READ, &w.files)) ||
	    (e = registry_each(c, &w.files, STR_NONE, STR_NONE, &w.agents)))
		return e;
	for (struct registered *a = w.agents; a; a = a->next)
		*map_put(&w.by_id, a->id) = a;
	if (ask->ids)
		return encode_some(&w, ask, j);
	if (ask->limit > 0)
		return encode_page(&w, ask, j);
	if (ask->mail)
		return encode_mail(&w, j);
	w.stuck = stuck_shown(c);
	json_object(j);
	json_put_moment(j, "at", c->now_ms);
	if (!ask->brief) {
		e = overview_open_mail(&w);
		e = e ? e : put_sessions(&w, j);
		text_db_close(&w.texts);
	}
	if (e || w.e)
		return e ? e : w.e;
	overview_put_agents(&w, j);
	overview_put_stuck(&w, j);
	if ((e = overview_put_reservations(&w, j)) || (e = overview_put_incursions(&w, j)))
		return e;
	json_end(j);
	return ERR_OK;
}
