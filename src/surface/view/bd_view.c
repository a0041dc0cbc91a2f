#include "surface/view/bd_view.h"

#include <inttypes.h>

#include "base/map.h"
#include "base/moment.h"
#include "base/names.h"
#include "beads/model/bead.h"
#include "surface/view/view.h"

/* --- one bead in a line --- */

static enum paint bd_view_status_paint(struct str status)
{
	return str_is(status, "closed")      ? PAINT_DIM :
	       str_is(status, "in_progress") ? PAINT_YELLOW :
					       PAINT_NONE;
}

static enum paint bd_view_priority_paint(int64_t priority)
{
	return priority == 0 ? PAINT_RED : priority == 1 ? PAINT_YELLOW : PAINT_NONE;
}

static void bd_view_bead_line(struct view *v, const char *what, const struct value *bead)
{
	buf_fmt(&v->out, "%s ", what);
	view_paint(v, PAINT_BOLD, value_str(bead, "id"));
	view_line(v, ": " STR_FMT, STR_ARG(value_str(bead, "title")));
}

static void claim_line(struct view *v, const struct value *bead)
{
	struct str end = value_str(bead, "assignee_expires");
	const struct value *epoch = value_find(bead, "epoch");

	if (!value_str(bead, "assignee").p)
		return;
	buf_fmt(&v->out, "  held by " STR_FMT, STR_ARG(value_str(bead, "assignee")));
	if (end.p)
		buf_fmt(&v->out, " until " STR_FMT, STR_ARG(end));
	if (epoch && epoch->count == 2)
		buf_fmt(&v->out, ", epoch [" STR_FMT "," STR_FMT "]", STR_ARG(epoch->item[0].text),
			STR_ARG(epoch->item[1].text));
	buf_char(&v->out, '\n');
}

void bd_view_init(struct view *v, const struct value *data)
{
	if (str_is(value_str(data, "result"), "exists")) {
		view_line(v, "Beads are here already: " STR_FMT " (prefix " STR_FMT ")",
			  STR_ARG(value_str(data, "store")), STR_ARG(value_str(data, "prefix")));
		return;
	}
	if (str_is(value_str(data, "result"), "updated")) {
		view_line(v, "New ids begin with '" STR_FMT "-' from now on; the others stay.",
			  STR_ARG(value_str(data, "prefix")));
		return;
	}
	if (str_is(value_str(data, "result"), "joined"))
		view_line(v, "The beads of this project were taken from its Git ref.");
	view_line(v, "Beads are kept in " STR_FMT, STR_ARG(value_str(data, "store")));
	view_line(v, "Ids begin with '" STR_FMT "-'. None of your files was touched.\n",
		  STR_ARG(value_str(data, "prefix")));
	view_line(v, "For the agents that work here, add to AGENTS.md:\n");
	view_lines(v, value_str(data, "agents_md"));
	view_line(v, str_is(value_str(data, "result"), "joined") ?
			     "Try: bd ready" :
			     "Try: bd create \"my first bead\"");
}

static void bd_view_each(struct view *v, const struct value *data,
			 void (*show)(struct view *v, const struct value *one))
{
	if (data->type != VALUE_ARRAY) {
		show(v, data);
		return;
	}
	for (size_t i = 0; i < data->count; i++)
		show(v, &data->item[i]);
}

static void bd_view_created_one(struct view *v, const struct value *bead)
{
	bd_view_bead_line(v, view_wants(v, ROLE_DRY_RUN) ? "Would create" : "Created", bead);
}

void bd_view_created(struct view *v, const struct value *data)
{
	bd_view_each(v, data, bd_view_created_one);
}

static void bd_view_updated_one(struct view *v, const struct value *bead)
{
	bd_view_bead_line(v, "Updated", bead);
	view_line(v, "  " STR_FMT ", priority %" PRId64, STR_ARG(value_str(bead, "status")),
		  view_number(bead, "priority"));
	claim_line(v, bead);
}

void bd_view_updated(struct view *v, const struct value *data)
{
	bd_view_each(v, data, bd_view_updated_one);
}

static void bd_view_claimed_one(struct view *v, const struct value *bead)
{
	bd_view_bead_line(v, "Yours:", bead);
	claim_line(v, bead);
}

