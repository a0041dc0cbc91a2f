/* One bead: in a line after a change, and as a page. */
#include "surface/view/bd_view.h"

#include <inttypes.h>

#include "beads/model/bead.h"

enum paint bd_view_status_paint(struct str status)
{
	return str_is(status, "closed")      ? PAINT_DIM :
	       str_is(status, "in_progress") ? PAINT_YELLOW :
					       PAINT_NONE;
}

static void bead_put_line(struct view *v, const char *what, const struct value *bead)
{
	buf_fmt(&v->out, "%s ", what);
	view_paint(v, PAINT_BOLD, value_str(bead, "id"));
	view_say(v, bead, ": {title}");
}

/* "lease ends in 2h", "lease ended 5m ago"; exact with --long. */
static struct str bead_lease(struct view *v, struct str end)
{
	struct str age = view_age(v, end);
	bool over = str_ends(age, STR(" ago"));

	if (view_wants(v, ROLE_LONG))
		return arena_fmt(v->out.mem, "lease until " STR_FMT, STR_ARG(end));
	return arena_fmt(v->out.mem, "lease %s " STR_FMT, over ? "ended" : "ends", STR_ARG(age));
}

static void bead_put_claim(struct view *v, const struct value *bead)
{
	struct str end = value_str(bead, "assignee_expires");
	const struct value *epoch = value_find(bead, "epoch");

	if (!value_str(bead, "assignee").p)
		return;
	view_put(v, bead, "  claimed by {assignee}");
	if (end.p)
		buf_fmt(&v->out, ", %s", bead_lease(v, end).p);
	if (epoch && epoch->count == 2)
		buf_fmt(&v->out, ", epoch [" STR_FMT "," STR_FMT "]", STR_ARG(epoch->item[0].text),
			STR_ARG(epoch->item[1].text));
	if (str_is(value_str(bead, "durability"), "remote"))
		buf_put(&v->out, STR(", confirmed by the remote"));
	buf_char(&v->out, '\n');
}

static void bd_view_created_one(struct view *v, const struct value *bead)
{
	const struct value *similar = value_find(bead, "similar");

	bead_put_line(v, view_wants(v, ROLE_DRY_RUN) ? "Would create" : "Created", bead);
	VALUE_EACH(one, similar)
		view_line(v, "  similar: " STR_FMT " (%lld%%) " STR_FMT,
			  STR_ARG(value_str(one, "id")), (long long)value_count(one, "score"),
			  STR_ARG(value_str(one, "title")));
}

void bd_view_created(struct view *v, const struct value *data)
{
	if (data->type == VALUE_ARRAY)
		bd_view_plan(v, data);
	else
		bd_view_created_one(v, data);
}

static void bead_put_change(struct view *v, const char *word, const struct value *bead)
{
	bead_put_line(v, word, bead);
	view_say(v, bead, "  {status}, priority {priority}");
	bead_put_claim(v, bead);
}

static void bd_view_updated_one(struct view *v, const struct value *bead)
{
	bead_put_change(v, value_yes(bead, "unchanged") ? "Nothing to change in" : "Updated", bead);
}

void bd_view_updated(struct view *v, const struct value *data)
{
	view_each(v, data, bd_view_updated_one);
}

/* A date that somebody has chosen is shown as it is, and how far away it is. */
static struct str bead_date(struct view *v, struct str date)
{
	return date.p ? arena_fmt(v->out.mem, STR_FMT " (%s)", STR_ARG(date), view_age(v, date).p) :
			STR_NONE;
}

static void bd_view_deferred_one(struct view *v, const struct value *bead)
{
	struct str until = value_str(bead, "defer_until");

	bead_put_line(v, "Deferred", bead);
	if (until.p)
		view_line(v, "  not ready before " STR_FMT, STR_ARG(bead_date(v, until)));
	else
		view_line(v, "  not ready before: bd undefer " STR_FMT,
			  STR_ARG(value_str(bead, "id")));
}

void bd_view_deferred(struct view *v, const struct value *data)
{
	view_each(v, data, bd_view_deferred_one);
}

static void bd_view_reopened_one(struct view *v, const struct value *bead)
{
	bead_put_change(v, "Reopened", bead);
}

void bd_view_reopened(struct view *v, const struct value *data)
{
	view_each(v, data, bd_view_reopened_one);
}

static void bd_view_restored_one(struct view *v, const struct value *bead)
{
	bead_put_change(v, "Restored", bead);
}

void bd_view_restored(struct view *v, const struct value *data)
{
	view_each(v, data, bd_view_restored_one);
}

static void bd_view_claimed_one(struct view *v, const struct value *bead)
{
	struct str why = value_str(bead, "why");

	if (value_yes(bead, "left_out")) {
		view_line(v, "Not claimed: " STR_FMT ", " STR_FMT, STR_ARG(value_str(bead, "id")),
			  STR_ARG(why));
		return;
	}
	bead_put_line(v, "Claimed", bead);
	bead_put_claim(v, bead);
}

void bd_view_claimed(struct view *v, const struct value *data)
{
	view_each(v, data, bd_view_claimed_one);
}

