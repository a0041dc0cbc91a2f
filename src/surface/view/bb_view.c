#include "surface/view/bb_view.h"

#include <inttypes.h>

#include "base/text/json.h"
#include "board/status.h"
#include "store/board/board_messages.h"
#include "surface/view/view.h"

void bb_view_init(struct view *v, const struct value *data)
{
	struct str dir = value_str(data, "project_dir");

	if (str_is(value_str(data, "result"), "exists"))
		view_line(v, "Blackboard already initialized at " STR_FMT, STR_ARG(dir));
	else
		view_line(v, "Initialized blackboard at " STR_FMT "/.bb/", STR_ARG(dir));
}

static struct str without_newline(struct str text)
{
	return str_ends(text, STR("\n")) ? str_head(text, text.n - 1) : text;
}

void bb_view_install(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v,
			  "No host was found here. 'abacus install' shows what each host needs.");
	for (size_t i = 0; i < data->count; i++) {
		const struct value *host = &data->item[i];
		struct str note = value_str(host, "command");
		struct str diff = view_whole(value_find(host, "diff"));
		bool shown = value_str(host, "snippet").p || !value_str(host, "path").p;

		if (i)
			buf_char(&v->out, '\n');
		view_paint(v, PAINT_BOLD, value_str(host, "host"));
		view_say(v, host, ": {result} {path}");
		if (value_str(host, "backup").p)
			view_say(v, host, "  the old file is kept as {backup}");
		if (note.p && shown)
			view_line(v, "  or run: " STR_FMT, STR_ARG(note));
		if (value_str(host, "snippet").p) {
			buf_char(&v->out, '\n');
			view_lines(v, without_newline(view_whole(value_find(host, "snippet"))));
		}
		if (diff.n)
			view_lines(v, without_newline(diff));
	}
}

static void bb_view_counts(struct view *v, const struct value *data)
{
	view_say(v, data, "  messages:  {messages}");
	view_say(v, data, "  agents:    {agents}");
	view_say(v, data, "  artifacts: {artifacts}");
}

void bb_view_destroy(struct view *v, const struct value *data)
{
	struct str dir = value_str(data, "project_dir");

	if (value_yes(data, "confirmed")) {
		view_line(v, "Removed " STR_FMT "/.bb/", STR_ARG(dir));
		return;
	}
	view_line(v, "This would remove " STR_FMT "/.bb/ for good, with", STR_ARG(dir));
	bb_view_counts(v, data);
}

static enum paint bb_view_status_paint(struct str status)
{
	switch (names_exact(&agent_statuses, status)) {
	case AGENT_BLOCKED:
		return PAINT_RED;
	case AGENT_OFFLINE:
		return PAINT_DIM;
	case AGENT_IDLE:
		return PAINT_NONE;
	default:
		return PAINT_GREEN;
	}
}

static struct str marked_status(struct view *v, const struct value *agent)
{
	struct str status = value_str(agent, "status");
	bool stale =
		names_exact(&board_liveness_words, value_str(agent, "liveness")) == BOARD_STALE;

	return arena_fmt(v->out.mem, STR_FMT "%s", STR_ARG(status), stale ? " [STALE]" : "");
}

static void agent_row(struct table *t, const struct value *agent)
{
	struct arena *mem = t->view->out.mem;
	struct str status = value_str(agent, "status"), blockers = value_str(agent, "blockers");

	table_row(t);
	table_cell(t, 0, PAINT_BOLD, value_str(agent, "id"));
	table_cell(t, 1, bb_view_status_paint(status), marked_status(t->view, agent));
	table_cell(t, 2, PAINT_NONE,
		   arena_fmt(mem, "%" PRId64 "%%", value_count(agent, "progress")));
	table_cell(t, 3, PAINT_NONE, value_str(agent, "current_task"));
	table_cell(t, 4, PAINT_DIM, view_age(t->view, value_str(agent, "last_seen")));
	if (blockers.p)
		table_below(t, arena_fmt(mem, "Blockers: " STR_FMT, STR_ARG(blockers)));
}

void bb_view_agents(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "AGENT", "STATUS",    "PROGRESS",
					     "TASK",  "LAST SEEN", NULL };
	struct table t = table_new(v, heads);

	VALUE_EACH(one, data)
		agent_row(&t, one);
	table_print_or(&t, "No agents found.");
}

