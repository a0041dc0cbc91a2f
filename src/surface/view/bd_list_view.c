/* Lists of beads, as tables. */
#include "surface/view/bd_view.h"

#include <inttypes.h>

#include "base/map.h"
#include "base/moment.h"
#include "surface/view/long.h"

static enum paint list_priority_paint(int64_t priority)
{
	return priority == 0 ? PAINT_RED : priority == 1 ? PAINT_YELLOW : PAINT_NONE;
}

static struct str list_holder(struct view *v, const struct value *bead, struct str name)
{
	struct str end = value_str(bead, "assignee_expires");
	int64_t ms;

	if (end.p && moment_parse(end, &ms) && ms <= v->now_ms)
		return arena_fmt(v->out.mem, STR_FMT " (ended)", STR_ARG(name));
	return name;
}

/* --- the state of a bead --- */

enum list_state { STATE_OPEN, STATE_BLOCKED, STATE_IN_PROGRESS, STATE_CLOSED, STATES };

static int64_t list_blockers(const struct value *bead)
{
	const struct value *by = value_find(bead, "blocked_by");

	return by ? (int64_t)by->count : value_count(bead, "blocked_by_count");
}

/* An open bead that cannot be started yet is blocked. */
static enum list_state list_state(const struct value *bead)
{
	struct str status = value_str(bead, "status");

	if (str_is(status, "closed"))
		return STATE_CLOSED;
	if (str_is(status, "in_progress"))
		return STATE_IN_PROGRESS;
	return list_blockers(bead) ? STATE_BLOCKED : STATE_OPEN;
}

static void list_put_state(struct table *t, size_t column, const struct value *bead,
			   enum list_state state)
{
	struct str status = value_str(bead, "status");

	if (state == STATE_BLOCKED)
		table_cell(t, column, PAINT_RED, STR("blocked"));
	else
		table_cell(t, column, bd_view_status_paint(status), status);
}

/* "[parser, docs]", after "blocked by 2" for a blocked bead that is in progress. */
static struct str list_tail(struct view *v, const struct value *bead)
{
	const struct value *labels = value_find(bead, "labels");
	int64_t blockers = list_blockers(bead);
	struct buf b = { .mem = v->out.mem };

	if (blockers && list_state(bead) == STATE_IN_PROGRESS)
		buf_fmt(&b, "blocked by %" PRId64 " ", blockers);
	for (size_t i = 0; labels && i < labels->count; i++)
		buf_fmt(&b, "%s" STR_FMT, i ? ", " : "[", STR_ARG(labels->item[i].text));
	if (labels && labels->count)
		buf_char(&b, ']');
	return str_trim(buf_str(&b));
}

/* --- rows --- */

/* The columns of a list of beads. ASSIGNEE is left out if nobody is assigned, TYPE on a
 * screen that is too narrow for all of them. */
enum list_column { LIST_ID, LIST_P, LIST_TYPE, LIST_STATUS, LIST_AGE, LIST_ASSIGNEE, LIST_TITLE };

/* The table of a list, and what is counted while its rows are made. */
struct bead_list {
	struct table table;
	bool assigned;         /* is anybody assigned? */
	int64_t state[STATES]; /* beads in each state */
	int64_t left_out;      /* beads that --parallel leaves out */
};

static struct bead_list list_new(struct view *v)
{
	static const char *const heads[] = { "ID",  "P",        "TYPE",  "STATUS",
					     "AGE", "ASSIGNEE", "TITLE", NULL };
	struct bead_list list = { .table = table_new(v, heads) };

	list.table.spare = LIST_TYPE;
	return list;
}

static void list_print(struct bead_list *list)
{
	if (!list->assigned)
		table_hide(&list->table, LIST_ASSIGNEE);
	table_print(&list->table);
}

static void list_put_row(struct bead_list *list, const struct value *bead, struct str title)
{
	struct table *t = &list->table;
	struct view *v = t->view;
	struct str assignee = value_str(bead, "assignee");
	enum list_state state = list_state(bead);
	int64_t priority = value_count(bead, "priority");

	list->assigned |= assignee.p != NULL;
	list->state[state]++;
	table_row(t);
	table_cell(t, LIST_ID, PAINT_BOLD, value_str(bead, "id"));
	table_cell(t, LIST_P, list_priority_paint(priority),
		   arena_fmt(v->out.mem, "P%" PRId64, priority));
	table_cell(t, LIST_TYPE, PAINT_NONE, value_str(bead, "type"));
	list_put_state(t, LIST_STATUS, bead, state);
	table_cell(t, LIST_AGE, PAINT_DIM, view_short_age(v, value_str(bead, "created_at")));
	table_cell(t, LIST_ASSIGNEE, PAINT_NONE,
		   assignee.p ? list_holder(v, bead, assignee) : STR("-"));
	table_cell(t, LIST_TITLE, PAINT_NONE, title);
	table_tail(t, PAINT_DIM, list_tail(v, bead));
}