void bd_view_claimed(struct view *v, const struct value *data)
{
	bd_view_each(v, data, bd_view_claimed_one);
}

static void bd_view_reclaimed_one(struct view *v, const struct value *bead)
{
	bd_view_bead_line(v, view_wants(v, ROLE_DRY_RUN) ? "Would open" : "Open again", bead);
}

void bd_view_reclaimed(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "No lease has ended.");
	bd_view_each(v, data, bd_view_reclaimed_one);
}

static void bd_view_closed_one(struct view *v, const struct value *bead)
{
	if (view_yes(bead, "unblocked"))
		bd_view_bead_line(v, "Ready now:", bead);
	else if (value_find(bead, "epoch"))
		bd_view_claimed_one(v, bead);
	else
		bd_view_bead_line(v, "Closed", bead);
}

void bd_view_closed(struct view *v, const struct value *data)
{
	bd_view_each(v, data, bd_view_closed_one);
}

static void bd_view_deleted_one(struct view *v, const struct value *bead)
{
	int64_t dependents = view_number(bead, "dependent_count");

	bd_view_bead_line(v, view_yes(bead, "deleted") ? "Deleted" : "Would delete", bead);
	if (dependents)
		view_line(v, "  %" PRId64 " other%s depend%s on it", dependents,
			  dependents == 1 ? "" : "s", dependents == 1 ? "s" : "");
}

void bd_view_deleted(struct view *v, const struct value *data)
{
	bd_view_each(v, data, bd_view_deleted_one);
}

void bd_view_tombstones(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "ID", "DELETED", "BY", "TITLE", "REASON", NULL };
	struct table t = table_new(v, heads);

	for (size_t i = 0; i < data->count; i++) {
		const struct value *d = &data->item[i];
		struct str reason = value_str(d, "reason"), title = value_str(d, "title");

		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, value_str(d, "id"));
		table_cell(&t, 1, PAINT_DIM, view_age(v, value_str(d, "deleted_at")));
		table_cell(&t, 2, PAINT_NONE, value_str(d, "deleted_by"));
		table_cell(&t, 3, PAINT_NONE, title.p ? title : STR("-"));
		table_cell(&t, 4, PAINT_NONE, reason.p ? reason : STR("-"));
	}
	if (data->count)
		table_print(&t);
	else
		view_line(v, "Nothing was deleted.");
}

/* --- tables --- */

static struct str holder_of(struct view *v, const struct value *bead)
{
	struct str end = value_str(bead, "assignee_expires"), name = value_str(bead, "assignee");
	int64_t ms;

	if (!name.p)
		return STR("-");
	if (end.p && moment_parse(end, &ms) && ms <= v->now_ms)
		return arena_fmt(v->out.mem, STR_FMT " (ended)", STR_ARG(name));
	return name;
}

static void bead_cells(struct table *t, const struct value *bead, struct str title)
{
	struct view *v = t->view;
	struct str status = value_str(bead, "status");
	int64_t priority = view_number(bead, "priority");

	table_row(t);
	table_cell(t, 0, PAINT_BOLD, value_str(bead, "id"));
	table_cell(t, 1, bd_view_priority_paint(priority),
		   arena_fmt(v->out.mem, "P%" PRId64, priority));
	table_cell(t, 2, PAINT_NONE, value_str(bead, "type"));
	table_cell(t, 3, bd_view_status_paint(status), status);
	table_cell(t, 4, PAINT_NONE, holder_of(v, bead));
	table_cell(t, 5, PAINT_NONE, title);
}

static const char *const bead_heads[] = { "ID", "P", "TYPE", "STATUS", "ASSIGNEE", "TITLE", NULL };

enum { DEEPEST = 100 }; /* what is deeper begins again at the left */

/* Beads below their parents; `shown` has a mark for each that has been. */
struct tree {
	struct table *table;
	const struct value *list;
	bool *shown, *below;  /* `below`: its parent is in the list */
	size_t *child, *next; /* the first child, the next of the same parent; plus one */
};