static void agent_details(struct view *v, const struct value *agent)
{
	struct str task = value_str(agent, "current_task");
	struct str blockers = value_str(agent, "blockers");

	if (task.n)
		view_line(v, "  Task: " STR_FMT, STR_ARG(task));
	view_say(v, agent, "  Progress: {progress}%");
	if (blockers.p)
		view_line(v, "  Blockers: " STR_FMT, STR_ARG(blockers));
}

void bb_view_agent(struct view *v, const struct value *data)
{
	const struct value *agent = &data->item[0];
	struct str seen = value_str(agent, "last_seen");

	view_paint(v, PAINT_BOLD, value_str(agent, "id"));
	view_line(v, ": " STR_FMT, STR_ARG(marked_status(v, agent)));
	agent_details(v, agent);
	view_line(v, "  Last seen: " STR_FMT " (" STR_FMT ")", STR_ARG(view_age(v, seen)),
		  STR_ARG(seen));
	view_say(v, agent, "  Liveness: {liveness}");
	if (value_str(agent, "role").p)
		view_say(v, agent, "  Registered as {role}");
}

void bb_view_status_set(struct view *v, const struct value *data)
{
	view_say(v, data, "Updated status for {id}: {status}");
	agent_details(v, data);
}

void bb_view_status_clear(struct view *v, const struct value *data)
{
	view_say(v, data, "Cleared status for {id}");
}

static enum paint bb_view_priority_paint(struct str priority)
{
	int value = names_exact(&priorities, priority);

	return value == PRIORITY_CRITICAL ? PAINT_RED :
	       value == PRIORITY_HIGH     ? PAINT_YELLOW :
					    PAINT_NONE;
}

static const char *priority_mark(struct str priority)
{
	static const char *const marks[] = {
		[PRIORITY_LOW] = " -",
		[PRIORITY_NORMAL] = "",
		[PRIORITY_HIGH] = " !",
		[PRIORITY_CRITICAL] = " !!",
	};
	int value = names_exact(&priorities, priority);

	return value < 0 ? "" : marks[value];
}

static void list_refs(struct view *v, const struct value *refs, size_t indent)
{
	if (!refs || !refs->count)
		return;
	buf_pad(&v->out, ' ', indent);
	buf_put(&v->out, STR("refs:"));
	VALUE_EACH(one, refs) {
		const struct value *ref = value_find(one, "ref");
		struct str last = ref ? ref->text : STR("");

		buf_fmt(&v->out, " " STR_FMT ":" STR_FMT ":" STR_FMT,
			STR_ARG(value_str(one, "where")), STR_ARG(value_str(one, "what")),
			STR_ARG(last));
	}
	buf_char(&v->out, '\n');
}

static void bb_view_message(struct view *v, const struct value *m, size_t indent)
{
	struct str priority = value_str(m, "priority");
	const struct value *tags = value_find(m, "tags");
	int64_t parent = value_count(m, "in_reply_to");

	buf_pad(&v->out, ' ', indent);
	view_paint(v, PAINT_BOLD, arena_fmt(v->out.mem, "#%" PRId64, value_count(m, "id")));
	view_paint(v, bb_view_priority_paint(priority), str_of(priority_mark(priority)));
	view_put(v, m, " {from_agent}");
	VALUE_EACH(one, tags)
		buf_fmt(&v->out, " [" STR_FMT "]", STR_ARG(one->text));
	if (parent)
		buf_fmt(&v->out, " re #%" PRId64, parent);
	buf_char(&v->out, ' ');
	view_paint(v, PAINT_DIM, view_age(v, value_str(m, "created_at")));
	if (value_yes(m, "unread"))
		view_paint(v, PAINT_YELLOW, STR(" new"));
	buf_char(&v->out, '\n');
	view_wrap(v, view_whole(value_find(m, "content")), indent + 4);
	list_refs(v, value_find(m, "refs"), indent + 4);
}

static void no_messages(struct view *v)
{
	view_line(v, "No messages found.");
}

void bb_view_log(struct view *v, const struct value *data)
{
	if (!data->count)
		no_messages(v);
	for (size_t i = data->count; i-- > 0;)
		bb_view_message(v, &data->item[i], 0);
}

void bb_view_post(struct view *v, const struct value *data)
{
	view_say(v, data, "Posted message #{id} from {from_agent}");
}

