/* Continuity, hosts and upkeep of `vybe`. */
#include "surface/view/vybe_view.h"

#include <inttypes.h>

/* --- memory --- */

static struct str memory_where_text(struct view *v, const struct value *m)
{
	struct str id = value_str(m, "scope_id");

	return arena_fmt(v->out.mem, "scope " STR_FMT "%s" STR_FMT, STR_ARG(value_str(m, "scope")),
			 id.n ? " " : "", STR_ARG(id));
}

void vybe_view_memory(struct view *v, const struct value *data)
{
	struct str expires = value_str(data, "expires_at");

	view_paint(v, PAINT_BOLD, value_str(data, "key"));
	view_line(v, " (" STR_FMT ", " STR_FMT "%s), updated " STR_FMT "%s" STR_FMT,
		  STR_ARG(memory_where_text(v, data)), STR_ARG(value_str(data, "value_type")),
		  value_yes(data, "pinned") ? ", pinned" : "",
		  STR_ARG(view_age(v, value_str(data, "updated_at"))),
		  expires.n ? ", expires " : "",
		  STR_ARG(expires.n ? view_age(v, expires) : STR("")));
	view_quote(v, view_whole(value_find(data, "value")));
}

static void memory_table(struct view *v, const struct value *memories)
{
	static const char *const heads[] = { "KEY", "UPDATED", "VALUE", NULL };
	struct table t = table_new(v, heads);

	VALUE_EACH(one, memories) {
		table_row(&t);
		table_cell(&t, 0, value_yes(one, "pinned") ? PAINT_YELLOW : PAINT_BOLD,
			   value_str(one, "key"));
		table_cell(&t, 1, PAINT_NONE, view_age(v, value_str(one, "updated_at")));
		table_cell(&t, 2, PAINT_NONE, value_str(one, "value"));
	}
	if (t.rows)
		table_print(&t);
}

void vybe_view_memories(struct view *v, const struct value *data)
{
	const struct value *memories = value_find(data, "memories");

	if (memories && memories->count)
		memory_table(v, memories);
	else
		view_line(v, "No memories in " STR_FMT ".", STR_ARG(memory_where_text(v, data)));
}

static void memory_done(struct view *v, const struct value *data, const char *verb)
{
	struct str expires = value_str(data, "expires_at");

	view_line(v, "%s '" STR_FMT "' (" STR_FMT ")%s" STR_FMT ".", verb,
		  STR_ARG(value_str(data, "key")), STR_ARG(memory_where_text(v, data)),
		  expires.n ? ", which expires " : "",
		  STR_ARG(expires.n ? view_age(v, expires) : STR("")));
}

void vybe_view_memory_set(struct view *v, const struct value *data)
{
	memory_done(v, data, "Stored");
}

void vybe_view_memory_deleted(struct view *v, const struct value *data)
{
	memory_done(v, data, "Deleted");
}

void vybe_view_memory_pinned(struct view *v, const struct value *data)
{
	memory_done(v, data, "Changed the pin of");
}

void vybe_view_collected(struct view *v, const struct value *data)
{
	int64_t deleted = value_count(data, "deleted");

	view_line(v, "Deleted %" PRId64 " expired memor%s.", deleted, deleted == 1 ? "y" : "ies");
}

/* --- events and artifacts --- */

static void event_table(struct view *v, const struct value *events)
{
	static const char *const heads[] = {
		"ID", "WHEN", "AGENT", "KIND", "TASK", "MESSAGE", NULL
	};
	struct table t = table_new(v, heads);

	VALUE_EACH(one, events) {
		table_row(&t);
		table_cell(&t, 0, PAINT_DIM,
			   arena_fmt(v->out.mem, "%" PRId64, value_count(one, "id")));
		table_cell(&t, 1, PAINT_NONE, view_age(v, value_str(one, "created_at")));
		table_cell(&t, 2, PAINT_NONE, value_str(one, "agent_name"));
		table_cell(&t, 3, PAINT_NONE, value_str(one, "kind"));
		table_cell(&t, 4, PAINT_NONE, value_str(one, "task_id"));
		table_cell(&t, 5, PAINT_NONE, value_str(one, "message"));
	}
	table_print_or(&t, "No events.");
}

void vybe_view_events(struct view *v, const struct value *data)
{
	event_table(v, value_find(data, "events"));
}

void vybe_view_artifacts(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "ADDED", "TASK", "FILE", NULL };
	struct table t = table_new(v, heads);

	VALUE_EACH(one, value_find(data, "artifacts")) {
		table_row(&t);
		table_cell(&t, 0, PAINT_NONE, view_age(v, value_str(one, "created_at")));
		table_cell(&t, 1, PAINT_NONE, value_str(one, "task_id"));
		table_cell(&t, 2, PAINT_NONE, value_str(one, "file_path"));
	}
	table_print_or(&t, "No artifacts.");
}

