/* Reads all that a brief has, from vybe.db, the beads, the agents' files and the board. */
#include "continuity/brief.h"

#include <unistd.h>

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "continuity/memory.h"
#include "store/db/bead_query.h"
#include "store/vybe/vybe_deliveries.h"

enum {
	EVENTS = 20,
	NOTES = 10,
	LOOK_BACK = 2000, /* events that are searched where there is no task */
	MEMORIES = 100,   /* of each scope */
	UNREAD = 50,      /* messages of each name */
	NEXT = 5,
};

static enum err memory_append(struct call *c, struct continuity *k, int scope, struct str id,
			      struct memory_row **out)
{
	struct memory_where where = { scope, id };

	while (*out)
		out = &(*out)->next;
	return memory_each(c, k, &where, MEMORIES, out);
}

/* Pinned memory first; otherwise the order stays. */
static void memory_sort_pinned(struct memory_row **list)
{
	struct memory_row *pinned = NULL, **p = &pinned, *rest = NULL, **r = &rest;

	for (struct memory_row *m = *list; m; m = m->next) {
		struct memory_row ***tail = m->pinned ? &p : &r;

		**tail = m;
		*tail = &m->next;
	}
	*r = NULL;
	*p = rest;
	*list = pinned;
}

static enum err brief_read_memory(struct call *c, struct continuity *k, struct brief *b)
{
	enum err e = ERR_OK;

	if (b->task)
		e = memory_append(c, k, SCOPE_TASK, b->task->id, &b->memory);
	if (!e && c->actor.n)
		e = memory_append(c, k, SCOPE_AGENT, c->actor, &b->memory);
	if (!e)
		e = memory_append(c, k, SCOPE_PROJECT, b->project, &b->memory);
	if (!e)
		e = memory_append(c, k, SCOPE_GLOBAL, STR(""), &b->memory);
	memory_sort_pinned(&b->memory);
	return e;
}

/* The kinds of events that hooks and commands log by themselves, now and in stores of older
 * versions. Any other kind is a note that an agent wrote for later. Reasoning is a note too, but
 * it is queried separately. */
static const char *const not_progress[] = {
	"agent_focus",
	"artifact_added",
	"checkpoint",
	"dep_added",
	"dep_removed",
	"events_summary",
	"host_event",
	"memory_delete",
	"memory_deleted",
	"memory_gc",
	"memory_pinned",
	"memory_unpinned",
	"memory_upserted",
	"reasoning",
	"session_start",
	"task_assigned",
	"task_created",
	"task_deleted",
	"task_dependency_added",
	"task_dependency_removed",
	"task_priority",
	"task_priority_changed",
	"task_status",
	"task_updated",
	"tool_failure",
	"tool_success",
	"user_prompt",
	NULL,
};

static size_t event_count(const struct event_row *e)
{
	size_t n = 0;

	for (; e; e = e->next)
		n++;
	return n;
}

/* The first `an` and `bn` events of two disjoint lists, newest first. */
static struct event_row *event_merge(struct call *c, const struct event_row *a, size_t an,
				     const struct event_row *b, size_t bn)
{
	struct event_row *first = NULL, **tail = &first;

	while ((a && an) || (b && bn)) {
		bool from_a = a && an && (!b || !bn || a->id > b->id);
		const struct event_row *e = from_a ? a : b;

		*tail = arena_new(&c->mem, struct event_row);
		**tail = *e;
		(*tail)->next = NULL;
		tail = &(*tail)->next;
		if (from_a)
			a = a->next, an--;
		else
			b = b->next, bn--;
	}
	return first;
}

/*
 * Notes are queried separately from the log, archived ones included, so that no number of logged
 * events hides them. Reasoning and other notes share the places; neither displaces the other.
 */
static enum err brief_read_notes(struct call *c, struct continuity *k, struct event_filter of,
				 struct brief *b)
{
	struct event_row *others;
	size_t thoughts, rest;
	enum err e;

	of.archived = true;
	of.limit = NOTES;
	of.kind = STR("reasoning");
	if ((e = vybe_event_each(c, &k->db, &of, &b->reasoning)))
		return e;
	of.kind = STR_NONE;
	of.without = not_progress;
	if ((e = vybe_event_each(c, &k->db, &of, &others)))
		return e;
	thoughts = event_count(b->reasoning);
	rest = event_count(others);
	if (rest > NOTES / 2)
		rest = thoughts > NOTES / 2 ? NOTES / 2 : NOTES - thoughts;
	b->notes = event_merge(c, b->reasoning, NOTES - rest, others, rest);
	return ERR_OK;
}

