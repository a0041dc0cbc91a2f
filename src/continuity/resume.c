#include "continuity/resume.h"

#include "base/text/json.h"
#include "continuity/brief.h"

const struct names focus_rules =
	NAMES_OF([FOCUS_ASKED] = "asked_for", [FOCUS_IN_PROGRESS] = "mine_in_progress",
		 [FOCUS_WAITING] = "mine_waiting", [FOCUS_ASSIGNED] = "assigned_to_me",
		 [FOCUS_OLD] = "mine_pending", [FOCUS_NEXT] = "next_ready", [FOCUS_NONE] = "none");

/* --- focus: a function of what there is, and nothing else --- */

/* NULL if the task was deleted. */
static enum err resume_look_up(struct call *c, struct beads *b, struct str id, struct task **out)
{
	struct task *t = arena_new(&c->mem, struct task);
	enum err e;

	*out = NULL;
	if (!id.n)
		return ERR_OK;
	e = task_find(c, b, id, t);
	if (e == ERR_NOT_FOUND || e == ERR_DELETED)
		return call_forgive(c);
	*out = e ? NULL : t;
	return e;
}

static bool resume_filter(const struct task *t, struct str project)
{
	return !project.n || !t->project.n || str_eq(t->project, project);
}

static bool resume_mine(struct call *c, const struct task *t)
{
	return str_eq(t->assignee, c->actor);
}

/* The actor's task in progress, whichever command claimed it; of several the last claimed. */
static enum err resume_begun(struct call *c, struct beads *b, struct str project, struct task **out)
{
	struct task_filter my_work = { .status = TASK_IN_PROGRESS,
				       .project = project.n ? project : STR_NONE,
				       .priority = INT64_MIN,
				       .or_none = true,
				       .assignee = c->actor };
	struct task *t, *last = NULL;
	enum err e = task_each(c, b, &my_work, true, &t);

	for (; !e && t; t = t->next)
		if (!last || stamp_cmp(t->claimed, last->claimed) > 0)
			last = t;
	*out = last;
	return e;
}

/* A ready task that was assigned to the actor since its last resume. */
static enum err resume_assigned_since(struct call *c, struct beads *b,
				      const struct event_row *deltas, struct str project,
				      struct task **out)
{
	enum err e;

	for (*out = NULL; deltas; deltas = deltas->next) {
		if (!str_starts(deltas->kind, STR("task_")))
			continue;
		if ((e = resume_look_up(c, b, deltas->task, out)))
			return e;
		if (*out && resume_mine(c, *out) && resume_filter(*out, project) && (*out)->ready)
			return ERR_OK;
	}
	*out = NULL;
	return ERR_OK;
}

/* A ready task that is assigned to the actor. */
static enum err resume_assigned(struct call *c, struct beads *b, struct str project,
				struct task **out)
{
	struct task_filter for_me = { .status = -1,
				      .project = project.n ? project : STR_NONE,
				      .priority = INT64_MIN,
				      .or_none = true,
				      .ready = true,
				      .assignee = c->actor,
				      .limit = 1 };

	return task_each(c, b, &for_me, true, out);
}

static bool resume_waits(const struct task *t)
{
	return t->status == TASK_BLOCKED && t->bead_status == BEAD_OPEN;
}

static enum err resume_focus_on(struct resume *r, enum focus_rule rule, struct task *t)
{
	r->rule = rule;
	r->focus = t;
	return ERR_OK;
}

/* Applies the rules in the order of doc/continuity.md. */
static enum err resume_choose_task(struct call *c, struct beads *b, struct str project,
				   struct task *old, struct resume *r)
{
	bool own = old && resume_mine(c, old), unassigned = old && !old->assignee.n;
	struct task *t;
	enum err e;

	if (own && old->status == TASK_IN_PROGRESS)
		return resume_focus_on(r, FOCUS_IN_PROGRESS, old);
	if (own && resume_waits(old))
		return resume_focus_on(r, FOCUS_WAITING, old);
	if ((e = resume_begun(c, b, project, &t)) || t)
		return e ? e : resume_focus_on(r, FOCUS_IN_PROGRESS, t);
	if (unassigned && resume_waits(old))
		return resume_focus_on(r, FOCUS_WAITING, old);
	if ((e = resume_assigned_since(c, b, r->deltas, project, &t)) || t)
		return e ? e : resume_focus_on(r, FOCUS_ASSIGNED, t);
	if ((own || unassigned) && old->status == TASK_PENDING && old->ready)
		return resume_focus_on(r, FOCUS_OLD, old);
	if ((e = resume_assigned(c, b, project, &t)) || t)
		return e ? e : resume_focus_on(r, FOCUS_ASSIGNED, t);
	if ((e = task_next(c, b, project, 1, &t)) || t)
		return e ? e : resume_focus_on(r, FOCUS_NEXT, t);
	return resume_focus_on(r, FOCUS_NONE, NULL);
}

static enum err resume_choose(struct call *c, struct continuity *k, const struct resume_ask *ask,
			      struct resume *r)
{
	struct task *old;
	struct beads *b;
	enum err e = continuity_tasks(c, k, &b);