/* From the end, so that children are in the order of the list. */
static void tree_link(struct tree *t)
{
	struct map ids = { .mem = t->table->view->out.mem };
	const struct value *item = t->list->item;

	for (size_t i = 0; i < t->list->count; i++)
		*map_put(&ids, value_str(&item[i], "id")) = (void *)&item[i];
	for (size_t i = t->list->count; i > 0; i--) {
		struct str parent = value_str(&item[i - 1], "parent");
		void **at = parent.p ? map_find(&ids, parent) : NULL;
		size_t p;

		if (!at)
			continue;
		p = (size_t)((const struct value *)*at - item);
		t->below[i - 1] = true;
		t->next[i - 1] = t->child[p];
		t->child[p] = i;
	}
}

static void tree_row(struct tree *t, size_t at, size_t depth)
{
	const struct value *bead = &t->list->item[at];
	struct buf title = { .mem = t->table->view->out.mem };

	t->shown[at] = true;
	buf_pad(&title, ' ', depth ? 2 * (depth - 1) : 0);
	buf_put(&title, depth ? STR("└ ") : STR(""));
	buf_put(&title, value_str(bead, "title"));
	bead_cells(t->table, bead, buf_str(&title));
	for (size_t i = t->child[at]; i && depth < DEEPEST; i = t->next[i - 1])
		if (!t->shown[i - 1])
			tree_row(t, i - 1, depth + 1);
}

/* From the roots; then what is left, which goes round in circles. */
static void tree_rows(struct table *table, const struct value *list)
{
	struct arena *mem = table->view->out.mem;
	size_t n = list->count + 1;
	struct tree t = { .table = table,
			  .list = list,
			  .shown = arena_array(mem, n, sizeof(bool)),
			  .below = arena_array(mem, n, sizeof(bool)),
			  .child = arena_array(mem, n, sizeof(size_t)),
			  .next = arena_array(mem, n, sizeof(size_t)) };

	tree_link(&t);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < list->count; i++)
			if (!t.shown[i] && (pass || !t.below[i]))
				tree_row(&t, i, 0);
}

static void long_row(struct table *t, const struct value *bead)
{
	struct view *v = t->view;
	struct str description = value_str(bead, "description");
	struct buf b = { .mem = v->out.mem };

	bead_cells(t, bead, value_str(bead, "title"));
	buf_fmt(&b, "created %s by " STR_FMT ", changed %s",
		view_age(v, value_str(bead, "created_at")).p,
		STR_ARG(value_str(bead, "created_by")),
		view_age(v, value_str(bead, "updated_at")).p);
	if (description.n)
		buf_fmt(&b, ": " STR_FMT, STR_ARG(description));
	table_below(t, buf_str(&b));
}

enum { FORMAT_TABLE, FORMAT_IDS, FORMAT_LINES };

static void bd_view_plain(struct view *v, const struct value *data, int format)
{
	for (size_t i = 0; i < data->count; i++) {
		const struct value *bead = &data->item[i];

		if (format == FORMAT_IDS)
			view_line(v, STR_FMT, STR_ARG(value_str(bead, "id")));
		else
			view_line(v, STR_FMT " [P%" PRId64 "] [" STR_FMT "] " STR_FMT " - " STR_FMT,
				  STR_ARG(value_str(bead, "id")), view_number(bead, "priority"),
				  STR_ARG(value_str(bead, "type")),
				  STR_ARG(value_str(bead, "status")),
				  STR_ARG(value_str(bead, "title")));
	}
}

/* A bead with open children is listed as ready, but its work is in the children. */
static struct str bd_view_title_of(struct view *v, const struct value *bead)
{
	int64_t children = view_number(bead, "open_children");
	struct str title = value_str(bead, "title");

	if (!view_yes(bead, "container"))
		return title;
	return arena_fmt(v->out.mem, STR_FMT " (container: %" PRId64 " open child%s)",
			 STR_ARG(title), children, children == 1 ? "" : "ren");
}

static void table_of(struct view *v, const struct value *data)
{
	struct table t = table_new(v, bead_heads);

	if (view_wants(v, ROLE_TREE))
		tree_rows(&t, data);
	for (size_t i = 0; !view_wants(v, ROLE_TREE) && i < data->count; i++) {
		const struct value *bead = &data->item[i];

		if (view_wants(v, ROLE_LONG))
			long_row(&t, bead);
		else
			bead_cells(&t, bead, bd_view_title_of(v, bead));
		if (value_str(bead, "why").p)
			table_below(&t, value_str(bead, "why"));
	}
	table_print(&t);
}

