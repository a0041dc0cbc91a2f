#include "continuity/brief.h"

#include "base/id.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/quote.h"
#include "beads/find.h"
#include "continuity/memory.h"
#include "store/db/bead_query.h"
#include "store/db/vybe_deliveries.h"

enum {
	EVENTS = 20,
	NOTES = 10,
	LOOK_BACK = 2000, /* events, where they are of no task: so far back */
	MEMORIES = 100,   /* of each scope */
	UNREAD = 50,      /* messages of each name */
	SHOWN = 5,        /* of each sort of message, in the prompt */
	NEXT = 5,
	LINE = 100,       /* bytes: with less left, nothing more is said */
	ROOM = 900,       /* bytes that notes, and memory, have for themselves */
	BYTES = 1500 * 4, /* a token is about four bytes; that is also an upper bound for most */
};

/* --- reading --- */

static enum err add_memory(struct call *c, struct continuity *k, int scope, struct str id,
			   struct memory_row **out)
{
	struct memory_where where = { scope, id };

	while (*out)
		out = &(*out)->next;
	return memory_each(c, k, &where, MEMORIES, out);
}

/* The pinned ones first; among them and among the others the order stays. */
static void pinned_first(struct memory_row **list)
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
		e = add_memory(c, k, SCOPE_TASK, b->task->id, &b->memory);
	if (!e && c->actor.n)
		e = add_memory(c, k, SCOPE_AGENT, c->actor, &b->memory);
	if (!e)
		e = add_memory(c, k, SCOPE_PROJECT, b->project, &b->memory);
	if (!e)
		e = add_memory(c, k, SCOPE_GLOBAL, STR(""), &b->memory);
	pinned_first(&b->memory);
	return e;
}

/* What hooks and commands log by themselves, now and in stores of older versions. Everything else
 * somebody wrote down, to be read later: progress, of whatever kind, and reasoning, which is
 * asked for apart. */
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

static size_t count_events(const struct event_row *e)
{
	size_t n = 0;

	for (; e; e = e->next)
		n++;
	return n;
}