static void list_put_blockers(struct table *t, const struct value *bead)
{
	const struct value *by = value_find(bead, "blocked_by");
	struct buf b = { .mem = t->view->out.mem };

	if (!by || !by->count)
		return;
	buf_put(&b, STR("is blocked by"));
	VALUE_EACH(one, by)
		buf_fmt(&b, " " STR_FMT, STR_ARG(one->text));
	table_below(t, buf_str(&b));
}

/* --- --tree --- */

enum { DEEPEST = 100 }; /* deeper beads are shown as roots */

struct tree_bead {
	size_t place;
	struct str id, parent;
	size_t child, next; /* numbers plus one: the first child, the next sibling */
	bool shown, below;  /* has its row; its parent is in the list */
};

/* Beads below their parents. Of a long list, only this is in memory. */
struct tree {
	struct bead_list *out;
	const struct value *list;
	bool plan; /* with the blockers of each bead */
	struct arena mem;
	struct tree_bead *bead;
	size_t count, cap;
};

static void tree_add(struct tree *t, const struct value *one)
{
	size_t size = sizeof *t->bead, more = t->cap ? t->cap * 2 : 64;

	if (t->count == t->cap) {
		t->bead = arena_stretch(&t->mem, t->bead, t->cap * size, more * size);
		t->cap = more;
	}
	t->bead[t->count++] = (struct tree_bead){
		.place = view_place(t->out->table.view, t->list, one),
		.id = arena_copy(&t->mem, value_str(one, "id")),
		.parent = arena_copy(&t->mem, value_str(one, "parent")),
	};
}

/* From the end of the list, so that children keep its order. */
static void tree_link(struct tree *t)
{
	struct map parents = { .mem = &t->mem };

	for (size_t i = 0; i < t->count; i++)
		if (t->bead[i].parent.p)
			map_put(&parents, t->bead[i].parent);
	for (size_t i = 0; parents.count && i < t->count; i++) {
		void **at = map_find(&parents, t->bead[i].id);

		if (at)
			*at = &t->bead[i];
	}
	for (size_t i = t->count; i > 0; i--) {
		struct tree_bead *one = &t->bead[i - 1], *parent;

		parent = one->parent.p ? *map_find(&parents, one->parent) : NULL;
		if (!parent)
			continue;
		one->below = true;
		one->next = parent->child;
		parent->child = i;
	}
}

/* The next sibling that has no row yet; 0: none. */
static size_t tree_next(const struct tree *t, size_t number)
{
	while (number && t->bead[number - 1].shown)
		number = t->bead[number - 1].next;
	return number;
}

static void tree_put_row(struct tree *t, size_t at, struct str guide, struct str mark)
{
	struct view *v = t->out->table.view;
	struct arena before = arena_mark(v->out.mem);
	const struct value *bead = view_again(v, t->list, t->bead[at].place);

	list_put_row(t->out, bead,
		     arena_fmt(v->out.mem, STR_FMT STR_FMT STR_FMT, STR_ARG(guide), STR_ARG(mark),
			       STR_ARG(value_str(bead, "title"))));
	if (t->plan)
		list_put_blockers(&t->out->table, bead);
	if (!v->long_reply)
		return;
	table_keep(&t->out->table);
	arena_rewind(v->out.mem, before);
}

/* `guide` are the lines from the beads above; `mark` is the branch to this bead. */
static void tree_row(struct tree *t, size_t at, size_t depth, struct str guide, struct str mark)
{
	size_t first = 0;
	struct str below = guide;

	t->bead[at].shown = true;
	tree_put_row(t, at, guide, mark);
	if (depth < DEEPEST)
		first = tree_next(t, t->bead[at].child);
	if (first && mark.n)
		below = arena_join(&t->mem, guide,
				   str_starts(mark, STR("├")) ? STR("│  ") : STR("   "));
	for (size_t i = first; i;) {
		size_t next = tree_next(t, t->bead[i - 1].next);

		tree_row(t, i - 1, depth + 1, below, next ? STR("├─ ") : STR("└─ "));
		i = tree_next(t, next);
	}
}