/* The depth of a reply in its thread. */
static size_t bb_view_depth(const struct value *thread, size_t i)
{
	size_t deep = 0;

	while (i > 0) {
		int64_t parent = value_count(&thread->item[i], "in_reply_to");

		while (i > 0 && value_count(&thread->item[i], "id") != parent)
			i--;
		deep++;
	}
	return deep;
}

void bb_view_thread(struct view *v, const struct value *data)
{
	enum { DEEPEST = 10 };

	for (size_t i = 0; i < data->count; i++) {
		size_t deep = bb_view_depth(data, i);

		bb_view_message(v, &data->item[i], 2 * (deep < DEEPEST ? deep : DEEPEST));
	}
}

void bb_view_artifacts(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "ID",  "PATH",        "VERSION", "BY",
					     "AGE", "DESCRIPTION", NULL };
	struct table t = table_new(v, heads);

	VALUE_EACH(a, data) {
		struct str version = value_str(a, "version");

		table_row(&t);
		table_cell(&t, 0, PAINT_NONE,
			   arena_fmt(v->out.mem, "%" PRId64, value_count(a, "id")));
		table_cell(&t, 1, PAINT_BOLD, value_str(a, "path"));
		table_cell(&t, 2, PAINT_NONE, version.p ? version : STR("-"));
		table_cell(&t, 3, PAINT_NONE, value_str(a, "produced_by"));
		table_cell(&t, 4, PAINT_DIM, view_age(v, value_str(a, "created_at")));
		table_cell(&t, 5, PAINT_NONE, value_str(a, "description"));
	}
	table_has_paths(&t, 1);
	table_print_or(&t, "No artifacts found.");
}

void bb_view_artifact_add(struct view *v, const struct value *data)
{
	view_say(v, data, "Registered artifact: {path} (ID: {id})");
}

void bb_view_artifact(struct view *v, const struct value *data)
{
	struct str version = value_str(data, "version"), at = value_str(data, "created_at");

	view_paint(v, PAINT_BOLD, value_str(data, "path"));
	view_say(v, data, " (ID: {id})");
	view_say(v, data, "  Description: {description}");
	view_say(v, data, "  Produced by: {produced_by}");
	if (version.p)
		view_line(v, "  Version: " STR_FMT, STR_ARG(version));
	view_line(v, "  Registered: " STR_FMT " (" STR_FMT ")", STR_ARG(view_age(v, at)),
		  STR_ARG(at));
	list_refs(v, value_find(data, "refs"), 2);
}

static void bb_view_section(struct view *v, const char *title, size_t count)
{
	view_paint(v, PAINT_BOLD, arena_fmt(v->out.mem, "%s (%zu)", title, count));
	buf_char(&v->out, '\n');
}

void bb_view_refs(struct view *v, const struct value *data)
{
	const struct value *messages = value_find(data, "messages");
	const struct value *artifacts = value_find(data, "artifacts");

	bb_view_section(v, "Messages", messages->count);
	bb_view_log(v, messages);
	bb_view_section(v, "Artifacts", artifacts->count);
	bb_view_artifacts(v, artifacts);
}

void bb_view_clear(struct view *v, const struct value *data)
{
	if (!value_count(data, "messages") && !value_count(data, "agents") &&
	    !value_count(data, "artifacts")) {
		view_line(v, "Nothing to clear.");
		return;
	}
	view_line(v, value_yes(data, "confirmed") ? "Deleted:" : "This would delete:");
	bb_view_counts(v, data);
}

void bb_view_summary(struct view *v, const struct value *data)
{
	const struct value *agents = value_find(data, "agents");
	const struct value *blocked = value_find(data, "blocked_agents");
	const struct value *recent = value_find(data, "recent_messages");
	const struct value *high = value_find(data, "high_priority_messages");
	const struct value *artifacts = value_find(data, "recent_artifacts");

	bb_view_section(v, "Agents", agents->count);
	bb_view_agents(v, agents);
	if (blocked->count) {
		bb_view_section(v, "\nBlocked", blocked->count);
		VALUE_EACH(one, blocked)
			view_say(v, one, "  {id}: {blockers}");
	}
	bb_view_section(v, "\nHigh priority", high->count);
	bb_view_log(v, high);
	bb_view_section(v, "\nRecent messages", recent->count);
	bb_view_log(v, recent);
	bb_view_section(v, "\nRecent artifacts", artifacts->count);
	bb_view_artifacts(v, artifacts);
}
