/* Tasks of `vybe`, which are beads. */
#include <inttypes.h>

#include "continuity/tasks.h"
#include "surface/view/vybe_view.h"

static enum paint task_paint(struct str status)
{
	switch (names_exact(&task_statuses, status)) {
	case TASK_IN_PROGRESS:
		return PAINT_GREEN;
	case TASK_BLOCKED:
		return PAINT_RED;
	case TASK_COMPLETED:
		return PAINT_DIM;
	default:
		return PAINT_NONE;
	}
}

/* A priority of vybe, beside the one that bd shows. */
static struct str task_priority_text(struct view *v, const struct value *task)
{
	int64_t priority = value_count(task, "priority");

	return arena_fmt(v->out.mem, "%" PRId64 " (P%" PRId64 ")", priority,
			 task_bead_priority(priority));
}

static void task_show_list(struct view *v, const char *label, const struct value *list)
{
	if (!list || !list->count)
		return;
	buf_fmt(&v->out, "  %s ", label);
	for (size_t i = 0; i < list->count; i++)
		buf_fmt(&v->out, "%s" STR_FMT, i ? ", " : "", STR_ARG(list->item[i].text));
	buf_char(&v->out, '\n');
}

void vybe_show_task(struct view *v, const struct value *task)
{
	struct str status = value_str(task, "status"), assignee = value_str(task, "assignee"),
		   reason = value_str(task, "blocked_reason"),
		   project = value_str(task, "project_id");

	view_paint(v, PAINT_BOLD, value_str(task, "id"));
	view_say(v, task, ": {title}");
	buf_put(&v->out, STR("  "));
	view_paint(v, task_paint(status), status);
	buf_fmt(&v->out, ", priority " STR_FMT, STR_ARG(task_priority_text(v, task)));
	if (assignee.n)
		buf_fmt(&v->out, ", assigned to " STR_FMT, STR_ARG(assignee));
	view_say(v, task, ", updated {updated_at~}");
	if (project.n)
		view_line(v, "  project " STR_FMT, STR_ARG(project));
	if (reason.n)
		view_line(v, "  blocked: " STR_FMT, STR_ARG(reason));
	task_show_list(v, "depends on", value_find(task, "depends_on"));
}

void vybe_view_task(struct view *v, const struct value *data)
{
	struct str description = view_whole(value_find(data, "description"));

	vybe_show_task(v, data);
	if (!description.n)
		return;
	buf_char(&v->out, '\n');
	view_quote(v, description);
}

void vybe_view_changed(struct view *v, const struct value *data)
{
	vybe_show_task(v, value_find(data, "task"));
}

void vybe_view_tasks(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "ID",      "PRIORITY", "STATUS", "ASSIGNEE",
					     "UPDATED", "TITLE",    NULL };
	struct table t = table_new(v, heads);

	VALUE_EACH(one, value_find(data, "tasks")) {
		struct str status = value_str(one, "status"), assignee = value_str(one, "assignee");

		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, value_str(one, "id"));
		table_cell(&t, 1, PAINT_NONE, task_priority_text(v, one));
		table_cell(&t, 2, task_paint(status), status);
		table_cell(&t, 3, PAINT_NONE, assignee.p ? assignee : STR(""));
		table_cell(&t, 4, PAINT_NONE, view_age(v, value_str(one, "updated_at")));
		table_cell(&t, 5, PAINT_NONE, value_str(one, "title"));
	}
	if (!t.rows) {
		view_line(v, "No tasks.");
		return;
	}
	table_print(&t);
	view_line(v, "%zu task%s. A higher priority is more urgent; 0 is normal.", t.rows,
		  t.rows == 1 ? "" : "s");
}

void vybe_view_message(struct view *v, const struct value *data)
{
	view_say(v, data, "{message}");
}

void vybe_view_deleted(struct view *v, const struct value *data)
{
	struct str id = value_str(data, "task_id");

	view_line(v, "Deleted " STR_FMT ". To restore it: bd undelete " STR_FMT, STR_ARG(id),
		  STR_ARG(id));
}

/* --- loops --- */

static const char *vybe_loop_end(struct str why)
{
	static const struct {
		const char *word, *text;
	} ends[] = {
		{ "max_tasks", "--max-tasks was reached" },
		{ "max_fails", "--max-fails tasks in a row have failed" },
		{ "no_tasks", "no task is ready" },
		{ "rate_limit", "the host's rate limit is reached for longer than --max-wait" },
		{ "signal", "it was interrupted" },
		{ "dry_run", "--dry-run runs nothing" },
	};

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (str_is(why, ends[i].word))
			return ends[i].text;
	return why.p;
}

void vybe_view_loop(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "TASK", "STATUS", "SECONDS", "TITLE", NULL };
	struct table t = table_new(v, heads);

	VALUE_EACH(one, value_find(data, "results")) {
		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, value_str(one, "task_id"));
		table_cell(&t, 1, PAINT_NONE, value_str(one, "status"));
		table_cell(&t, 2, PAINT_NONE,
			   arena_fmt(v->out.mem, "%" PRId64, value_count(one, "duration")));
		table_cell(&t, 3, PAINT_NONE, value_str(one, "task_title"));
	}
	if (t.rows)
		table_print(&t);
	view_say(v, data, "{completed} completed, {failed} failed, in {duration_sec} s.");
	view_line(v, "The loop ended: %s.", vybe_loop_end(value_str(data, "stopped_by")));
}

void vybe_view_loops(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "STARTED", "AGENT",   "COMPLETED", "FAILED",
					     "BLOCKED", "SECONDS", NULL };
	static const char *const numbers[] = { "completed", "failed", "blocked", "duration_sec" };
	struct table t = table_new(v, heads);

	VALUE_EACH(one, value_find(data, "history")) {
		table_row(&t);
		table_cell(&t, 0, PAINT_NONE, view_age(v, value_str(one, "started_at")));
		table_cell(&t, 1, PAINT_NONE, value_str(one, "agent"));
		for (size_t k = 0; k < 4; k++)
			table_cell(&t, k + 2, PAINT_NONE,
				   arena_fmt(v->out.mem, "%" PRId64, value_count(one, numbers[k])));
	}
	table_print_or(&t, "No loop has run yet.");
}
