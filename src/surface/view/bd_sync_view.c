/* Syncs, repairs and history. */
#include <inttypes.h>

#include "base/moment.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "surface/view/bd_view.h"

enum { VALUE_COLUMNS = 60 };

/* Relative, and exact with --long. */
static struct str history_time(struct view *v, struct str moment)
{
	return view_wants(v, ROLE_LONG) ? moment : view_age(v, moment);
}

/* --- syncs --- */

void bd_sync_state(struct view *v, const struct value *data)
{
	int64_t pending = value_count(data, "pending"), failures = value_count(data, "failures");
	struct str oldest = value_str(data, "oldest_pending"), last = value_str(data, "last_sync");
	const struct value *published = value_find(data, "published");

	if (pending)
		view_line(v, "%" PRId64 " change%s not pushed yet%s" STR_FMT ".", pending,
			  pending == 1 ? " is" : "s are", oldest.p ? ", the oldest from " : "",
			  STR_ARG(history_time(v, oldest)));
	else
		view_line(v, "All changes are in a commit%s.",
			  published && published->type == VALUE_BOOL && !published->yes ?
				  ", which is not pushed yet" :
				  "");
	view_line(v, "Last sync: " STR_FMT, STR_ARG(last.p ? history_time(v, last) : STR("never")));
	if (failures)
		view_line(v, "It has failed %" PRId64 " time%s since: " STR_FMT, failures,
			  failures == 1 ? "" : "s", STR_ARG(value_str(data, "last_error")));
}

static void sync_put_counts(struct view *v, const struct value *data, bool dry)
{
	int64_t pulled = value_count(data, "pulled"), pushed = value_count(data, "pushed");
	struct str remote = value_str(data, "remote"), commit = value_str(data, "commit");
	const struct value *shared = value_find(data, "shared");
	int64_t received = value_count(shared, "received"), sent = value_count(shared, "sent");
	bool there = str_is(value_str(data, "durability"), "remote");

	if (!remote.p)
		view_line(v, "There is no Git remote 'origin' to push to; all beads are stored "
			     "locally. Run 'git remote add origin URL' to add one.");
	if (!pulled && !pushed && !received && !sent)
		view_line(v, "Nothing new%s.", remote.p ? " on either side" : "");
	if (pulled)
		view_line(v, "%s %" PRId64 " change%s.", dry ? "Would pull" : "Pulled", pulled,
			  pulled == 1 ? "" : "s");
	if (pushed)
		view_line(v, "%s %" PRId64 " change%s.",
			  dry   ? "Would push" :
			  there ? "Pushed" :
				  "Committed",
			  pushed, pushed == 1 ? "" : "s");
	if (received || sent)
		view_line(v,
			  "Mail, posts, memory and reservations: received %" PRId64
			  ", sent %" PRId64 ".",
			  received, sent);
	if (!dry && commit.p)
		view_line(v, "%s " STR_FMT, there ? "The remote is at" : "Stored locally at",
			  STR_ARG(str_head(commit, 10)));
}

static void sync_put_moved(struct view *v, const struct value *moved)
{
	enum { SHOWN_MOST = 20 };
	size_t shown = 0;

	VALUE_EACH(item, moved)
		if (shown++ < SHOWN_MOST)
			view_say(v, item,
				 "Two beads were given the id {from}: the later one is {to} now.");
	if (shown > SHOWN_MOST)
		view_line(v, "%zu more beads got new ids; --json lists them.", shown - SHOWN_MOST);
}

void bd_view_sync(struct view *v, const struct value *data)
{
	const struct value *moved = value_find(data, "remapped"),
			   *lost = value_find(data, "lost_claims");
	struct str warning = value_str(data, "warning");

	if (!data->count) /* there is no store, and Git's hooks of upstream's bd must not fail */
		return;
	if (value_find(data, "failures")) {
		bd_sync_state(v, data);
		return;
	}
	sync_put_counts(v, data, value_find(data, "dry_run")->yes);
	sync_put_moved(v, moved);
	VALUE_EACH(item, lost)
		view_say(v, item, "Claim lost: {message}.");
	if (warning.p)
		view_line(v, "Note: " STR_FMT, STR_ARG(warning));
}