/* A list may have been cut off where it has as many rows as were asked for. */
static void bd_view_more(struct view *v, const struct value *data)
{
	if (data->count && (int64_t)data->count == view_limit(v))
		view_line(v, "(the first %zu; -n 0 shows all)", data->count);
}

void bd_view_list(struct view *v, const struct value *data)
{
	int format = view_choice(v, ROLE_FORMAT);

	if (format > FORMAT_TABLE) {
		bd_view_plain(v, data, format);
		return;
	}
	if (!data->count) {
		view_line(v, "No beads found.");
		return;
	}
	table_of(v, data);
	bd_view_more(v, data);
}

void bd_view_ready(struct view *v, const struct value *data)
{
	if (!data->count) {
		view_line(
			v,
			"Nothing is ready. 'bd blocked' shows what waits, 'bd list' what is open.");
	} else if (view_wants(v, ROLE_CLAIM)) {
		bd_view_each(v, data, bd_view_claimed_one);
	} else {
		table_of(v, data);
		bd_view_more(v, data);
	}
}

void bd_view_blocked(struct view *v, const struct value *data)
{
	struct table t = table_new(v, bead_heads);

	for (size_t i = 0; i < data->count; i++) {
		const struct value *by = value_find(&data->item[i], "blocked_by");
		struct buf b = { .mem = v->out.mem };

		buf_put(&b, STR("waits for"));
		for (size_t k = 0; by && k < by->count; k++)
			buf_fmt(&b, " " STR_FMT, STR_ARG(by->item[k].text));
		bead_cells(&t, &data->item[i], value_str(&data->item[i], "title"));
		table_below(&t, buf_str(&b));
	}
	if (data->count)
		table_print(&t);
	else
		view_line(v, "Nothing is blocked.");
}

void bd_view_links(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "ID", "KIND", "STATUS", "TITLE", NULL };
	struct table t = table_new(v, heads);

	for (size_t i = 0; i < data->count; i++) {
		const struct value *bead = &data->item[i];
		bool up = str_is(value_str(bead, "direction"), "up");
		struct str status = value_str(bead, "status");

		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, value_str(bead, "id"));
		table_cell(&t, 1, PAINT_NONE,
			   arena_fmt(v->out.mem, "%s " STR_FMT, up ? "←" : "→",
				     STR_ARG(value_str(bead, "dependency_type"))));
		table_cell(&t, 2, bd_view_status_paint(status), status);
		table_cell(&t, 3, PAINT_NONE, value_str(bead, "title"));
	}
	if (data->count)
		table_print(&t);
	else
		view_line(v, "No dependencies.");
}

/* --- the page of a bead --- */

static void bd_view_section(struct view *v, const char *title, struct str text)
{
	if (!text.n)
		return;
	buf_char(&v->out, '\n');
	view_paint(v, PAINT_BOLD, str_of(title));
	buf_char(&v->out, '\n');
	view_wrap(v, text, 2);
}

static void bd_view_fact(struct view *v, const char *name, struct str text)
{
	if (text.n)
		view_line(v, "  %-11s " STR_FMT, name, STR_ARG(text));
}

static struct str bd_view_dated(struct view *v, const struct value *bead, const char *at,
				const char *by)
{
	struct str when = value_str(bead, at), who = value_str(bead, by);

	if (!when.p)
		return STR_NONE;
	return arena_fmt(v->out.mem, STR_FMT " (%s) by " STR_FMT, STR_ARG(when),
			 view_age(v, when).p, STR_ARG(who));
}

static struct str bd_view_joined(struct view *v, const struct value *list)
{
	struct buf b = { .mem = v->out.mem };

	for (size_t i = 0; list && i < list->count; i++)
		buf_fmt(&b, "%s" STR_FMT, i ? ", " : "", STR_ARG(list->item[i].text));
	return buf_str(&b);
}

static void link_lines(struct view *v, const char *title, const struct value *list)
{
	if (!list || !list->count)
		return;
	buf_char(&v->out, '\n');
	view_paint(v, PAINT_BOLD, str_of(title));
	buf_char(&v->out, '\n');
	for (size_t i = 0; i < list->count; i++) {
		const struct value *bead = &list->item[i];
		struct str status = value_str(bead, "status");

		buf_put(&v->out, STR("  "));
		view_paint(v, PAINT_BOLD, value_str(bead, "id"));
		buf_fmt(&v->out, " " STR_FMT " ", STR_ARG(value_str(bead, "dependency_type")));
		view_paint(v, bd_view_status_paint(status), status);
		view_line(v, ": " STR_FMT, STR_ARG(value_str(bead, "title")));
	}
}