/* First the trees below the roots, then the beads that are left, which are in cycles. */
static void tree_rows(struct bead_list *out, const struct value *list, bool plan)
{
	struct tree t = { .out = out, .list = list, .plan = plan };

	VIEW_EACH(one, out->table.view, list)
		tree_add(&t, one);
	tree_link(&t);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < t.count; i++)
			if (!t.bead[i].shown && (pass || !t.bead[i].below))
				tree_row(&t, i, 0, STR(""), STR(""));
	arena_release(&t.mem);
}

/* --- other tables --- */

static void list_put_long(struct bead_list *list, const struct value *bead)
{
	struct view *v = list->table.view;
	struct str description = value_str(bead, "description");
	struct buf b = { .mem = v->out.mem };

	list_put_row(list, bead, value_str(bead, "title"));
	buf_fmt(&b, "created %s by " STR_FMT ", changed %s",
		view_age(v, value_str(bead, "created_at")).p,
		STR_ARG(value_str(bead, "created_by")),
		view_age(v, value_str(bead, "updated_at")).p);
	if (description.n)
		buf_fmt(&b, ": " STR_FMT, STR_ARG(description));
	table_below(&list->table, buf_str(&b));
}

enum { FORMAT_TABLE, FORMAT_IDS, FORMAT_LINES };

static void list_put_plain(struct view *v, const struct value *data, int format)
{
	VIEW_EACH(bead, v, data) {
		if (format == FORMAT_IDS)
			view_say(v, bead, "{id}");
		else
			view_say(v, bead, "{id} [P{priority}] [{type}] {status} - {title}");
	}
}

/* A bead with open children is listed as ready, but its work is in the children. */
static struct str list_title(struct view *v, const struct value *bead)
{
	int64_t children = value_count(bead, "open_children");
	struct str title = value_str(bead, "title");

	if (!value_yes(bead, "container"))
		return title;
	return arena_fmt(v->out.mem, STR_FMT " (container: %" PRId64 " open child%s)",
			 STR_ARG(title), children, children == 1 ? "" : "ren");
}

/* Were beads asked for that do not collide? */
static bool list_in_parallel(const struct view *v)
{
	const int64_t *count = v->asked ? request_value(v->asked, ROLE_PARALLEL) : NULL;

	return count && *count != ABSENT;
}

static void list_put_rows(struct bead_list *list, const struct value *data)
{
	struct view *v = list->table.view;
	bool full = view_wants(v, ROLE_LONG), parallel = list_in_parallel(v);

	VIEW_EACH(bead, v, data) {
		list->left_out += parallel && value_yes(bead, "left_out");
		if (full)
			list_put_long(list, bead);
		else
			list_put_row(list, bead, list_title(v, bead));
		if (value_str(bead, "why").p)
			table_below(&list->table, value_str(bead, "why"));
	}
}

static struct bead_list list_put_table(struct view *v, const struct value *data)
{
	struct bead_list list = list_new(v);

	if (view_wants(v, ROLE_TREE))
		tree_rows(&list, data, false);
	else
		list_put_rows(&list, data);
	if (list.table.rows)
		list_print(&list);
	return list;
}

static struct str list_count(struct view *v, int64_t count)
{
	return arena_fmt(v->out.mem, "%" PRId64 " bead%s", count, count == 1 ? "" : "s");
}

/* How many there are besides those shown; false: all are shown. */
static bool list_put_rest(struct view *v, size_t count)
{
	if (v->total > (int64_t)count) {
		view_line(v, "%zu of %s%s; -n 0 shows all.", count,
			  v->total >= TOTAL_MOST ? "more than " : "",
			  list_count(v, v->total >= TOTAL_MOST ? TOTAL_MOST - 1 : v->total).p);
		return true;
	}
	if (!v->total && (int64_t)count == view_limit(v)) {
		view_line(v, "The first %zu; -n 0 shows all.", count);
		return true;
	}
	return false;
}