static void repair_put_lines(struct view *v, const struct value *commit)
{
	const struct value *lines = value_find(commit, "lines");
	struct str why = value_str(commit, "why");

	if (str_starts(why, STR("the ref "))) /* which may be at another object than a commit */
		view_line(v, "Damaged (" STR_FMT "): " STR_FMT, STR_ARG(value_str(commit, "where")),
			  STR_ARG(why));
	else
		view_line(v, "Commit " STR_FMT " (" STR_FMT ") cannot be used:%s" STR_FMT,
			  STR_ARG(str_head(value_str(commit, "commit"), 10)),
			  STR_ARG(value_str(commit, "where")), why.p ? " " : "", STR_ARG(why));
	VALUE_EACH(line, lines) {
		struct str action = value_str(line, "action");

		view_line(v, "  " STR_FMT ":%" PRId64 " %s: " STR_FMT,
			  STR_ARG(value_str(line, "file")), value_count(line, "line"),
			  str_is(action, "set_aside") ? "set aside" :
			  str_is(action, "kept_as")   ? "kept as two beads" :
							"rewritten",
			  STR_ARG(value_str(line, "why")));
		if (str_is(value_str(line, "action"), "set_aside"))
			view_line(v, "    " STR_FMT,
				  STR_ARG(utf8_shorten(v->out.mem, value_str(line, "text"),
						       v->width > 8 ? v->width - 4 : 8)));
	}
}

static void repair_put_journal(struct view *v, const struct value *journal)
{
	const struct value *records = value_find(journal, "records");
	struct str kept = value_str(journal, "kept_as");

	view_line(v, "The journal is damaged:");
	VALUE_EACH(one, records) {
		struct str file = value_str(one, "file"), action = value_str(one, "action");
		struct str word = str_is(action, "set_aside") ? STR("set aside") : action;

		if (file.p)
			view_line(v, "  " STR_FMT ", byte %" PRId64 ": " STR_FMT ": " STR_FMT,
				  STR_ARG(file), value_count(one, "offset"), STR_ARG(word),
				  STR_ARG(value_str(one, "why")));
		else
			view_say(v, one, "  {text}: {why}");
		if (str_is(action, "set_aside") || str_is(action, "unverified"))
			view_line(v, "    " STR_FMT,
				  STR_ARG(utf8_shorten(v->out.mem, value_str(one, "text"),
						       v->width > 8 ? v->width - 4 : 8)));
	}
	view_say(v, journal, "{salvaged} records saved, {lost} lost.");
	if (kept.p)
		view_line(v, "The damaged files were kept as " STR_FMT ".", STR_ARG(kept));
	else
		view_line(v, "Nothing was changed. 'bd repair --apply' rewrites the journal and "
			     "keeps the damaged files.");
}

static void repair_put_stamps(struct view *v, const struct value *data)
{
	VALUE_EACH(one, value_find(data, "stamps")) {
		struct str copy = value_str(one, "copy");

		view_say(v, one, "{id}: {title}");
		view_line(
			v, "  it, or a dependency of it, was last written at " STR_FMT "%s" STR_FMT,
			STR_ARG(value_str(one, "at")), copy.p ? "; copied to " : "", STR_ARG(copy));
	}
	if (!value_yes(data, "applied"))
		view_line(v, "Nothing was changed. 'bd repair --stamps --apply' copies each bead "
			     "to a new one and deletes the old one.");
}

/* Were commits only joined, and none replaced? */
static bool repair_only_kept(const struct value *commits)
{
	VALUE_EACH(one, commits) {
		const struct value *lines = value_find(one, "lines");

		if (!lines->count)
			return false;
		VALUE_EACH(item, lines)
			if (!str_is(value_str(item, "action"), "kept_as"))
				return false;
	}
	return true;
}