static void note_lines(struct view *v, const struct value *comments)
{
	for (size_t i = 0; comments && i < comments->count; i++) {
		const struct value *note = &comments->item[i];

		view_paint(v, PAINT_BOLD, value_str(note, "author"));
		buf_char(&v->out, ' ');
		view_paint(v, PAINT_DIM, view_age(v, value_str(note, "created_at")));
		buf_char(&v->out, '\n');
		view_wrap(v, value_str(note, "text"), 2);
	}
}

/* Who looks for a bead that was given this id too has to be told its other one. */
static void remap_lines(struct view *v, const struct value *bead)
{
	const struct value *remap = value_find(bead, "remap");

	for (size_t i = 0; remap && i < remap->count; i++)
		bd_view_fact(v, "not this",
			     arena_fmt(v->out.mem,
				       "what " STR_FMT " created as " STR_FMT " is " STR_FMT " now",
				       STR_ARG(value_str(&remap->item[i], "created_by")),
				       STR_ARG(value_str(bead, "id")),
				       STR_ARG(value_str(&remap->item[i], "to"))));
}

/* The text of members that have an option of their own, in the order of replies. */
static void option_sections(struct view *v, const struct value *bead)
{
	for (size_t i = 0; i < bead->count; i++) {
		int m = names_exact(&bead_members, bead->item[i].key);
		const struct member_option *o = m < 0 ? NULL : member_option((enum member)m);

		if (o && o->section)
			bd_view_section(v,
					arena_fmt(v->out.mem, "%c%s", o->option[0] - 'a' + 'A',
						  o->option + 1)
						.p,
					bead->item[i].text);
	}
}

static void bd_view_page(struct view *v, const struct value *bead)
{
	struct arena *mem = v->out.mem;
	const struct value *comments = value_find(bead, "comments");
	struct str status = value_str(bead, "status"), end = value_str(bead, "assignee_expires");

	if (v->out.n)
		buf_char(&v->out, '\n');
	view_paint(v, PAINT_BOLD, value_str(bead, "id"));
	view_line(v, "  " STR_FMT, STR_ARG(value_str(bead, "title")));
	buf_put(&v->out, STR("  "));
	view_paint(v, bd_view_status_paint(status), status);
	view_line(v, " · P%" PRId64 " · " STR_FMT, view_number(bead, "priority"),
		  STR_ARG(value_str(bead, "type")));
	bd_view_fact(v, "assignee",
		     end.p ? arena_fmt(mem, STR_FMT " until " STR_FMT,
				       STR_ARG(value_str(bead, "assignee")), STR_ARG(end)) :
			     value_str(bead, "assignee"));
	bd_view_fact(v, "labels", bd_view_joined(v, value_find(bead, "labels")));
	bd_view_fact(v, "parent", value_str(bead, "parent"));
	bd_view_fact(v, "external", value_str(bead, "external_ref"));
	bd_view_fact(v, "created", bd_view_dated(v, bead, "created_at", "created_by"));
	bd_view_fact(v, "changed", bd_view_dated(v, bead, "updated_at", "updated_by"));
	bd_view_fact(v, "closed", bd_view_dated(v, bead, "closed_at", "closed_by"));
	bd_view_fact(v, "reason", value_str(bead, "closed_reason"));
	bd_view_fact(v, "branch", value_str(bead, "created_on_branch"));
	bd_view_fact(v, "hash", value_str(bead, "content_hash"));
	remap_lines(v, bead);
	bd_view_section(v, "Description", value_str(bead, "description"));
	option_sections(v, bead);
	link_lines(v, "Depends on", value_find(bead, "dependencies"));
	link_lines(v, "Needed by", value_find(bead, "dependents"));
	if (comments && comments->count) {
		buf_char(&v->out, '\n');
		view_paint(v, PAINT_BOLD, STR("Notes\n"));
	}
	note_lines(v, comments);
}

void bd_view_show(struct view *v, const struct value *data)
{
	bd_view_each(v, data, bd_view_page);
}