static void bd_view_reclaimed_one(struct view *v, const struct value *bead)
{
	bead_put_line(v, view_wants(v, ROLE_DRY_RUN) ? "Would reopen" : "Reopened", bead);
}

void bd_view_reclaimed(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "No lease has expired.");
	view_each(v, data, bd_view_reclaimed_one);
}

static void bd_view_closed_one(struct view *v, const struct value *bead)
{
	if (value_yes(bead, "unblocked"))
		bead_put_line(v, "Ready now:", bead);
	else if (value_find(bead, "epoch"))
		bd_view_claimed_one(v, bead);
	else
		bead_put_line(v, "Closed", bead);
}

void bd_view_closed(struct view *v, const struct value *data)
{
	view_each(v, data, bd_view_closed_one);
}

static void bd_view_deleted_one(struct view *v, const struct value *bead)
{
	int64_t dependents = value_count(bead, "dependent_count");

	bead_put_line(v, value_yes(bead, "deleted") ? "Deleted" : "Would delete", bead);
	if (dependents)
		view_line(v, "  %" PRId64 " other%s depend%s on it", dependents,
			  dependents == 1 ? "" : "s", dependents == 1 ? "s" : "");
}

void bd_view_deleted(struct view *v, const struct value *data)
{
	view_each(v, data, bd_view_deleted_one);
}

/* --- the page of a bead --- */

static void bead_put_section(struct view *v, const char *title, const struct value *text)
{
	if (!value_text(text).n)
		return;
	buf_char(&v->out, '\n');
	view_paint(v, PAINT_BOLD, str_of(title));
	buf_char(&v->out, '\n');
	view_wrap(v, view_whole(text), 2);
}

static void bead_put_fact(struct view *v, const char *name, struct str text)
{
	if (text.n)
		view_line(v, "  %-11s " STR_FMT, name, STR_ARG(text));
}

static struct str bead_dated(struct view *v, const struct value *bead, const char *at,
			     const char *by)
{
	struct str when = value_str(bead, at), who = value_str(bead, by);

	if (!when.p)
		return STR_NONE;
	if (view_wants(v, ROLE_LONG))
		return arena_fmt(v->out.mem, STR_FMT " (%s) by " STR_FMT, STR_ARG(when),
				 view_age(v, when).p, STR_ARG(who));
	return arena_fmt(v->out.mem, "%s by " STR_FMT, view_age(v, when).p, STR_ARG(who));
}

static void bead_put_links(struct view *v, const char *title, const struct value *list, bool up)
{
	static const char *const heads[] = { "", "", "", "", NULL };
	struct table t = table_new(v, heads);

	if (!list || !list->count)
		return;
	buf_char(&v->out, '\n');
	view_paint(v, PAINT_BOLD, str_of(title));
	buf_char(&v->out, '\n');
	VALUE_EACH(bead, list) {
		struct str status = value_str(bead, "status");

		table_row(&t);
		table_cell(&t, 0, PAINT_NONE,
			   arena_fmt(v->out.mem, "  " STR_FMT,
				     STR_ARG(bd_view_relation(value_str(bead, "dependency_type"),
							      up))));
		table_cell(&t, 1, PAINT_BOLD, value_str(bead, "id"));
		table_cell(&t, 2, bd_view_status_paint(status), status);
		table_cell(&t, 3, PAINT_NONE, value_str(bead, "title"));
	}
	table_print(&t);
}

static void bead_put_notes(struct view *v, const struct value *comments)
{
	VALUE_EACH(note, comments) {
		buf_put(&v->out, STR("  "));
		view_paint(v, PAINT_BOLD, value_str(note, "author"));
		buf_char(&v->out, ' ');
		view_paint(v, PAINT_DIM, view_age(v, value_str(note, "created_at")));
		buf_char(&v->out, '\n');
		view_wrap(v, view_whole(value_find(note, "text")), 4);
	}
}

/* Another bead may have been created with this id and remapped; its new id is shown. */
static void bead_put_remaps(struct view *v, const struct value *bead)
{
	const struct value *remap = value_find(bead, "remap");

	VALUE_EACH(one, remap)
		bead_put_fact(
			v, "not this",
			arena_fmt(v->out.mem,
				  "what " STR_FMT " created as " STR_FMT " is " STR_FMT " now",
				  STR_ARG(value_str(one, "created_by")),
				  STR_ARG(value_str(bead, "id")), STR_ARG(value_str(one, "to"))));
}

/* The text members with an option of their own, in the order of the reply. */
static void bead_put_options(struct view *v, const struct value *bead)
{
	VALUE_EACH(one, bead) {
		int m = member_find(one->key);
		const struct member_option *o = m < 0 ? NULL : member_option((enum member)m);

		if (o && o->section)
			bead_put_section(v,
					 arena_fmt(v->out.mem, "%c%s", o->option[0] - 'a' + 'A',
						   o->option + 1)
						 .p,
					 one);
	}
}