void bd_view_repair(struct view *v, const struct value *data)
{
	const struct value *commits = value_find(data, "commits");

	if (value_find(data, "stamps") && value_find(data, "stamps")->count) {
		repair_put_stamps(v, data);
		return;
	}
	if (value_find(data, "journal"))
		repair_put_journal(v, value_find(data, "journal"));
	else if (!commits->count)
		view_line(v, "No damage was found.");
	if (!commits->count)
		return;
	VALUE_EACH(one, commits)
		repair_put_lines(v, one);
	if (value_yes(data, "applied") && commits->count && repair_only_kept(commits))
		view_line(v, "Both versions are kept. Now run 'bd sync'.");
	else if (value_yes(data, "applied") && value_str(data, "commit").p)
		view_line(v,
			  "Repaired by commit " STR_FMT
			  "; the readable part of the old state is kept under "
			  "refs/beads/backup/. Now run 'bd sync'.",
			  STR_ARG(str_head(value_str(data, "commit"), 10)));
	else if (value_yes(data, "applied") && value_yes(data, "refetched"))
		view_line(v, "The remote has all of it, so its history was fetched again. Now run "
			     "'bd sync'.");
	else if (value_yes(data, "applied"))
		view_line(v, "Refs to it were removed. Now run 'bd sync'.");
	else if (value_yes(data, "refetched"))
		view_line(v, "Nothing was changed. The remote has all of it: 'bd repair --apply' "
			     "fetches its history again.");
	else
		view_line(v, "Nothing was changed. 'bd repair --apply' repairs it, and keeps the "
			     "readable part as a backup ref.");
}

/* --- the past --- */

/* Fields that follow from another one: who closed a bead and when is who changed it and when. */
static const struct names detail_fields =
	NAMES_OF("assignee_at", "assignee_expires", "closed_at", "closed_by", "closed_on_branch");

/* Is the value a stamp, [ms, n]? It is shown as a time. */
static bool history_is_stamp(const struct value *value, int64_t *ms)
{
	return value->type == VALUE_ARRAY && value->count == 2 &&
	       value->item[0].type == VALUE_NUMBER && value->item[0].text.n > 10 &&
	       number_int(value->item[0].text, ms);
}

/* Shows the last note, which is the new one. */
static struct str history_notes(struct view *v, const struct value *notes)
{
	struct str last = value_str(&notes->item[notes->count - 1], "content");

	return arena_fmt(v->out.mem, "%zu, the last: " STR_FMT, notes->count,
			 STR_ARG(utf8_shorten(v->out.mem, last, VALUE_COLUMNS)));
}

/* A value on one line, texts without quotes. */
static struct str history_value(struct view *v, const struct value *value)
{
	struct json j = json_new(v->out.mem);
	int64_t ms;

	if (!value || value->type == VALUE_NULL)
		return STR("-");
	if (history_is_stamp(value, &ms))
		return history_time(v, moment_format(v->out.mem, ms));
	if (value->type == VALUE_ARRAY && value->count && value->item[0].type == VALUE_OBJECT)
		return history_notes(v, value);
	if (value->type == VALUE_STRING)
		return utf8_shorten(v->out.mem, value->text, VALUE_COLUMNS);
	json_value(&j, value);
	return utf8_shorten(v->out.mem, json_text(&j), VALUE_COLUMNS);
}

/* Was the bead deferred, or no longer deferred? The store keeps that as a status of upstream's. */
static bool history_is_deferral(const struct value *field)
{
	return str_is(value_str(field, "field"), "original_status") &&
	       (str_is(value_str(field, "new"), "deferred") ||
		(str_is(value_str(field, "old"), "deferred") && !value_str(field, "new").p));
}

