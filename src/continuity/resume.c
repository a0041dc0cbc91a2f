#include "continuity/resume.h"

#include "base/json.h"
#include "continuity/brief.h"

static const char *const words[] = {
	[FOCUS_ASKED] = "asked_for",
	[FOCUS_IN_PROGRESS] = "mine_in_progress",
	[FOCUS_WAITING] = "mine_waiting",
	[FOCUS_ASSIGNED] = "assigned_to_me",
	[FOCUS_OLD] = "mine_pending",
	[FOCUS_NEXT] = "next_ready",
	[FOCUS_NONE] = "none",
};
const struct names focus_rules = { words, sizeof words / sizeof *words, NULL };

/* --- focus: a function of what there is, and nothing else --- */

/* NULL: there is no such task any more. */
static enum err look_up(struct call *c, struct beads *b, struct str id, struct task **out)
{
	struct task *t = arena_new(&c->mem, struct task);
	enum err e;

	*out = NULL;
	if (!id.n)
		return ERR_OK;
	e = task_find(c, b, id, t);
	if (e == ERR_NOT_FOUND || e == ERR_DELETED)
		return c->code = ERR_OK;
	*out = e ? NULL : t;
	return e;
}

static bool of_project(const struct task *t, struct str project)
{
	return !project.n || !t->project.n || str_eq(t->project, project);
}

static bool mine(struct call *c, const struct task *t)
{
	return str_eq(t->assignee, c->actor);
}

/* The highest priority first, then the oldest. */
static enum err next_ready(struct call *c, struct beads *b, struct str project,
			   struct task **out)
{
	struct task_filter ready = { .status = -1,
				     .project = project.n ? project : (struct str){ 0 },
				     .priority = INT64_MIN,
				     .or_none = true,
				     .ready = true,
				     .limit = 1 };

	return task_each(c, b, &ready, true, out);
}

/* Somebody has given it to me since I was last here, and it can be begun. */
static enum err assigned(struct call *c, struct beads *b, const struct event_row *deltas,
			 struct str project, struct task **out)
{
	enum err e;

	for (*out = NULL; deltas; deltas = deltas->next) {
		if (!str_starts(deltas->kind, STR("task_")))
			continue;
		if ((e = look_up(c, b, deltas->task, out)))
			return e;
		if (*out && mine(c, *out) && of_project(*out, project) &&
		    ((*out)->ready || (*out)->status == TASK_IN_PROGRESS))
			return ERR_OK;
	}
	*out = NULL;
	return ERR_OK;
}

static enum err choose(struct call *c, struct continuity *k, const struct resume_ask *ask,
		       struct resume *r)
{
	struct task *old;
	struct beads *b;
	enum err e = continuity_tasks(c, k, &b);

	if (e)
		return e;
	if (ask->focus.p) {
		r->rule = FOCUS_ASKED;
		r->focus = arena_new(&c->mem, struct task);
		return task_find(c, b, ask->focus, r->focus);
	}
	if ((e = look_up(c, b, r->agent.focus, &old)))
		return e;
	if (old && !of_project(old, ask->project))
		old = NULL;
	r->focus = old;
	r->rule = FOCUS_IN_PROGRESS;
	if (old && old->status == TASK_IN_PROGRESS && mine(c, old))
		return ERR_OK;
	r->rule = FOCUS_WAITING;
	if (old && old->status == TASK_BLOCKED && old->bead_status == BEAD_OPEN)
		return ERR_OK;
	r->rule = FOCUS_ASSIGNED;
	if ((e = assigned(c, b, r->deltas, ask->project, &r->focus)) || r->focus)
		return e;
	r->rule = FOCUS_OLD;
	r->focus = old;
	if (old && old->status == TASK_PENDING && (mine(c, old) || !old->assignee.n))
		return ERR_OK;
	r->rule = FOCUS_NEXT;
	if ((e = next_ready(c, b, ask->project, &r->focus)) || r->focus)
		return e;
	r->rule = FOCUS_NONE;
	return ERR_OK;
}

/* --- the call --- */

static enum err read_agent(struct call *c, struct continuity *k,
			   const struct resume_ask *ask, struct resume *out)
{
	enum err e;

	*out = (struct resume){ .agent = { .agent = c->actor, .project = ask->project } };
	if ((e = vybe_agent_find(c, &k->db, &out->agent)))
		return e;
	out->old_cursor = out->agent.cursor;
	return ERR_OK;
}

/* What happened since. Who was here before misses nothing that was put away meanwhile. */
static enum err read_deltas(struct call *c, struct continuity *k,
			    const struct resume_ask *ask, struct resume *out)
{
	struct event_filter since = { .since = out->old_cursor,
				      .limit = ask->limit,
				      .ascending = true,
				      .archived = out->old_cursor > 0 };

	return vybe_event_each(c, &k->db, &since, &out->deltas);
}

enum err resume_run(struct call *c, struct continuity *k, const struct resume_ask *ask,
		    struct resume *out)
{
	enum err e;

	if ((e = continuity_absorb(c, k)) || (e = read_agent(c, k, ask, out)) ||
	    (e = read_deltas(c, k, ask, out)))
		return e;
	for (const struct event_row *d = out->deltas; d; d = d->next)
		out->agent.cursor = d->id;
	if ((e = choose(c, k, ask, out)))
		return e;
	out->agent.focus = out->focus ? out->focus->id : (struct str){ 0 };
	return vybe_agent_put(c, &k->db, &out->agent);
}

enum err resume_peek(struct call *c, struct continuity *k, const struct resume_ask *ask,
		     struct resume *out)
{
	enum err e;

	if ((e = read_agent(c, k, ask, out)) || (e = read_deltas(c, k, ask, out)))
		return e;
	return choose(c, k, ask, out);
}

static struct brief brief_of(const struct resume *r)
{
	return (struct brief){ .task = r->focus, .project = r->agent.project };
}

enum err resume_encode_brief(struct call *c, struct continuity *k, const struct resume *r,
			     struct json *j)
{
	struct brief b = brief_of(r);
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

enum err resume_encode(struct call *c, struct continuity *k, const struct resume *r,
		       struct json *j)
{
	struct brief b = brief_of(r);
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
	if (r->agent.project.n)
		json_put_str(j, "focus_project_id", r->agent.project);
	json_put_str(j, "focus_rule", str_of(names_word(&focus_rules, (int)r->rule)));
	json_key(j, STR("brief"));
	brief_encode(c, &b, prompt, j);
	json_put_str(j, "prompt", prompt);
	json_end(j);
	return ERR_OK;
}