void bd_view_why(struct view *v, const struct value *data)
{
	const struct value *reasons = value_find(data, "reasons");
	bool ready = view_yes(data, "ready");

	view_paint(v, PAINT_BOLD, value_str(data, "id"));
	buf_put(&v->out, STR(" is "));
	view_paint(v, ready ? PAINT_GREEN : PAINT_YELLOW, ready ? STR("ready") : STR("not ready"));
	view_line(v, ": " STR_FMT, STR_ARG(value_str(data, "title")));
	for (size_t i = 0; reasons && i < reasons->count; i++)
		view_line(v, "  " STR_FMT, STR_ARG(value_str(&reasons->item[i], "message")));
}

/* --- edges --- */

void bd_view_edge(struct view *v, const struct value *data)
{
	bool removed = str_is(value_str(data, "status"), "removed");
	bool parent = str_is(value_str(data, "kind"), "parent");

	view_line(v, STR_FMT " %s " STR_FMT " (" STR_FMT ")", STR_ARG(value_str(data, "from")),
		  removed ? "no longer depends on" :
		  parent  ? "is a part of" :
			    "depends on",
		  STR_ARG(value_str(data, "to")), STR_ARG(value_str(data, "kind")));
}

void bd_view_edges(struct view *v, const struct value *data)
{
	bd_view_each(v, data, bd_view_edge);
}

void bd_view_cycles(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "No beads wait for each other.");
	for (size_t i = 0; i < data->count; i++) {
		const struct value *ids = value_find(&data->item[i], "ids");

		buf_fmt(&v->out, STR_FMT ":", STR_ARG(value_str(&data->item[i], "kind")));
		for (size_t k = 0; ids && k < ids->count; k++)
			buf_fmt(&v->out, " " STR_FMT " →", STR_ARG(ids->item[k].text));
		view_line(v, " " STR_FMT, ids && ids->count ? (int)ids->item[0].text.n : 0,
			  ids && ids->count ? ids->item[0].text.p : "");
	}
}

/* --- notes, labels, counts --- */

void bd_view_comment(struct view *v, const struct value *data)
{
	view_line(v, "Added a note to " STR_FMT, STR_ARG(value_str(data, "issue_id")));
}

void bd_view_comments(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "No notes.");
	note_lines(v, data);
}

void bd_view_labels(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "No labels.");
	for (size_t i = 0; i < data->count; i++)
		view_line(v, STR_FMT, STR_ARG(data->item[i].text));
}

void bd_view_all_labels(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "No labels.");
	for (size_t i = 0; i < data->count; i++)
		view_line(v, "%6" PRId64 "  " STR_FMT, view_number(&data->item[i], "count"),
			  STR_ARG(value_str(&data->item[i], "label")));
}

void bd_view_status(struct view *v, const struct value *data)
{
	static const struct {
		const char *name, *key;
	} rows[] = {
		{ "open", "open_issues" },       { "in progress", "in_progress_issues" },
		{ "closed", "closed_issues" },   { "ready", "ready_issues" },
		{ "blocked", "blocked_issues" }, { "leases ended", "expired_claims" },
		{ "deleted", "deleted_issues" },
	};

	view_line(v, "%" PRId64 " bead%s", view_number(data, "total_issues"),
		  view_number(data, "total_issues") == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		view_line(v, "  %-13s%6" PRId64, rows[i].name, view_number(data, rows[i].key));
	bd_sync_state(v, value_find(data, "sync"));
	if (view_number(data, "clock_ahead_ms") > 60000)
		view_line(v, "The last change is %" PRId64 " s ahead of this machine's clock.",
			  view_number(data, "clock_ahead_ms") / 1000);
}

void bd_view_count(struct view *v, const struct value *data)
{
	const struct value *list = value_find(data, "groups");

	for (size_t i = 0; list && i < list->count; i++) {
		struct str name = value_str(&list->item[i], "group");

		view_line(v, "%6" PRId64 "  " STR_FMT, view_number(&list->item[i], "count"),
			  STR_ARG(name.p ? name : STR("(none)")));
	}
	if (!list)
		view_line(v, "%" PRId64, view_number(data, "count"));
}

void bd_view_epics(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "ID", "STATUS", "DONE", "TITLE", NULL };
	struct table t = table_new(v, heads);

	for (size_t i = 0; i < data->count; i++) {
		const struct value *e = &data->item[i];

		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, value_str(e, "id"));
		table_cell(&t, 1, bd_view_status_paint(value_str(e, "status")),
			   value_str(e, "status"));
		table_cell(&t, 2, view_yes(e, "eligible_for_close") ? PAINT_GREEN : PAINT_NONE,
			   arena_fmt(v->out.mem, "%" PRId64 "/%" PRId64,
				     view_number(e, "closed_children"),
				     view_number(e, "total_children")));
		table_cell(&t, 3, PAINT_NONE, value_str(e, "title"));
	}
	if (data->count)
		table_print(&t);
	else
		view_line(v, "No such epics.");
}

