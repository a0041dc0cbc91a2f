#include "continuity/sessions.h"

#include "agents/session.h"
#include "base/id.h"
#include "base/system/path.h"
#include "base/system/process.h"
#include "continuity/task_events.h"
#include "store/place.h"
#include "store/vybe/vybe_sessions.h"

enum { SESSIONS = 20, NAMES = 8, OTHERS = 3 };

static const int64_t kept_ms = INT64_C(30) * 24 * 3600 * 1000;

/* Worktrees of one repository are different workspaces: each has its own files. */
static struct str session_workspace(struct call *c)
{
	struct repository repo;

	if (place_repository(c, c->dir, &repo) || !repo.tree.p) {
		call_forgive(c);
		return path_real(&c->mem, c->dir);
	}
	return path_real(&c->mem, repo.tree);
}

enum err sessions_note(struct call *c, struct continuity *k, enum session_sign sign)
{
	struct ancestors now = process_ancestors(&c->mem), before;
	struct host_session s;
	enum err e = vybe_session_find(c, &k->db, c->actor, &s);

	if (e || (s.ended && sign != SESSION_WORKS))
		return e;
	before = ancestors_decode(&c->mem, s.line);
	s.host = ancestors_common(&now, &before);
	s.line = ancestors_encode(&c->mem, &now);
	s.workspace = session_workspace(c);
	s.ended = sign == SESSION_ENDS;
	s.heir = STR_NONE;
	if (c->now_ms > s.seen_ms)
		s.seen_ms = c->now_ms;
	e = vybe_session_put(c, &k->db, &s);
	return e || !s.ended ? e : vybe_session_collect(c, &k->db, c->now_ms - kept_ms);
}

/* --- what a session holds --- */

struct holdings {
	struct host_session *session;
	struct task *tasks;           /* in progress, the first claimed first */
	struct reservation *reserved; /* expired or not */
	int64_t seen_ms;              /* through any program */
	int64_t until_ms;             /* when the last of them expires; 0: there are none */
};

/* Insertion sort, because a session has few. */
static struct task *task_cmp_claimed(struct task *list)
{
	struct task *sorted = NULL, *next;

	for (; list; list = next) {
		struct task **at = &sorted;

		next = list->next;
		while (*at && stamp_cmp((*at)->claimed, list->claimed) <= 0)
			at = &(*at)->next;
		list->next = *at;
		*at = list;
	}
	return sorted;
}

static enum err sessions_read_tasks(struct call *c, struct continuity *k, struct holdings *h)
{
	struct task_filter claimed = { .status = TASK_IN_PROGRESS,
				       .priority = INT64_MIN,
				       .assignee = h->session->agent };
	struct beads *b;
	enum err e = continuity_tasks(c, k, &b);

	if (e || (e = task_each(c, b, &claimed, true, &h->tasks)))
		return e;
	h->tasks = task_cmp_claimed(h->tasks);
	for (const struct task *t = h->tasks; t; t = t->next)
		if (t->lease > h->until_ms)
			h->until_ms = t->lease;
	return ERR_OK;
}

static void holdings_read_registered(struct call *c, struct holdings *h)
{
	struct str project = c->project, agent = h->session->agent;
	struct agent_files files;
	struct registered *a;

	if (registry_id_valid(agent) && !agent_files_open(c, AGENTS_READ, &files) && files.home.p &&
	    !registry_find(c, &files, agent, &a)) {
		if (a->seen_ms > h->seen_ms)
			h->seen_ms = a->seen_ms;
		if (reservation_each_held(c, &files, agent, STR_NONE, &h->reserved))
			h->reserved = NULL;
	}
	for (const struct reservation *r = h->reserved; r; r = r->next)
		if (r->expires_ms > h->until_ms)
			h->until_ms = r->expires_ms;
	c->project = project;
	call_forgive(c);
}

static enum err holdings_read(struct call *c, struct continuity *k, struct host_session *s,
			      struct holdings *out)
{
	*out = (struct holdings){ .session = s, .seen_ms = s->seen_ms };
	holdings_read_registered(c, out);
	return sessions_read_tasks(c, k, out);
}

/* --- is it over? --- */

/*
 * The process whose end is the end of the session; 0: unknown. A process that is also an ancestor
 * of this session, such as a terminal or a host of several sessions, says nothing about the other
 * one.
 */
static int64_t session_host(struct call *c, const struct host_session *s,
			    const struct ancestors *own)
{
	struct ancestors line = ancestors_decode(&c->mem, s->line);

	return str_eq(line.space, own->space) && !ancestors_have(own, s->host) ? s->host : 0;
}

/* Why the session is over; absent if it may still be running. */
static struct str session_why_over(struct call *c, const struct holdings *h,
				   const struct ancestors *own)
{
	const struct host_session *s = h->session;
	int64_t host;

	if (s->ended)
		return STR("which has ended");
	host = session_host(c, s, own);
	if (host && process_ended(host))
		return STR("whose host process has ended");
	if (liveness_of(h->seen_ms, c->now_ms, c->stale_minutes) == LIVENESS_ACTIVE)
		return STR_NONE;
	if (host && h->until_ms > c->now_ms)
		return STR_NONE;
	return arena_fmt(&c->mem, "which was last seen %lld minutes ago",
			 (long long)(c->now_ms - h->seen_ms) / 60000);
}

/* --- evidence, as for bb-init --- */

/* Git is slow, so it is only called if files are reserved. */
static bool holdings_find_changed(struct call *c, struct continuity *k, const struct holdings *h,
				  struct evidence *out)
{
	struct session_filter all = { 0 };
	struct str project = c->project;
	struct evidence *found = NULL;
	struct agent_files files;