	if (e)
		return e;
	if (ask->focus.p) {
		resume_focus_on(r, FOCUS_ASKED, arena_new(&c->mem, struct task));
		return task_find(c, b, ask->focus, r->focus);
	}
	if ((e = resume_look_up(c, b, r->agent.focus, &old)))
		return e;
	if (old && !resume_filter(old, ask->project))
		old = NULL;
	return resume_choose_task(c, b, ask->project, old, r);
}

/* --- the call --- */

static enum err resume_read_agent(struct call *c, struct continuity *k,
				  const struct resume_ask *ask, struct resume *out)
{
	enum err e;

	*out = (struct resume){ .agent = { .agent = c->actor, .project = ask->project } };
	if ((e = vybe_agent_find(c, &k->db, &out->agent)) ||
	    (e = continuity_focus(c, k, &out->agent.focus)))
		return e;
	out->old_cursor = out->agent.cursor;
	return ERR_OK;
}

/* Does the event belong to this project? An event without a project belongs to that of its task,
 * or to all. */
static enum err event_is_of_project(struct call *c, struct beads *b, const struct event_row *d,
				    struct str project, bool *yes)
{
	struct task *t = NULL;
	enum err e;

	*yes = !d->project.n || str_eq(d->project, project);
	if (d->project.n || !d->task.n)
		return ERR_OK;
	if (!(e = resume_look_up(c, b, d->task, &t)) && t)
		*yes = resume_filter(t, project);
	return e;
}

static enum err event_keep_project(struct call *c, struct beads *b, struct str project,
				   struct event_row **list)
{
	bool yes;
	enum err e;

	while (*list) {
		if ((e = event_is_of_project(c, b, *list, project, &yes)))
			return e;
		if (yes)
			list = &(*list)->next;
		else
			*list = (*list)->next;
	}
	return ERR_OK;
}

/* The events since the cursor, archived ones included if the agent has resumed before. */
static enum err resume_read_deltas(struct call *c, struct continuity *k,
				   const struct resume_ask *ask, struct resume *out)
{
	struct event_filter since = { .since = out->old_cursor,
				      .limit = ask->limit,
				      .ascending = true,
				      .archived = out->old_cursor > 0 };

	struct beads *b;
	enum err e;

	if ((e = vybe_event_each(c, &k->db, &since, &out->deltas)))
		return e;
	for (const struct event_row *d = out->deltas; d; d = d->next)
		out->seen = d->id;
	if (!ask->project.n || (e = continuity_tasks(c, k, &b)))
		return e;
	return event_keep_project(c, b, ask->project, &out->deltas);
}

enum err resume_run(struct call *c, struct continuity *k, const struct resume_ask *ask,
		    struct resume *out)
{
	enum err e;

	if ((e = continuity_absorb(c, k)) || (e = resume_read_agent(c, k, ask, out)) ||
	    (e = resume_read_deltas(c, k, ask, out)))
		return e;
	if (out->seen)
		out->agent.cursor = out->seen;
	if ((e = resume_choose(c, k, ask, out)))
		return e;
	out->agent.focus = out->focus ? out->focus->id : STR_NONE;
	if ((e = vybe_agent_put(c, &k->db, &out->agent)))
		return e;
	/* the focus stays if this project has no task for the agent */
	if (!out->focus && ask->project.n)
		return ERR_OK;
	return continuity_set_focus(c, k, out->agent.focus);
}

enum err resume_peek(struct call *c, struct continuity *k, const struct resume_ask *ask,
		     struct resume *out)
{
	enum err e;

	if ((e = resume_read_agent(c, k, ask, out)) || (e = resume_read_deltas(c, k, ask, out)))
		return e;
	return resume_choose(c, k, ask, out);
}

static struct brief resume_brief(const struct resume *r)
{
	return (struct brief){ .task = r->focus, .project = r->agent.project };
}

enum err resume_encode_brief(struct call *c, struct continuity *k, const struct resume *r,
			     struct json *j)
{
	struct brief b = resume_brief(r);
	enum err e = brief_read(c, k, &b);

	if (e)
		return e;
	json_object(j);
	json_put_str(j, "agent_name", r->agent.agent);
	json_key(j, STR("brief"));
	brief_encode(c, &b, brief_prompt(c, &b), j);
	json_end(j);
	return ERR_OK;
}

enum err resume_encode(struct call *c, struct continuity *k, const struct resume *r, struct json *j)
{
	struct brief b = resume_brief(r);
	struct str prompt;
	enum err e = brief_read(c, k, &b);

	if (e)
		return e;
	prompt = brief_prompt(c, &b);
	json_object(j);
	json_put_str(j, "agent_name", r->agent.agent);
	json_put_int(j, "old_cursor", r->old_cursor);
	json_put_int(j, "new_cursor", r->agent.cursor);
	json_put_array(j, "deltas");
	for (const struct event_row *d = r->deltas; d; d = d->next)
		event_row_encode(j, d);
	json_end(j);
	json_put_str(j, "focus_task_id", r->focus ? r->focus->id : STR(""));
	json_put_filled(j, "focus_project_id", r->agent.project);
	json_put_str(j, "focus_rule", str_of(names_word(&focus_rules, (int)r->rule)));
	json_key(j, STR("brief"));
	brief_encode(c, &b, prompt, j);
	json_put_str(j, "prompt", prompt);
	json_end(j);
	return ERR_OK;
}
