/* Lists of beads, as tables. */
#include "surface/view/bd_view.h"

#include <inttypes.h>

#include "base/map.h"
#include "base/moment.h"

static enum paint list_priority_paint(int64_t priority)
{
	return priority == 0 ? PAINT_RED : priority == 1 ? PAINT_YELLOW : PAINT_NONE;
}

static struct str list_holder(struct view *v, const struct value *bead)
{
	struct str end = value_str(bead, "assignee_expires"), name = value_str(bead, "assignee");
	int64_t ms;

	if (!name.p)
		return STR("-");
	if (end.p && moment_parse(end, &ms) && ms <= v->now_ms)
		return arena_fmt(v->out.mem, STR_FMT " (ended)", STR_ARG(name));
	return name;
}

static void list_put_row(struct table *t, const struct value *bead, struct str title)
{
	struct view *v = t->view;
	struct str status = value_str(bead, "status");
	int64_t priority = view_number(bead, "priority");

	table_row(t);
	table_cell(t, 0, PAINT_BOLD, value_str(bead, "id"));
	table_cell(t, 1, list_priority_paint(priority),
		   arena_fmt(v->out.mem, "P%" PRId64, priority));
	table_cell(t, 2, PAINT_NONE, value_str(bead, "type"));
	table_cell(t, 3, bd_view_status_paint(status), status);
	table_cell(t, 4, PAINT_NONE, list_holder(v, bead));
	table_cell(t, 5, PAINT_NONE, title);
}

static const char *const bead_heads[] = { "ID", "P", "TYPE", "STATUS", "ASSIGNEE", "TITLE", NULL };

static void list_put_blockers(struct table *t, const struct value *bead)
{
	const struct value *by = value_find(bead, "blocked_by");
	struct buf b = { .mem = t->view->out.mem };

	if (!by || !by->count)
		return;
	buf_put(&b, STR("is blocked by"));
	for (size_t i = 0; i < by->count; i++)
		buf_fmt(&b, " " STR_FMT, STR_ARG(by->item[i].text));
	table_below(t, buf_str(&b));
}

/* --- --tree --- */

enum { DEEPEST = 100 }; /* deeper beads are shown as roots */

/* Beads below their parents. */
struct tree {
	struct table *table;
	const struct value *list;
	bool *shown, *below;  /* has its row; its parent is in the list */
	bool plan;            /* with the blockers of each bead */
	size_t *child, *next; /* numbers plus one: the first child, the next sibling */
};

/* From the end of the list, so that children keep its order. */
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
	list_put_row(t->table, bead, buf_str(&title));
	if (t->plan)
		list_put_blockers(t->table, bead);
	for (size_t i = t->child[at]; i && depth < DEEPEST; i = t->next[i - 1])
		if (!t->shown[i - 1])
			tree_row(t, i - 1, depth + 1);
}

/* First the trees below the roots, then the beads that are left, which are in cycles. */
static void tree_rows(struct table *table, const struct value *list, bool plan)
{
	struct arena *mem = table->view->out.mem;
	size_t n = list->count + 1;
	struct tree t = { .table = table,
			  .list = list,
			  .plan = plan,
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

/* --- other tables --- */

static void list_put_long(struct table *t, const struct value *bead)
{
	struct view *v = t->view;
	struct str description = value_str(bead, "description");
	struct buf b = { .mem = v->out.mem };

	list_put_row(t, bead, value_str(bead, "title"));
	buf_fmt(&b, "created %s by " STR_FMT ", changed %s",
		view_age(v, value_str(bead, "created_at")).p,
		STR_ARG(value_str(bead, "created_by")),
		view_age(v, value_str(bead, "updated_at")).p);
	if (description.n)
		buf_fmt(&b, ": " STR_FMT, STR_ARG(description));
	table_below(t, buf_str(&b));
}

enum { FORMAT_TABLE, FORMAT_IDS, FORMAT_LINES };

static void list_put_plain(struct view *v, const struct value *data, int format)
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
static struct str list_title(struct view *v, const struct value *bead)
{
	int64_t children = view_number(bead, "open_children");
	struct str title = value_str(bead, "title");

	if (!view_yes(bead, "container"))
		return title;
	return arena_fmt(v->out.mem, STR_FMT " (container: %" PRId64 " open child%s)",
			 STR_ARG(title), children, children == 1 ? "" : "ren");
}

static void list_put_table(struct view *v, const struct value *data)
{
	struct table t = table_new(v, bead_heads);

	if (view_wants(v, ROLE_TREE))
		tree_rows(&t, data, false);
	for (size_t i = 0; !view_wants(v, ROLE_TREE) && i < data->count; i++) {
		const struct value *bead = &data->item[i];

		if (view_wants(v, ROLE_LONG))
			list_put_long(&t, bead);
		else
			list_put_row(&t, bead, list_title(v, bead));
		if (value_str(bead, "why").p)
			table_below(&t, value_str(bead, "why"));
	}
	table_print(&t);
}

/* A list with as many rows as the limit may be incomplete. */
static void list_put_more(struct view *v, const struct value *data)
{
	if (data->count && (int64_t)data->count == view_limit(v))
		view_line(v, "(first %zu; -n 0 shows all)", data->count);
}

void bd_view_list(struct view *v, const struct value *data)
{
	int format = view_choice(v, ROLE_FORMAT);

	if (format > FORMAT_TABLE) {
		list_put_plain(v, data, format);
		return;
	}
	if (!data->count) {
		view_line(v, "No beads found.");
		return;
	}
	list_put_table(v, data);
	list_put_more(v, data);
}

void bd_view_plan(struct view *v, const struct value *data)
{
	struct table t = table_new(v, bead_heads);

	view_line(v, "%s %zu bead%s:", view_wants(v, ROLE_DRY_RUN) ? "Would create" : "Created",
		  data->count, data->count == 1 ? "" : "s");
	tree_rows(&t, data, true);
	table_print(&t);
}

void bd_view_ready(struct view *v, const struct value *data)
{
	if (!data->count) {
		view_line(v, "No beads are ready. 'bd blocked' lists blocked beads, 'bd list' all "
			     "open ones.");
	} else if (view_wants(v, ROLE_CLAIM)) {
		bd_view_claimed(v, data);
	} else {
		list_put_table(v, data);
		list_put_more(v, data);
	}
}

void bd_view_blocked(struct view *v, const struct value *data)
{
	struct table t = table_new(v, bead_heads);

	for (size_t i = 0; i < data->count; i++) {
		list_put_row(&t, &data->item[i], value_str(&data->item[i], "title"));
		list_put_blockers(&t, &data->item[i]);
	}
	if (data->count)
		table_print(&t);
	else
		view_line(v, "No beads are blocked.");
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
		view_line(v, "No epics found.");
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
