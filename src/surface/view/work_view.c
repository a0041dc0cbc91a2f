#include "surface/view/work_view.h"

#include "base/system/spawn.h"
#include "surface/view/view.h"

/* "3 commits" */
static void work_view_count(struct view *v, const char *before, int64_t n, const char *what)
{
	buf_fmt(&v->out, "%s%lld %s%s", before, (long long)n, what, n == 1 ? "" : "s");
}

static void work_view_learned(struct view *v, const struct value *one)
{
	int64_t commits = value_count(one, "commits"), reserved = value_count(one, "reservations");

	view_put(v, one, "  learned   {path} (");
	if (commits)
		work_view_count(v, "", commits, "commit");
	if (reserved)
		work_view_count(v, commits ? ", " : "", reserved, "reservation");
	view_line(v, ")");
}

void work_view_touches(struct view *v, const struct value *data)
{
	const struct value *declared = value_find(data, "declared"),
			   *reserved = value_find(data, "reserved"),
			   *learned = value_find(data, "learned");
	struct str id = value_str(data, "id");

	view_paint(v, PAINT_BOLD, id);
	view_say(v, data, " {title}");
	VALUE_EACH(one, declared)
		view_line(v, "  declared  " STR_FMT, STR_ARG(one->text));
	VALUE_EACH(one, reserved)
		view_say(v, one, "  reserved  {scope} by {agent_id}, ends {expires_at~}");
	VALUE_EACH(one, learned)
		work_view_learned(v, one);
	if (!declared->count && !reserved->count && !learned->count)
		view_line(v,
			  "  Nothing is known yet. Declare it: bd update " STR_FMT
			  " --touches PATH",
			  STR_ARG(id));
}

static void work_view_side(struct view *v, const struct value *side)
{
	struct str agent = value_str(side, "agent"), title = value_str(side, "title");

	buf_put(&v->out, STR("   "));
	view_paint(v, PAINT_BOLD, value_str(side, "id"));
	if (title.p)
		buf_fmt(&v->out, " " STR_FMT, STR_ARG(title));
	if (!title.p) /* a bead that is not in progress, or a scope of no bead */
		buf_fmt(&v->out, " (reserved by " STR_FMT ")", STR_ARG(agent));
	else if (value_yes(side, "in_progress"))
		buf_fmt(&v->out, " (in progress%s" STR_FMT ")", agent.p ? ", " : "",
			STR_ARG(agent));
	view_line(v, "%s", "");
}

static void work_view_conflict(struct view *v, const struct value *one)
{
	int64_t score = value_count(one, "score");

	view_paint(v, score >= 80 ? PAINT_RED : PAINT_YELLOW,
		   arena_fmt(v->out.mem, "%lld%%", (long long)score));
	view_say(v, one, " {reason}");
	work_view_side(v, value_find(one, "a"));
	work_view_side(v, value_find(one, "b"));
}

void work_view_conflicts(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "No two beads are likely to collide. 'bd touches ID' shows what is "
			     "known about a bead.");
	view_each(v, data, work_view_conflict);
}

void work_view_current(struct view *v, const struct value *data)
{
	const struct value *reserved = value_find(data, "reserved");
	struct str id = value_str(data, "bead"), result = value_str(data, "result"),
		   branch = value_str(data, "branch");
	bool ended = str_is(result, "closed") || str_is(result, "given back");

	if (!id.p) {
		view_line(v, "You work on no bead. 'bd ready' lists beads, 'abacus work ID' begins "
			     "with one.");
		return;
	}
	buf_put(&v->out, ended ? STR_NONE : STR("You work on "));
	view_paint(v, PAINT_BOLD, id);
	if (ended)
		view_line(v, " is " STR_FMT, STR_ARG(result));
	else
		view_say(v, data, ": {title}");
	if (str_is(result, "unfinished"))
		view_line(v, "  begun, but not completed; complete it: abacus work " STR_FMT,
			  STR_ARG(id));
	VALUE_EACH(item, reserved)
		view_line(v, "  reserved  " STR_FMT, STR_ARG(item->text));
	if (!ended && reserved && !reserved->count)
		view_line(v,
			  "  nothing is reserved; declare what it touches: bd update " STR_FMT
			  " --touches PATH",
			  STR_ARG(id));
	if (branch.p)
		view_line(v, "  branch    " STR_FMT, STR_ARG(branch));
	if (!ended)
		view_say(v, data, "  worktree  {worktree}");
}

static void work_view_resource(struct view *v, const struct value *one)
{
	const struct value *held = value_find(one, "held");
	int64_t waiting = value_count(one, "waiting");

	view_paint(v, PAINT_BOLD, value_str(one, "name"));
	buf_fmt(&v->out, ": %zu of %lld slots held", held->count,
		(long long)value_count(one, "count"));
	if (waiting)
		buf_fmt(&v->out, ", %lld waiting", (long long)waiting);
	view_line(v, "%s", "");
	VALUE_EACH(h, held) {
		struct str agent = value_str(h, "agent");

		view_line(v, "  process %lld%s" STR_FMT ", " STR_FMT ": " STR_FMT,
			  (long long)value_count(h, "pid"), agent.p ? " of " : "", STR_ARG(agent),
			  STR_ARG(view_age(v, value_str(h, "since"))),
			  STR_ARG(value_str(h, "command")));
	}
}

void work_view_slots(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "No resources. 'abacus slots set build 2' makes one with two slots.");
	view_each(v, data, work_view_resource);
}

static void work_view_rule(struct view *v, const struct value *one)
{
	const struct value *labels = value_find(one, "labels"),
			   *command = value_find(one, "command");

	view_paint(v, PAINT_BOLD,
		   arena_fmt(v->out.mem, "%lld", (long long)value_count(one, "rule")));
	view_put(v, one, "  on {event}");
	VALUE_EACH(item, labels)
		buf_fmt(&v->out, " --label " STR_FMT, STR_ARG(item->text));
	buf_put(&v->out, STR(" --"));
	VALUE_EACH(item, command)
		buf_fmt(&v->out, " " STR_FMT, STR_ARG(spawn_word(v->out.mem, item->text)));
	view_paint(v, PAINT_DIM,
		   value_yes(one, "running") ? STR("  (running)") : STR("  (not running)"));
	buf_char(&v->out, '\n');
}

void work_view_rules(struct view *v, const struct value *data)
{
	bool idle = false;

	VALUE_EACH(item, data) {
		work_view_rule(v, item);
		idle = idle || !value_yes(item, "running");
	}
	if (!data->count)
		view_line(v, "No rules. 'abacus on bead.closed -- ./announce.sh' adds one.");
	else if (idle)
		view_line(v, "Run them: abacus on --run");
}
