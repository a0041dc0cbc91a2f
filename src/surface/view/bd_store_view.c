/* The store as a whole: setup, counts, checks, settings. */
#include "surface/view/bd_view.h"

#include <inttypes.h>

void bd_view_init(struct view *v, const struct value *data)
{
	if (str_is(value_str(data, "result"), "exists")) {
		view_say(v, data, "Beads are already set up: {store} (prefix {prefix})");
		return;
	}
	if (str_is(value_str(data, "result"), "updated")) {
		view_say(v, data, "New ids begin with '{prefix}-' from now on; existing ids stay.");
		return;
	}
	if (str_is(value_str(data, "result"), "joined"))
		view_line(v, "Joined the existing beads of this project, from its Git ref.");
	view_say(v, data, "Beads are stored in {store}");
	view_say(v, data, "Ids begin with '{prefix}-'. No file of yours was changed.\n");
	view_line(v, "For the agents that work here, add this to AGENTS.md:\n");
	view_lines(v, view_whole(value_find(data, "agents_md")));
	view_line(v, str_is(value_str(data, "result"), "joined") ?
			     "Try: bd ready" :
			     "Try: bd create \"my first bead\"");
}

void bd_view_status(struct view *v, const struct value *data)
{
	static const struct {
		const char *name, *key;
	} rows[] = {
		{ "open", "open_issues" },       { "in progress", "in_progress_issues" },
		{ "closed", "closed_issues" },   { "ready", "ready_issues" },
		{ "blocked", "blocked_issues" }, { "expired leases", "expired_claims" },
		{ "deleted", "deleted_issues" },
	};

	view_line(v, "%" PRId64 " bead%s", value_count(data, "total_issues"),
		  value_count(data, "total_issues") == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		view_line(v, "  %-14s%6" PRId64, rows[i].name, value_count(data, rows[i].key));
	bd_sync_state(v, value_find(data, "sync"));
	if (value_count(data, "clock_ahead_ms") > 60000)
		view_line(v, "The last change is %" PRId64 " s ahead of this machine's clock.",
			  value_count(data, "clock_ahead_ms") / 1000);
}

void bd_view_count(struct view *v, const struct value *data)
{
	const struct value *list = value_find(data, "groups");

	VALUE_EACH(one, list) {
		struct str name = value_str(one, "group");

		view_line(v, "%6" PRId64 "  " STR_FMT, value_count(one, "count"),
			  STR_ARG(name.p ? name : STR("(none)")));
	}
	if (!list)
		view_say(v, data, "{count}");
}

void bd_view_all_labels(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "No labels.");
	VALUE_EACH(one, data)
		view_line(v, "%6" PRId64 "  " STR_FMT, value_count(one, "count"),
			  STR_ARG(value_str(one, "label")));
}

void bd_view_validate(struct view *v, const struct value *data)
{
	int64_t errors = value_count(data, "errors"), warnings = value_count(data, "warnings");

	VALUE_EACH(f, value_find(data, "findings")) {
		bool error = str_is(value_str(f, "severity"), "error");

		view_paint(v, error ? PAINT_RED : PAINT_YELLOW, value_str(f, "severity"));
		view_put(v, f, " {code} {file}");
		if (value_count(f, "line"))
			view_put(v, f, ":{line}");
		view_say(v, f, ": {message}");
	}
	view_line(v, "%" PRId64 " error%s, %" PRId64 " warning%s", errors, errors == 1 ? "" : "s",
		  warnings, warnings == 1 ? "" : "s");
}

void bd_view_doctor(struct view *v, const struct value *data)
{
	VALUE_EACH(k, value_find(data, "checks")) {
		struct str status = value_str(k, "status");

		view_paint(v, str_is(status, "ok") ? PAINT_GREEN : PAINT_YELLOW, status);
		view_say(v, k, " {code}: {message}");
		if (value_str(k, "fix").p)
			view_say(v, k, "   → {fix}");
	}
}

void bd_view_where(struct view *v, const struct value *data)
{
	struct str store = value_str(data, "store");

	view_line(v, STR_FMT, STR_ARG(store.p ? store : STR("none")));
	view_say(v, data, "  repository: {repository}");
	if (!store.p) {
		view_say(v, data, "  {why}");
		return;
	}
	view_say(v, data, "  published to: {ref}");
	view_say(v, data, "  {why}");
	if (!value_yes(data, "exists"))
		view_line(v, "  It does not exist yet: 'bd init' creates it.");
}

void bd_view_info(struct view *v, const struct value *data)
{
	view_say(v, data, "bd version {version}");
	view_say(v, data, "  store:   {store}");
	view_say(v, data, "  prefix:  {prefix}");
	view_say(v, data, "  you are: {actor}");
	view_say(v, data, "  beads:   {beads}, including deleted ones");
	view_say(v, data, "  journal: {journal_bytes} bytes");
}

void bd_view_version(struct view *v, const struct value *data)
{
	struct str build = value_str(data, "build"); /* in upstream's dialect */

	view_line(v, "bd version " STR_FMT "%s" STR_FMT "%s", STR_ARG(value_str(data, "version")),
		  build.p ? " (" : "", STR_ARG(build), build.p ? ")" : "");
}

void bd_view_setting(struct view *v, const struct value *data)
{
	view_line(v, STR_FMT " = " STR_FMT "%s", STR_ARG(value_str(data, "key")),
		  STR_ARG(value_str(data, "value")), value_yes(data, "set") ? "" : "  (default)");
}

/* In a list, with the meaning. */
static void view_explained_setting(struct view *v, const struct value *one)
{
	bd_view_setting(v, one);
	view_wrap(v, value_str(one, "help"), 4);
}

void bd_view_settings(struct view *v, const struct value *data)
{
	view_each(v, data, view_explained_setting);
}