/* "12 beads: 8 open, 2 blocked, 2 in progress" */
static void list_put_total(struct view *v, const struct bead_list *list)
{
	static const char *const words[] = { [STATE_OPEN] = "open",
					     [STATE_BLOCKED] = "blocked",
					     [STATE_IN_PROGRESS] = "in progress",
					     [STATE_CLOSED] = "closed" };
	int64_t all = (int64_t)list->table.rows;
	bool first = true;

	if (list_put_rest(v, list->table.rows))
		return;
	for (size_t i = 0; i < STATES; i++)
		if (list->state[i] == all) {
			view_line(v, "%s %s", list_count(v, all).p, words[i]);
			return;
		}
	buf_fmt(&v->out, "%s:", list_count(v, all).p);
	for (size_t i = 0; i < STATES; i++)
		if (list->state[i]) {
			buf_fmt(&v->out, "%s %" PRId64 " %s", first ? "" : ",", list->state[i],
				words[i]);
			first = false;
		}
	buf_char(&v->out, '\n');
}

void bd_view_list(struct view *v, const struct value *data)
{
	int format = view_choice(v, ROLE_FORMAT);
	struct bead_list list;

	if (format > FORMAT_TABLE) {
		list_put_plain(v, data, format);
		return;
	}
	list = list_put_table(v, data);
	if (list.table.rows)
		list_put_total(v, &list);
	else
		view_line(v, "No beads found.");
}

void bd_view_plan(struct view *v, const struct value *data)
{
	struct bead_list list = list_new(v);

	view_line(v, "%s %zu bead%s:", view_wants(v, ROLE_DRY_RUN) ? "Would create" : "Created",
		  data->count, data->count == 1 ? "" : "s");
	tree_rows(&list, data, true);
	list_print(&list);
}

/* "3 beads ready, 2 left out" */
static void list_put_ready_total(struct view *v, const struct bead_list *list)
{
	if (list_put_rest(v, list->table.rows))
		return;
	buf_fmt(&v->out, "%s ready", list_count(v, (int64_t)list->table.rows - list->left_out).p);
	if (list->left_out)
		buf_fmt(&v->out, ", %" PRId64 " left out", list->left_out);
	buf_char(&v->out, '\n');
}

void bd_view_ready(struct view *v, const struct value *data)
{
	struct bead_list list;

	if (view_wants(v, ROLE_CLAIM) && data->count) {
		bd_view_claimed(v, data);
		return;
	}
	list = list_put_table(v, data);
	if (list.table.rows)
		list_put_ready_total(v, &list);
	else if (list_in_parallel(v))
		view_line(v, "No bead can be worked on without a likely collision.");
	else
		view_line(v, "No beads are ready. 'bd blocked' lists blocked beads, 'bd list' all "
			     "open ones.");
}

void bd_view_blocked(struct view *v, const struct value *data)
{
	struct bead_list list = list_new(v);

	VIEW_EACH(one, v, data) {
		list_put_row(&list, one, value_str(one, "title"));
		list_put_blockers(&list.table, one);
	}
	if (!list.table.rows) {
		view_line(v, "No beads are blocked.");
		return;
	}
	list_print(&list);
	if (!list_put_rest(v, list.table.rows))
		view_line(v, "%s blocked", list_count(v, (int64_t)list.table.rows).p);
}

void bd_view_epics(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "ID", "STATUS", "DONE", "TITLE", NULL };
	struct table t = table_new(v, heads);

	VIEW_EACH(e, v, data) {
		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, value_str(e, "id"));
		table_cell(&t, 1, bd_view_status_paint(value_str(e, "status")),
			   value_str(e, "status"));
		table_cell(&t, 2, value_yes(e, "eligible_for_close") ? PAINT_GREEN : PAINT_NONE,
			   arena_fmt(v->out.mem, "%" PRId64 "/%" PRId64,
				     value_count(e, "closed_children"),
				     value_count(e, "total_children")));
		table_cell(&t, 3, PAINT_NONE, value_str(e, "title"));
	}
	table_print_or(&t, "No epics found.");
}

void bd_view_tombstones(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "ID", "DELETED", "BY", "TITLE", "REASON", NULL };
	struct table t = table_new(v, heads);

	VIEW_EACH(d, v, data) {
		struct str reason = value_str(d, "reason"), title = value_str(d, "title");

		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, value_str(d, "id"));
		table_cell(&t, 1, PAINT_DIM, view_age(v, value_str(d, "deleted_at")));
		table_cell(&t, 2, PAINT_NONE, value_str(d, "deleted_by"));
		table_cell(&t, 3, PAINT_NONE, title.p ? title : STR("-"));
		table_cell(&t, 4, PAINT_NONE, reason.p ? reason : STR("-"));
	}
	table_print_or(&t, "Nothing was deleted.");
}