void vybe_view_push(struct view *v, const struct value *data)
{
	const struct value *memories = value_find(data, "memories"),
			   *artifacts = value_find(data, "artifacts"),
			   *status = value_find(data, "task_status");

	if (value_find(data, "event_id"))
		view_say(v, data, "Recorded event {event_id}.");
	if (memories)
		view_line(v, "Stored %zu memor%s.", memories->count,
			  memories->count == 1 ? "y" : "ies");
	if (artifacts)
		view_line(v, "Recorded %zu artifact%s.", artifacts->count,
			  artifacts->count == 1 ? "" : "s");
	if (status && value_find(status, "task"))
		vybe_show_task(v, value_find(status, "task"));
	else if (status)
		view_line(v, "Set the status of the task.");
}

/* --- resume --- */

static const struct value *resume_title(struct view *v, const struct value *data, const char *key,
					const char *title)
{
	const struct value *list = value_find(data, key);

	if (!list || list->type != VALUE_ARRAY || !list->count)
		return NULL;
	buf_char(&v->out, '\n');
	view_paint(v, PAINT_BOLD, str_of(title));
	buf_char(&v->out, '\n');
	return list;
}

static void resume_show_mail(struct view *v, const struct value *brief)
{
	VALUE_EACH(one, resume_title(v, brief, "unread_mail", "Unread messages"))
		view_quote(v, arena_fmt(v->out.mem, STR_FMT ": " STR_FMT,
					STR_ARG(value_str(one, "from_agent")),
					STR_ARG(value_str(one, "subject"))));
}

static void resume_show_next(struct view *v, const struct value *brief)
{
	VALUE_EACH(one, resume_title(v, brief, "pipeline", "Next tasks"))
		view_say(v, one, "  {id}: {title}");
}

void vybe_view_resume(struct view *v, const struct value *data)
{
	const struct value *brief = value_find(data, "brief"), *task = value_find(brief, "task"),
			   *list;

	if (task && task->type == VALUE_OBJECT)
		vybe_view_task(v, task);
	else
		view_line(v, "No task is ready for you.");
	if ((list = resume_title(v, data, "deltas", "Changes since your last resume")))
		event_table(v, list);
	if ((list = resume_title(v, brief, "relevant_memory", "Memory")))
		memory_table(v, list);
	resume_show_mail(v, brief);
	resume_show_next(v, brief);
}

/* --- hosts and upkeep --- */

void vybe_view_hooks(struct view *v, const struct value *data)
{
	view_say(v, data, "{message}");
	VALUE_EACH(host, data) {
		if (host->type == VALUE_OBJECT)
			view_line(v, "  " STR_FMT ": " STR_FMT " (" STR_FMT ")", STR_ARG(host->key),
				  STR_ARG(value_str(host, "status")),
				  STR_ARG(value_str(host, "path")));
	}
}

static void status_show_hooks(struct view *v, const struct value *hooks)
{
	bool any = false;

	buf_put(&v->out, STR("Hooks:   "));
	VALUE_EACH(one, hooks)
		if (one->yes) {
			buf_fmt(&v->out, "%s" STR_FMT, any ? ", " : "", STR_ARG(one->key));
			any = true;
		}
	view_line(v, "%s", any ? "" : "none (to install them: vybe hook install)");
}

void vybe_view_status(struct view *v, const struct value *data)
{
	const struct value *db = value_find(data, "db"), *counts = value_find(data, "counts"),
			   *tasks = value_find(counts, "tasks"),
			   *agent = value_find(data, "agent_state"),
			   *problems = value_find(data, "diagnostics");

	view_line(v, "Store:   " STR_FMT "%s", STR_ARG(value_str(db, "path")),
		  value_yes(db, "ok") ? "" : " (cannot be read)");
	view_say(
		v, tasks,
		"Tasks:   {pending} pending, {in_progress} in progress, {blocked} blocked, {completed} completed");
	view_say(
		v, counts,
		"Stored:  events {events}, memories {memory}, artifacts {artifacts}, agents {agents}");
	status_show_hooks(v, value_find(data, "hooks"));
	if (agent) {
		struct str focus = value_str(agent, "focus_task_id");

		view_line(v, "You:     " STR_FMT ", focus: " STR_FMT,
			  STR_ARG(value_str(agent, "agent_name")),
			  STR_ARG(focus.n ? focus : STR("none")));
	}
	VALUE_EACH(one, problems)
		view_say(v, one, "Problem: {message}\n  {suggested_action}");
}

void vybe_view_upgrade(struct view *v, const struct value *data)
{
	const struct value *commands = value_find(data, "commands");

	view_say(v, data, "Version {version}.");
	view_wrap(v, value_str(data, "message"), 0);
	VALUE_EACH(one, commands)
		view_line(v, "  " STR_FMT, STR_ARG(one->text));
}