/* A bead that was deferred without a time waits for 'bd undefer'. */
static void bead_put_deferral(struct view *v, const struct value *bead)
{
	struct str was = value_str(bead, "original_status"), until = value_str(bead, "defer_until");
	bool deferred = str_is(was, "deferred");

	bead_put_fact(v, "imported as", deferred ? STR_NONE : was);
	bead_put_fact(v, "deferred",
		      deferred && !until.p ? STR("until 'bd undefer'") : bead_date(v, until));
}

static void bead_put_plan(struct view *v, const struct value *bead)
{
	int64_t minutes;

	bead_put_deferral(v, bead);
	bead_put_fact(v, "due", bead_date(v, value_str(bead, "due_at")));
	if (value_int(bead, "estimated_minutes", &minutes))
		bead_put_fact(v, "estimate", arena_fmt(v->out.mem, "%" PRId64 " minutes", minutes));
	bead_put_fact(v, "spec", value_str(bead, "spec_id"));
	bead_put_fact(v, "owner", value_str(bead, "owner"));
}

static void bead_put_commits(struct view *v, const struct value *commits)
{
	enum { DIGITS = 10 };

	if (!commits || !commits->count)
		return;
	view_line(v, "\nCommits");
	VALUE_EACH(one, commits)
		view_line(v, "  " STR_FMT " " STR_FMT " (" STR_FMT ", " STR_FMT ")",
			  STR_ARG(str_head(value_str(one, "commit"), DIGITS)),
			  STR_ARG(value_str(one, "summary")), STR_ARG(value_str(one, "author")),
			  STR_ARG(view_age(v, value_str(one, "at"))));
}

static void bead_put_page(struct view *v, const struct value *bead)
{
	struct arena *mem = v->out.mem;
	const struct value *comments = value_find(bead, "comments");
	struct str status = value_str(bead, "status"), end = value_str(bead, "assignee_expires");

	if (v->out.n)
		buf_char(&v->out, '\n');
	view_paint(v, PAINT_BOLD, value_str(bead, "id"));
	view_say(v, bead, "  {title}");
	buf_put(&v->out, STR("  "));
	view_paint(v, bd_view_status_paint(status), status);
	view_say(v, bead, " · P{priority} · {type}");
	bead_put_fact(v, "assignee",
		      end.p ? arena_fmt(mem, STR_FMT ", %s", STR_ARG(value_str(bead, "assignee")),
					bead_lease(v, end).p) :
			      value_str(bead, "assignee"));
	if (str_is(status, "in_progress") && !value_str(bead, "assignee").p)
		bead_put_fact(v, "blocked", value_str(bead, "blocked_reason"));
	bead_put_fact(v, "labels", view_join(v, value_find(bead, "labels")));
	bead_put_fact(v, "touches", view_join(v, value_find(bead, "touches")));
	bead_put_fact(v, "parent", value_str(bead, "parent"));
	bead_put_fact(v, "external", value_str(bead, "external_ref"));
	bead_put_plan(v, bead);
	bead_put_fact(v, "created", bead_dated(v, bead, "created_at", "created_by"));
	bead_put_fact(v, "changed", bead_dated(v, bead, "updated_at", "updated_by"));
	bead_put_fact(v, "closed", bead_dated(v, bead, "closed_at", "closed_by"));
	bead_put_fact(v, "reason", value_str(bead, "closed_reason"));
	bead_put_fact(v, "branch", value_str(bead, "created_on_branch"));
	if (view_wants(v, ROLE_LONG))
		bead_put_fact(v, "hash", value_str(bead, "content_hash"));
	bead_put_remaps(v, bead);
	bead_put_section(v, "Description", value_find(bead, "description"));
	bead_put_options(v, bead);
	bead_put_commits(v, value_find(bead, "commits"));
	bead_put_section(v, "Working notes", value_find(bead, "notes_text"));
	bead_put_links(v, "Depends on", value_find(bead, "dependencies"), false);
	bead_put_links(v, "Needed by", value_find(bead, "dependents"), true);
	if (comments && comments->count) {
		buf_char(&v->out, '\n');
		view_paint(v, PAINT_BOLD, STR("Comments\n"));
	}
	bead_put_notes(v, comments);
}

void bd_view_show(struct view *v, const struct value *data)
{
	view_each(v, data, bead_put_page);
}

void bd_view_why(struct view *v, const struct value *data)
{
	const struct value *reasons = value_find(data, "reasons");
	bool ready = value_yes(data, "ready");

	view_paint(v, PAINT_BOLD, value_str(data, "id"));
	buf_put(&v->out, STR(" is "));
	view_paint(v, ready ? PAINT_GREEN : PAINT_YELLOW, ready ? STR("ready") : STR("not ready"));
	view_say(v, data, ": {title}");
	VALUE_EACH(one, reasons)
		view_say(v, one, "  {message}");
}

void bd_view_comment(struct view *v, const struct value *data)
{
	view_say(v, data, "Added a comment to {issue_id}");
}

void bd_view_comments(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "No comments.");
	bead_put_notes(v, data);
}

void bd_view_labels(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "No labels.");
	VALUE_EACH(one, data)
		view_line(v, "  " STR_FMT, STR_ARG(one->text));
}