/* --- the store --- */

void bd_view_validate(struct view *v, const struct value *data)
{
	const struct value *list = value_find(data, "findings");

	for (size_t i = 0; list && i < list->count; i++) {
		const struct value *f = &list->item[i];
		bool error = str_is(value_str(f, "severity"), "error");

		view_paint(v, error ? PAINT_RED : PAINT_YELLOW, value_str(f, "severity"));
		buf_fmt(&v->out, " " STR_FMT " " STR_FMT, STR_ARG(value_str(f, "code")),
			STR_ARG(value_str(f, "file")));
		if (view_number(f, "line"))
			buf_fmt(&v->out, ":%" PRId64, view_number(f, "line"));
		view_line(v, ": " STR_FMT, STR_ARG(value_str(f, "message")));
	}
	view_line(v, "%" PRId64 " errors, %" PRId64 " warnings", view_number(data, "errors"),
		  view_number(data, "warnings"));
}

void bd_view_doctor(struct view *v, const struct value *data)
{
	const struct value *list = value_find(data, "checks");

	for (size_t i = 0; list && i < list->count; i++) {
		const struct value *k = &list->item[i];
		struct str status = value_str(k, "status");

		view_paint(v, str_is(status, "ok") ? PAINT_GREEN : PAINT_YELLOW, status);
		view_line(v, " " STR_FMT ": " STR_FMT, STR_ARG(value_str(k, "code")),
			  STR_ARG(value_str(k, "message")));
		if (value_str(k, "fix").p)
			view_line(v, "   → " STR_FMT, STR_ARG(value_str(k, "fix")));
	}
}

void bd_view_where(struct view *v, const struct value *data)
{
	struct str store = value_str(data, "store");

	view_line(v, STR_FMT, STR_ARG(store.p ? store : STR("none")));
	view_line(v, "  repository: " STR_FMT, STR_ARG(value_str(data, "repository")));
	if (!store.p) {
		view_line(v, "  " STR_FMT, STR_ARG(value_str(data, "why")));
		return;
	}
	view_line(v, "  published to: " STR_FMT, STR_ARG(value_str(data, "ref")));
	view_line(v, "  " STR_FMT, STR_ARG(value_str(data, "why")));
	if (!view_yes(data, "exists"))
		view_line(v, "  It is not there yet: 'bd init' begins it.");
}

void bd_view_info(struct view *v, const struct value *data)
{
	view_line(v, "bd version " STR_FMT, STR_ARG(value_str(data, "version")));
	view_line(v, "  store:   " STR_FMT, STR_ARG(value_str(data, "store")));
	view_line(v, "  prefix:  " STR_FMT, STR_ARG(value_str(data, "prefix")));
	view_line(v, "  you are: " STR_FMT, STR_ARG(value_str(data, "actor")));
	view_line(v, "  beads:   %" PRId64 ", deleted ones included", view_number(data, "beads"));
	view_line(v, "  journal: %" PRId64 " bytes", view_number(data, "journal_bytes"));
}

void bd_view_version(struct view *v, const struct value *data)
{
	view_line(v, "bd version " STR_FMT, STR_ARG(value_str(data, "version")));
}

void bd_view_setting(struct view *v, const struct value *data)
{
	view_line(v, STR_FMT " = " STR_FMT "%s", STR_ARG(value_str(data, "key")),
		  STR_ARG(value_str(data, "value")), view_yes(data, "set") ? "" : "  (default)");
}

void bd_view_settings(struct view *v, const struct value *data)
{
	bd_view_each(v, data, bd_view_setting);
}