static enum err brief_read_events(struct call *c, struct continuity *k, struct brief *b)
{
	struct event_filter of = { .limit = EVENTS };
	struct event_row *latest, **at = &latest;
	size_t room;
	enum err e;

	if (b->task)
		of.task = b->task->id;
	else if ((e = vybe_event_last(c, &k->db, &of.since)))
		return e;
	of.since = of.since > LOOK_BACK ? of.since - LOOK_BACK : 0;
	if ((e = brief_read_notes(c, k, of, b)) || (e = vybe_event_each(c, &k->db, &of, &latest)))
		return e;
	while (*at)
		if (event_listed(b->notes, (*at)->id))
			*at = (*at)->next;
		else
			at = &(*at)->next;
	room = EVENTS - event_count(b->notes);
	b->events = event_merge(c, b->notes, NOTES, latest, room);
	return ERR_OK;
}

static enum err brief_read_unlocks(struct call *c, struct beads *beads, struct brief *b)
{
	struct task **tail = &b->unlocks;
	struct link *link = NULL;
	struct bead_row *row;
	enum err e = query_links(c, &beads->cache, b->task->id, SIDE_IN, false, &link);

	for (; !e && link; link = link->next) {
		if (!edge_is(link->kind, EDGE_BLOCKS) || link->bead->status != BEAD_OPEN ||
		    link->bead->blockers != 1 ||
		    (e = cache_find_bead(c, &beads->cache, link->bead->id, &row)) || !row)
			continue;
		*tail = arena_new(&c->mem, struct task);
		e = task_of_row(c, beads, row, *tail);
		tail = &(*tail)->next;
	}
	*tail = NULL;
	return e;
}

static enum err brief_read_bead(struct call *c, struct beads *beads, struct brief *b)
{
	struct bead_row *row;
	enum err e = cache_find_bead(c, &beads->cache, b->task->id, &row);

	if (!e && row)
		b->bead = value_read(&c->mem, row->line);
	return e;
}

const struct value *brief_comment(const struct brief *b, size_t n)
{
	const struct value *notes = b->bead ? value_find(b->bead, "notes") : NULL;

	return notes && n < notes->count && n < NOTES ? &notes->item[notes->count - 1 - n] : NULL;
}

static enum err brief_read_tasks(struct call *c, struct continuity *k, struct brief *b)
{
	struct task **at = &b->pipeline;
	struct beads *beads;
	int count = 0;
	enum err e;

	if ((e = continuity_tasks(c, k, &beads)) || (e = task_count(c, beads, b->counts)))
		return e;
	e = task_next(c, beads, b->project, NEXT + 1, &b->pipeline);
	while (!e && *at) {
		if ((b->task && str_eq((*at)->id, b->task->id)) || count == NEXT)
			*at = (*at)->next;
		else
			at = &(*at)->next, count++;
	}
	if (e || !b->task || !beads || (e = brief_read_bead(c, beads, b)))
		return e;
	return brief_read_unlocks(c, beads, b);
}

static void brief_read_posts(struct call *c, struct continuity *k, struct str name, struct brief *b)
{
	struct vybe_delivery shown;
	struct message **tail = &b->posts;
	int64_t last;

	while (*tail)
		tail = &(*tail)->next;
	if (!vybe_delivery_find(c, &k->db, name, &shown))
		*tail = posts_to(c, name, shown.post, &last);
	call_forgive(c);
}

static void brief_read_mail(struct call *c, struct agent_files *f, struct str name, struct brief *b)
{
	struct mail_filter fresh = { .state = MAIL_UNREAD, .limit = UNREAD };
	struct mail_totals all = { 0 };
	struct mail **tail = &b->mail, **unread = &b->unread, *m;

	while (*tail)
		tail = &(*tail)->next;
	while (*unread)
		unread = &(*unread)->next;
	if (registry_id_valid(name) && !mail_totals(c, f, name, STR_NONE, &all))
		*tail = all.unacked;
	if (!registry_id_valid(name) || mail_inbox(c, f, name, &fresh, &m, NULL))
		m = NULL;
	for (; m; m = m->next)
		if (!m->requires_ack) {
			*unread = m;
			unread = &m->next;
		}
	*unread = NULL;
	call_forgive(c);
}

/* Only a registered agent has mail and reservations. Mail to the sessions that the agent continues
 * is the agent's, too. */