	if (!h->reserved)
		return false;
	continuity_let_go(k);
	if (agent_files_open(c, AGENTS_READ, &files) || session_evidence(c, &files, &all, &found))
		found = NULL;
	while (found && (!str_eq(found->agent->id, h->session->agent) ||
			 found->reason != RESUME_UNCOMMITTED))
		found = found->next;
	if (found)
		*out = *found;
	c->project = project;
	call_forgive(c);
	return found;
}

static bool holdings_find_evidence(struct call *c, struct continuity *k, const struct holdings *h,
				   struct evidence *out)
{
	const struct task *t = h->tasks;

	*out = (struct evidence){ .reason = RESUME_IN_PROGRESS };
	if (!t)
		return holdings_find_changed(c, k, h, out);
	out->bead = t->id;
	out->text = arena_fmt(&c->mem, "it has '" STR_FMT "' in progress: " STR_FMT, STR_ARG(t->id),
			      STR_ARG(t->title));
	return true;
}

/* --- adopting --- */

static enum err session_adopt_tasks(struct call *c, struct continuity *k, const struct holdings *h,
				    struct adoption *a)
{
	struct task **tail = &a->tasks;
	enum err e = ERR_OK;

	continuity_let_go(k);
	c->request_args = STR("hook");
	for (const struct task *t = h->tasks; !e && t; t = t->next) {
		*tail = arena_new(&c->mem, struct task);
		c->request_id = id_random(&c->mem, 32);
		if (task_adopt(c, t->id, a->from, *tail)) { /* another session has adopted it */
			*tail = NULL;
			call_forgive(c);
			continue;
		}
		e = task_note(c, k, "task_assigned", *tail,
			      arena_fmt(&c->mem, "adopted from " STR_FMT ": " STR_FMT,
					STR_ARG(a->from), STR_ARG(t->title)),
			      NULL);
		tail = &(*tail)->next;
	}
	c->request_id = STR_NONE;
	*tail = NULL;
	return e;
}

/* Only if the project uses agents: a hook must not create their folder. */
static void session_adopt_reservations(struct call *c, const struct evidence *found,
				       struct adoption *a)
{
	struct str project = c->project;
	struct agent_files files;

	if (!agent_files_open(c, AGENTS_WRITE, &files) && files.home.p &&
	    session_succeed(c, &files, a->from, found, &a->reserved))
		a->reserved = NULL;
	agent_files_close(&files);
	c->project = project;
	call_forgive(c);
}

static enum err session_adopt_focus(struct call *c, struct continuity *k, struct str from)
{
	struct vybe_agent old = { .agent = from, .project = STR("") };
	enum err e = vybe_agent_find(c, &k->db, &old);

	return e || !old.focus.n ? e : continuity_set_focus(c, k, old.focus);
}

static enum err session_pass_on(struct call *c, struct continuity *k, struct host_session *s)
{
	s->heir = c->actor;
	return vybe_session_put(c, &k->db, s);
}

static enum err sessions_adopt_holdings(struct call *c, struct continuity *k,
					const struct holdings *h, struct str why,
					struct adoption **out)
{
	struct adoption *a = arena_new(&c->mem, struct adoption);
	struct evidence found;
	struct str focus;
	enum err e = continuity_focus(c, k, &focus);

	if (e)
		return e;
	a->from = h->session->agent;
	a->why = why;
	if (holdings_find_evidence(c, k, h, &found)) {
		if (*out) /* one session is adopted; the next session adopts another */
			return ERR_OK;
		if ((e = session_adopt_tasks(c, k, h, a)))
			return e;
		session_adopt_reservations(c, &found, a);
		if (a->tasks || a->reserved)
			*out = a;
	}
	if ((*out == a || !focus.n) && (e = session_adopt_focus(c, k, a->from)))
		return e;
	if ((e = vybe_session_inherit(c, &k->db, a->from, c->actor)))
		return e;
	return session_pass_on(c, k, h->session);
}

enum err sessions_adopt(struct call *c, struct continuity *k, struct adoption **out)
{
	struct ancestors own = process_ancestors(&c->mem);
	struct host_session *s, self = { .agent = c->actor };
	struct holdings h;
	enum err e = holdings_read(c, k, &self, &h);

	*out = NULL;
	if (e || h.tasks)
		return e;
	e = vybe_session_each(c, &k->db, session_workspace(c), SESSIONS, &s);
	for (; !e && s; s = s->next) {
		struct str why;

		if (str_eq(s->agent, c->actor) || (e = holdings_read(c, k, s, &h)))
			continue;
		why = session_why_over(c, &h, &own);
		if (why.p)
			e = sessions_adopt_holdings(c, k, &h, why, out);
	}
	return e;
}

enum err sessions_others(struct call *c, struct continuity *k, struct other_session **out)
{
	struct ancestors own = process_ancestors(&c->mem);
	struct host_session *s;
	struct holdings h;
	int left = OTHERS;
	enum err e = vybe_session_each(c, &k->db, session_workspace(c), SESSIONS, &s);

	*out = NULL;
	for (; !e && s && left; s = s->next) {
		if (str_eq(s->agent, c->actor) || (e = holdings_read(c, k, s, &h)) || !h.tasks)
			continue;
		*out = arena_new(&c->mem, struct other_session);
		**out = (struct other_session){ .agent = s->agent,
						.over = session_why_over(c, &h, &own).p,
						.task = h.tasks };
		out = &(*out)->next;
		left--;
	}
	return e;
}

enum err sessions_names(struct call *c, struct continuity *k, struct str **names, size_t *count)
{
	return vybe_session_names(c, &k->db, c->actor, NAMES, names, count);
}