/* The first `an` and `bn` of two lists that have nothing in common, newest first. */
static struct event_row *merge_events(struct call *c, const struct event_row *a, size_t an,
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

static bool has_event(const struct event_row *list, int64_t id)
{
	while (list && list->id != id)
		list = list->next;
	return list;
}

/*
 * Notes are asked for by themselves, also those that are archived: however much was logged since,
 * they are not lost behind it. Neither sort of notes displaces the other.
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
	thoughts = count_events(b->reasoning);
	rest = count_events(others);
	if (rest > NOTES / 2)
		rest = thoughts > NOTES / 2 ? NOTES / 2 : NOTES - thoughts;
	b->notes = merge_events(c, b->reasoning, NOTES - rest, others, rest);
	return ERR_OK;
}

static enum err read_events(struct call *c, struct continuity *k, struct brief *b)
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
		if (has_event(b->notes, (*at)->id))
			*at = (*at)->next;
		else
			at = &(*at)->next;
	room = EVENTS - count_events(b->notes);
	b->events = merge_events(c, b->notes, NOTES, latest, room);
	return ERR_OK;
}

static enum err read_unlocks(struct call *c, struct beads *beads, struct brief *b)
{
	struct task **tail = &b->unlocks;
	struct link *link = NULL;
	struct bead_row *row;
	enum err e = query_links(c, &beads->cache, b->task->id, SIDE_IN, &link);

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
	return e || !b->task || !beads ? e : read_unlocks(c, beads, b);
}

static void read_posts(struct call *c, struct continuity *k, struct str name, struct brief *b)
{
	struct vybe_delivery shown;
	struct message **tail = &b->posts;
	int64_t last;

	while (*tail)
		tail = &(*tail)->next;
	if (!vybe_delivery_find(c, &k->db, name, &shown))
		*tail = posts_to(c, name, shown.post, &last);
	c->code = ERR_OK;
}

static void read_mail(struct call *c, struct agent_files *f, struct str name, struct brief *b)
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
	c->code = ERR_OK;
}

/* Mail and reservations belong to an agent that is registered; others have none. What was written
 * to the sessions that it continues is for the agent, too. */
static void brief_read_agent(struct call *c, struct continuity *k, struct brief *b)
{
	struct agent_files files;
	struct str project = c->project, *name;
	size_t count;

	if (!c->actor.n || sessions_names(c, k, &name, &count)) {
		c->code = ERR_OK;
		return;
	}
	for (size_t i = 0; i < count; i++)
		read_posts(c, k, name[i], b);
	if (!agent_files_open(c, AGENTS_READ, &files) && files.home.p) {
		for (size_t i = 0; i < count; i++)
			read_mail(c, &files, name[i], b);
		if (registry_id_valid(c->actor) &&
		    reservation_each(c, &files, c->actor, STR_NONE, &b->reserved))
			b->reserved = NULL;
	}
	c->project = project;
	c->code = ERR_OK;
}

enum err brief_read(struct call *c, struct continuity *k, struct brief *b)
{
	enum err e;

	if ((e = brief_read_memory(c, k, b)) || (e = brief_read_tasks(c, k, b)) ||
	    (e = read_events(c, k, b)))
		return e;
	if (b->task && (e = vybe_artifact_each(c, &k->db, b->task->id, EVENTS, &b->artifacts)))
		return e;
	brief_read_agent(c, k, b);
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
	json_put_array(j, "recent_events");
	for (const struct event_row *e = b->events; e; e = e->next)
		event_row_encode(j, e);
	json_end(j);
	json_put_array(j, "artifacts");
	for (const struct artifact_row *a = b->artifacts; a; a = a->next)
		artifact_row_encode(j, a);
	json_end(j);
	json_put_array(j, "prior_reasoning");
	for (const struct event_row *e = b->reasoning; e; e = e->next)
		event_row_encode(j, e);
	json_end(j);
	json_put_int(j, "approx_tokens", (int64_t)(prompt.n + 3) / 4);
	json_put_object(j, "counts");
	for (int i = 0; i < TASK_STATUSES; i++)
		json_put_int(j, names_word(&task_statuses, i), b->counts[i]);
	json_end(j);
	brief_put_tasks(j, "pipeline", b->pipeline);
	brief_put_tasks(j, "unlocks", b->unlocks);
	json_put_array(j, "mail");
	for (const struct mail *m = b->mail; m; m = m->next)
		mail_encode(j, m);
	json_end(j);
	json_put_array(j, "unread_mail");
	for (const struct mail *m = b->unread; m; m = m->next)
		mail_encode(j, m);
	json_end(j);
	json_put_array(j, "reservations");
	for (const struct reservation *r = b->reserved; r; r = r->next)
		reservation_encode(j, c, r);
	json_end(j);
	json_put_array(j, "posts");
	for (const struct message *m = b->posts; m; m = m->next) {
		json_object(j);
		json_put_int(j, "id", m->id);
		json_put_str(j, "from_agent", m->from_agent);
		json_put_str(j, "content", m->content);
		json_put_moment(j, "created_at", m->created_at);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

/* --- the prompt --- */

/* A part is there as a whole, or as far as it fits, or not at all. */
struct prompt {
	struct buf out;
	size_t left;
	size_t kept;      /* of that, for parts that come later */
	struct str title; /* of the lines that follow, if there is room for one; or absent */
};

/* Whole lines. */
static void brief_add(struct prompt *p, struct str text)
{
	struct str line;

	while (text.n && str_next(&text, '\n', &line)) {
		size_t head = p->title.p ? p->title.n + 1 : 0;

		if (head + line.n + 1 + p->kept > p->left)
			break;
		if (p->title.p)
			buf_fmt(&p->out, STR_FMT "\n", STR_ARG(p->title));
		buf_put(&p->out, line);
		buf_char(&p->out, '\n');
		p->left -= head + line.n + 1;
		p->title = STR_NONE;
	}
}

/* Our own words; a title that nothing followed is forgotten. */
#define SAY(p, ...) ((p)->title = STR_NONE, brief_add((p), arena_fmt(&c->mem, __VA_ARGS__)))

/* What others wrote stands on one line, and is never longer than a few. */
#define QUOTE(p, columns, ...) \
	brief_add((p), quote_line(&c->mem, arena_fmt(&c->mem, __VA_ARGS__), (columns)))

static bool has_room(const struct prompt *p)
{
	return p->left > LINE + p->kept;
}

#define TITLE(p, ...) ((p)->title = arena_fmt(&c->mem, __VA_ARGS__))

static void say_task(struct call *c, struct prompt *p, const struct task *t)
{
	if (!t) {
		SAY(p, "No task is waiting for you.\n");
		return;
	}
	SAY(p, "Your task: " STR_FMT " (%s, priority %lld)\n", STR_ARG(t->id),
	    names_word(&task_statuses, (int)t->status), (long long)t->priority);
	QUOTE(p, 200, STR_FMT, STR_ARG(t->title));
	if (t->blocked_reason.p) {
		TITLE(p, "It is blocked:");
		QUOTE(p, 200, STR_FMT, STR_ARG(t->blocked_reason));
	}
	if (t->description.n) {
		TITLE(p, "Its description:");
		QUOTE(p, 800, STR_FMT, STR_ARG(t->description));
	}
}

static void say_commands(struct call *c, struct prompt *p, const struct task *t)
{
	if (!t)
		return;
	SAY(p,
	    "Commands, each with a new --request-id:\n"
	    "  begin: vybe task begin --agent " STR_FMT " --request-id REQ --id " STR_FMT "\n"
	    "  done:  vybe task complete --agent " STR_FMT " --request-id REQ --id " STR_FMT
	    " --outcome done --summary \"...\"\n"
	    "  stuck: vybe task complete --agent " STR_FMT " --request-id REQ --id " STR_FMT
	    " --outcome blocked --summary \"...\"\n",
	    STR_ARG(c->actor), STR_ARG(t->id), STR_ARG(c->actor), STR_ARG(t->id), STR_ARG(c->actor),
	    STR_ARG(t->id));
	SAY(p,
	    "  log:   vybe push --agent " STR_FMT
	    " --request-id REQ --json '{\"task_id\":\"" STR_FMT
	    "\",\"event\":{\"kind\":\"progress\",\"message\":\"...\"}}'\n"
	    "  think: the same with \"kind\":\"reasoning\"\n"
	    "  save:  vybe memory set --agent " STR_FMT
	    " --request-id REQ --key ... --value ... --scope task --scope-id " STR_FMT "\n",
	    STR_ARG(c->actor), STR_ARG(t->id), STR_ARG(c->actor), STR_ARG(t->id));
}

/* An id may come from a file that somebody has edited: only one that looks like ours is put into
 * a command. */
static struct str mail_command(struct call *c, const struct mail *m)
{
	if (!id_is_minted(m->id, "msg") || !registry_id_valid(m->to))
		return STR("bb agent inbox");
	return arena_fmt(&c->mem, "bb agent %s --agent " STR_FMT " --message " STR_FMT,
			 m->requires_ack ? "ack" : "read", STR_ARG(m->to), STR_ARG(m->id));
}

static void say_mail(struct call *c, struct prompt *p, const char *title, const struct mail *m)
{
	int64_t more = 0;

	for (int i = 0; m; m = m->next, i++) {
		struct str command = mail_command(c, m);

		if (i >= SHOWN) {
			more++;
			continue;
		}
		TITLE(p, "%s (" STR_FMT "):", title, STR_ARG(command));
		QUOTE(p, 240, "from " STR_FMT " about " STR_FMT ": " STR_FMT, STR_ARG(m->from),
		      STR_ARG(m->bead), STR_ARG(m->subject));
		QUOTE(p, 200, STR_FMT, STR_ARG(m->body));
	}
	if (more)
		SAY(p, "%s, %lld more: bb agent inbox --agent " STR_FMT "\n", title,
		    (long long)more, STR_ARG(c->actor));
}

static void say_agent(struct call *c, struct prompt *p, const struct brief *b)
{
	int left = SHOWN;

	say_mail(c, p, "Mail to accept", b->mail);
	say_mail(c, p, "Unread mail", b->unread);
	for (const struct message *m = b->posts; m && left--; m = m->next) {
		TITLE(p, "On the board, to you (bb message %lld):", (long long)m->id);
		QUOTE(p, 240, "from " STR_FMT ": " STR_FMT, STR_ARG(m->from_agent),
		      STR_ARG(m->content));
	}
	for (const struct reservation *r = b->reserved; r && has_room(p); r = r->next) {
		TITLE(p, "You have reserved until %s%s:", moment_format(&c->mem, r->expires_ms).p,
		      r->expires_ms <= c->now_ms ? ", which is over" : "");
		QUOTE(p, 120, STR_FMT, STR_ARG(r->scope));
	}
}

/* What is pinned is said before most; the rest as far as there is room. */
static void say_memory(struct call *c, struct prompt *p, const struct brief *b, bool pinned)
{
	TITLE(p, "%s", pinned ? "To be remembered first:" : "Remembered:");
	for (const struct memory_row *m = b->memory; m && has_room(p); m = m->next)
		if (m->pinned == pinned)
			QUOTE(p, 320, STR_FMT " " STR_FMT ": " STR_FMT,
			      STR_ARG(m->kind.p ? m->kind : m->scope), STR_ARG(m->key),
			      STR_ARG(m->value));
}

/* Without those that were said before. */
static void say_events(struct call *c, struct prompt *p, const char *title,
		       const struct event_row *e, const struct event_row *said)
{
	int left = NOTES;

	TITLE(p, "%s", title);
	for (; e && left && has_room(p); e = e->next) {
		if (has_event(said, e->id))
			continue;
		left--;
		QUOTE(p, 200, STR_FMT " " STR_FMT ": " STR_FMT, STR_ARG(e->agent), STR_ARG(e->kind),
		      STR_ARG(e->message));
	}
}

static void say_tasks(struct call *c, struct prompt *p, const char *title, const struct task *t)
{
	TITLE(p, "%s", title);
	for (; t; t = t->next)
		QUOTE(p, 140, STR_FMT " " STR_FMT, STR_ARG(t->id), STR_ARG(t->title));
}

/* Names of sessions are made by us, of letters, digits and dashes. */
static void say_adopted(struct call *c, struct prompt *p, const struct adoption *a)
{
	if (!a)
		return;
	SAY(p, "You continue the session " STR_FMT ", " STR_FMT ".\n", STR_ARG(a->from),
	    STR_ARG(a->why));
	TITLE(p, "Adopted from it, yours from now on:");
	for (const struct task *t = a->tasks; t; t = t->next)
		QUOTE(p, 140, "task " STR_FMT " " STR_FMT, STR_ARG(t->id), STR_ARG(t->title));
	for (const struct reservation *r = a->reserved; r; r = r->next)
		QUOTE(p, 140, "reservation of " STR_FMT, STR_ARG(r->scope));
}

static void say_others(struct call *c, struct prompt *p, const struct other_session *o, bool over)
{
	TITLE(p, "%s",
	      over ? "Left by other sessions that are over; a new session adopts it:" :
		     "Other sessions are at work here; leave their tasks to them:");
	for (; o; o = o->next)
		for (const struct task *t = o->over == over ? o->task : NULL; t; t = t->next)
			QUOTE(p, 140, STR_FMT ": " STR_FMT " " STR_FMT, STR_ARG(o->agent),
			      STR_ARG(t->id), STR_ARG(t->title));
}

struct str brief_prompt(struct call *c, const struct brief *b)
{
	struct prompt p = { .out.mem = &c->mem, .left = BYTES };
	size_t notes = b->notes ? ROOM : 0, memory = b->memory ? ROOM : 0;

	SAY(&p, "%s", QUOTE_RULE);
	say_adopted(c, &p, b->adopted);
	say_task(c, &p, b->task);
	say_commands(c, &p, b->task);
	p.kept = notes + memory;
	say_others(c, &p, b->others, false);
	say_others(c, &p, b->others, true);
	say_agent(c, &p, b);
	say_memory(c, &p, b, true);
	p.kept = memory;
	say_events(c, &p, "Notes of earlier sessions:", b->notes, NULL);
	p.kept = 0;
	say_memory(c, &p, b, false);
	say_tasks(c, &p, "Completing it unlocks:", b->unlocks);
	say_events(c, &p, "Recent activity:", b->events, b->notes);
	say_tasks(c, &p, "What comes next:", b->pipeline);
	return buf_str(&p.out);
}