static void brief_read_agent(struct call *c, struct continuity *k, struct brief *b)
{
	struct agent_files files;
	struct str project = c->project, *name;
	size_t count;

	if (!c->actor.n || sessions_names(c, k, &name, &count)) {
		call_forgive(c);
		return;
	}
	for (size_t i = 0; i < count; i++)
		brief_read_posts(c, k, name[i], b);
	if (!agent_files_open(c, AGENTS_READ, &files) && files.home.p) {
		for (size_t i = 0; i < count; i++)
			brief_read_mail(c, &files, name[i], b);
		if (registry_id_valid(c->actor) &&
		    reservation_each(c, &files, c->actor, STR_NONE, &b->reserved))
			b->reserved = NULL;
	}
	c->project = project;
	call_forgive(c);
}

/* The store's folder, if a read found that this process may not write to it. */
static struct str brief_find_protected(struct call *c, const struct continuity *k)
{
	struct str home = path_parent(k->path);

	if (!k->common.p || k->db.writing || !access(arena_cstr(&c->mem, home), W_OK) ||
	    file_missing())
		return STR_NONE;
	return home;
}

enum err brief_read(struct call *c, struct continuity *k, struct brief *b)
{
	enum err e;

	if ((e = brief_read_memory(c, k, b)) || (e = brief_read_tasks(c, k, b)) ||
	    (e = brief_read_events(c, k, b)))
		return e;
	if (b->task && (e = vybe_artifact_each(c, &k->db, b->task->id, EVENTS, &b->artifacts)))
		return e;
	brief_read_agent(c, k, b);
	b->protected = brief_find_protected(c, k);
	return ERR_OK;
}

/* --- JSON --- */

static void brief_put_tasks(struct json *j, const char *key, const struct task *t)
{
	json_put_array(j, key);
	for (; t; t = t->next) {
		json_object(j);
		json_put_str(j, "id", t->id);
		json_put_str(j, "title", t->title);
		json_put_int(j, "priority", t->priority);
		json_end(j);
	}
	json_end(j);
}

static void brief_put_events(struct json *j, const char *key, const struct event_row *e)
{
	json_put_array(j, key);
	for (; e; e = e->next)
		event_row_encode(j, e);
	json_end(j);
}

static void brief_put_mail(struct json *j, const char *key, const struct mail *m)
{
	json_put_array(j, key);
	for (; m; m = m->next)
		mail_encode(j, m);
	json_end(j);
}

static void brief_put_posts(struct json *j, const struct message *m)
{
	json_put_array(j, "posts");
	for (; m; m = m->next) {
		json_object(j);
		json_put_int(j, "id", m->id);
		json_put_str(j, "from_agent", m->from_agent);
		json_put_str(j, "content", m->content);
		json_put_moment(j, "created_at", m->created_at);
		json_end(j);
	}
	json_end(j);
}

static void brief_put_comments(struct json *j, const struct brief *b)
{
	const struct value *note;

	json_put_array(j, "comments");
	for (size_t i = 0; (note = brief_comment(b, i)); i++) {
		struct stamp at = { 0 };

		stamp_decode(value_find(note, "at"), &at);
		json_object(j);
		json_put_str(j, "id", value_str(note, "id"));
		json_put_str(j, "author", value_str(note, "author"));
		json_put_str(j, "text", value_str(note, "content"));
		json_put_moment(j, "created_at", at.ms);
		json_end(j);
	}
	json_end(j);
}

void brief_encode(struct call *c, const struct brief *b, struct str prompt, struct json *j)
{
	json_object(j);
	json_key(j, STR("task"));
	if (b->task)
		task_encode(j, b->task);
	else
		json_null(j);
	json_put_array(j, "relevant_memory");
	for (const struct memory_row *m = b->memory; m; m = m->next)
		memory_row_encode(j, m);
	json_end(j);
	brief_put_events(j, "recent_events", b->events);
	json_put_array(j, "artifacts");
	for (const struct artifact_row *a = b->artifacts; a; a = a->next)
		artifact_row_encode(j, a);
	json_end(j);
	brief_put_events(j, "prior_reasoning", b->reasoning);
	json_put_int(j, "approx_tokens", (int64_t)(prompt.n + 3) / 4);
	json_put_object(j, "counts");
	for (int i = 0; i < TASK_STATUSES; i++)
		json_put_int(j, names_word(&task_statuses, i), b->counts[i]);
	json_end(j);
	brief_put_tasks(j, "pipeline", b->pipeline);
	brief_put_tasks(j, "unlocks", b->unlocks);
	brief_put_mail(j, "mail", b->mail);
	brief_put_mail(j, "unread_mail", b->unread);
	json_put_array(j, "reservations");
	for (const struct reservation *r = b->reserved; r; r = r->next)
		reservation_encode(j, c, r);
	json_end(j);
	brief_put_posts(j, b->posts);
	brief_put_comments(j, b);
	json_end(j);
}