static void history_put_fields(struct view *v, const struct value *change)
{
	const struct value *fields = value_find(change, "fields");
	bool new = str_is(value_str(change, "change"), "created");

	for (size_t i = 0; fields && !new &&i < fields->count; i++) {
		const struct value *f = &fields->item[i];

		if (!view_wants(v, ROLE_LONG) && names_has(&detail_fields, value_str(f, "field")))
			continue;
		if (history_is_deferral(f))
			view_line(v, "    deferred: %s",
				  value_str(f, "new").p ? "no → yes" : "yes → no");
		else
			view_line(v, "    " STR_FMT ": " STR_FMT " → " STR_FMT,
				  STR_ARG(value_str(f, "field")),
				  STR_ARG(history_value(v, value_find(f, "old"))),
				  STR_ARG(history_value(v, value_find(f, "new"))));
	}
}

void bd_view_commits(struct view *v, const struct value *data)
{
	VALUE_EACH(one, data) {
		view_paint(v, PAINT_YELLOW, str_head(value_str(one, "commit"), 10));
		view_line(v, "  " STR_FMT,
			  STR_ARG(history_time(v, value_str(one, "committed_at"))));
	}
}

void bd_view_trend(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "AT",          "OPEN",   "READY", "BLOCKED",
					     "IN PROGRESS", "CLOSED", NULL };
	static const char *const names[] = { "open", "ready", "blocked", "in_progress", "closed" };
	struct table t = table_new(v, heads);

	if (!data->count)
		view_line(v, "Nothing was published in this time. 'bd sync' publishes.");
	VALUE_EACH(one, data) {
		table_row(&t);
		table_cell(&t, 0, PAINT_NONE, history_time(v, value_str(one, "at")));
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			table_cell(&t, k + 1, PAINT_NONE, value_find(one, names[k])->text);
	}
	if (data->count)
		table_print(&t);
}

void bd_view_history(struct view *v, const struct value *data)
{
	VALUE_EACH(one, data) {
		view_paint(v, PAINT_YELLOW, str_head(value_str(one, "commit"), 10));
		view_line(v, "  " STR_FMT "  " STR_FMT " by " STR_FMT,
			  STR_ARG(history_time(v, value_str(one, "at"))),
			  STR_ARG(value_str(one, "change")), STR_ARG(value_str(one, "by")));
		history_put_fields(v, one);
	}
}

void bd_view_blame(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "FIELD", "BY", "AT", "COMMIT", "VALUE", NULL };
	struct table t = table_new(v, heads);

	VALUE_EACH(one, data) {
		if (!view_wants(v, ROLE_LONG) && names_has(&detail_fields, value_str(one, "field")))
			continue;
		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, value_str(one, "field"));
		table_cell(&t, 1, PAINT_NONE, value_str(one, "by"));
		table_cell(&t, 2, PAINT_NONE, history_time(v, value_str(one, "at")));
		table_cell(&t, 3, PAINT_YELLOW, str_head(value_str(one, "commit"), 10));
		table_cell(&t, 4, PAINT_NONE, history_value(v, value_find(one, "value")));
	}
	table_print(&t);
}

static void history_put_edges(struct view *v, const struct value *edges)
{
	VALUE_EACH(one, edges)
		view_say(v, one, "{change} dependency: {from} depends on {to} ({kind})");
}

static void history_put_beads(struct view *v, const struct value *beads)
{
	VALUE_EACH(one, beads) {
		view_put(v, one, "{change} ");
		view_paint(v, PAINT_BOLD, value_str(one, "id"));
		view_say(v, one, ": {title}");
		history_put_fields(v, one);
	}
}

void bd_view_diff(struct view *v, const struct value *data)
{
	const struct value *beads = value_find(data, "beads"),
			   *edges = value_find(data, "dependencies");

	history_put_beads(v, beads);
	history_put_edges(v, edges);
	if (!beads->count && !edges->count)
		view_line(v, "No difference.");
}

void bd_view_undo(struct view *v, const struct value *data)
{
	view_line(v,
		  "%s your last change (%s):", value_yes(data, "undone") ? "Undid" : "Would undo",
		  view_age(v, value_str(data, "written_at")).p);
	history_put_beads(v, value_find(data, "beads"));
	history_put_edges(v, value_find(data, "dependencies"));
}
