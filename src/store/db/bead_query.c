/*
 * Builds the SQL for lists of beads from a filter. Each condition is appended as text together with
 * the values of its parameters.
 *
 * A list reads no more rows than it shows, if an index has the beads in the order of the list.
 * Often one index has only a part of them: then the list is merged from several runs (struct run),
 * or made of several passes, one after the other (struct pass).
 */
#include "store/db/bead_query.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/text/value.h"
#include "store/db/bead_ready.h"
#include "store/db/bead_tally.h"
#include "store/db/db.h"

static const char *const sort_words[] = {
	[SORT_PRIORITY] = "priority", [SORT_CREATED] = "created", [SORT_UPDATED] = "updated",
	[SORT_CLOSED] = "closed",     [SORT_STATUS] = "status",   [SORT_ID] = "id",
	[SORT_TITLE] = "title",       [SORT_TYPE] = "type",       [SORT_ASSIGNEE] = "assignee",
};
const struct names bead_sorts = { sort_words, SORT_ASSIGNEE + 1, NULL };

static const char *const group_words[] = {
	[GROUP_STATUS] = "status",     [GROUP_PRIORITY] = "priority", [GROUP_TYPE] = "type",
	[GROUP_ASSIGNEE] = "assignee", [GROUP_LABEL] = "label",
};
static const struct names groups = { group_words, GROUP_LABEL + 1, NULL };

/* SQL under construction, and the values of its parameters. */
struct query {
	struct buf sql;
	struct param {
		struct str text; /* absent: a number */
		int64_t number;
	} * param;
	size_t params;
};

static void add_param(struct query *q, struct param p)
{
	q->param = arena_room(q->sql.mem, q->param, q->params, sizeof p);
	q->param[q->params++] = p;
}

static void bead_query_sql(struct query *q, const char *text)
{
	buf_put(&q->sql, str_of(text));
}

static void with_text(struct query *q, const char *condition, struct str text)
{
	if (!text.p)
		return;
	bead_query_sql(q, condition);
	add_param(q, (struct param){ .text = text });
}

static void with_number(struct query *q, const char *condition, int64_t n)
{
	bead_query_sql(q, condition);
	add_param(q, (struct param){ .number = n });
}

static void with_bound(struct query *q, const char *condition, struct bound bound)
{
	if (bound.given)
		with_number(q, condition, bound.ms);
}

static struct stmt *bead_query_prepared(struct cache *cache, struct query *q)
{
	struct stmt *st = db_stmt_once(cache->db, buf_str(&q->sql));

	for (size_t i = 0; i < q->params; i++)
		if (q->param[i].text.p)
			stmt_bind_str(st, q->param[i].text);
		else
			stmt_bind_int(st, q->param[i].number);
	return st;
}

/* A condition on a set of small numbers; the first two forms match the partial indexes. */
static void with_set(struct query *q, const char *column, unsigned set)
{
	const char *comma = "";

	if (!set)
		return;
	if (!strcmp(column, "status") && set == (1 << BEAD_OPEN | 1 << BEAD_IN_PROGRESS)) {
		bead_query_sql(q, " AND b.status < 2");
		return;
	}
	if (!(set & (set - 1))) {
		int only = 0;

		while (!(set >> only & 1))
			only++;
		buf_fmt(&q->sql, " AND b.%s = %d", column, only);
		return;
	}
	buf_fmt(&q->sql, " AND b.%s IN (", column);
	for (int i = 0; i < 8; i++)
		if (set >> i & 1) {
			buf_fmt(&q->sql, "%s%d", comma, i);
			comma = ", ";
		}
	bead_query_sql(q, ")");
}

static void with_list(struct query *q, const char *before, const struct str *list, size_t count,
		      const char *after)
{
	if (!count)
		return;
	bead_query_sql(q, before);
	for (size_t i = 0; i < count; i++)
		with_text(q, i ? ", ?" : "?", list[i]);
	bead_query_sql(q, after);
}

/* Beads in the order of the search; the words follow as a condition. */
#define SEARCH_JOIN_SQL " search s CROSS JOIN beads b ON b.n = s.rowid"

/* Beads with a label, in the order of lists; the label follows as a condition. */
#define LABEL_JOIN_SQL " labels l CROSS JOIN beads b ON b.n = l.n"

/*
 * Ready beads are read in two halves: open ones, and those in progress whose lease has expired. So
 * are claimed beads: those in progress, and open ones with a live lease.
 */
enum half {
	HALF_OPEN,
	HALF_EXPIRED,
	HALF_TIMED,       /* of the open ones, those with a lease or a deferral, ready or not */
	HALF_TIMED_READY, /* those of them that are ready */
	HALF_BEGUN,       /* in progress */
	HALF_LEASED,      /* open, with a live lease */
	HALF_NONE,
};

/* Ready beads: all, those without open children, those with open children. */
enum kin { KIN_ANY, KIN_LEAF, KIN_CONTAINER };

static void with_kin(struct query *q, enum kin kin)
{
	if (kin != KIN_ANY)
		bead_query_sql(q, kin == KIN_LEAF ? " AND b.children = 0" : " AND b.children > 0");
}

/* Each half has an index. With an assignee, both are found by that. */
static void with_claimed(struct query *q, const struct bead_filter *f, enum half half)
{
	if (half == HALF_BEGUN)
		bead_query_sql(q, " AND b.status = 1");
	else if (half == HALF_LEASED)
		with_number(q, " AND " READY_TIMED_SQL " AND " CLAIMED_OPEN_SQL " AND b.lease > ?",
			    f->now);
	else
		with_number(q, " AND (b.status = 1 OR (" CLAIMED_OPEN_SQL " AND b.lease > ?))",
			    f->now);
}

static void with_half(struct query *q, const struct bead_filter *f, enum half half)
{
	if (f->claimed) {
		with_claimed(q, f, half);
		return;
	}
	if (half == HALF_TIMED || half == HALF_TIMED_READY)
		bead_query_sql(q, " AND " READY_TIMED_SQL " AND blockers = 0");
	if (half == HALF_OPEN || half == HALF_TIMED_READY) {
		bead_query_sql(q, " AND " READY_OPEN_SQL);
		with_number(q, " AND (b.lease IS NULL OR b.lease <= ?", f->now);
		with_text(q, " OR b.assignee = ?", f->actor);
		bead_query_sql(q, ")");
	} else if (half == HALF_EXPIRED) {
		bead_query_sql(q, " AND " READY_HELD_SQL);
		with_number(q, " AND b.lease <= ?", f->now);
	}
	if (half != HALF_NONE && half != HALF_TIMED)
		with_number(q, " AND (b.deferred IS NULL OR b.deferred <= ?)", f->now);
}

/* Has the bead a label? The table of labels is sorted by label, and then as lists are. */
#define LABELLED_SQL                                                                           \
	" EXISTS (SELECT 1 FROM labels o WHERE o.done = (b.status = 2)"                        \
	" AND o.priority = b.priority AND o.created = b.created AND o.created_n = b.created_n" \
	" AND o.id = b.id AND o.label"

static void bead_query_conditions(struct query *q, const struct bead_filter *f, enum half half)
{
	struct arena *mem = q->sql.mem;

	bead_query_sql(q, " WHERE 1");
	with_half(q, f, half);
	with_set(q, "status", f->statuses);
	with_set(q, "type", f->types);
	with_set(q, "priority", f->priorities);
	with_text(q, " AND b.assignee = ?", f->assignee);
	if (f->unassigned)
		bead_query_sql(q, " AND b.assignee IS NULL");
	for (size_t i = 0; i < f->label_count; i++)
		with_text(q, " AND" LABELLED_SQL " = ?)", f->labels[i]);
	with_list(q, " AND" LABELLED_SQL " IN (", f->any_labels, f->any_count, "))");
	with_list(q, " AND b.id IN (", f->ids, f->id_count, ")");
	with_text(q,
		  " AND b.id IN (SELECT src FROM edges WHERE kind = 'parent' AND active"
		  " AND dst = ?)",
		  f->parent);
	with_text(q, " AND b.title LIKE ? ESCAPE '\\'", stmt_like(mem, f->title_part));
	with_text(q, " AND json_extract(b.line, '$.description') LIKE ? ESCAPE '\\'",
		  stmt_like(mem, f->description_part));
	with_bound(q, " AND b.created >= ?", f->created_after);
	with_bound(q, " AND b.created < ?", f->created_before);
	with_bound(q, " AND b.updated >= ?", f->updated_after);
	with_bound(q, " AND b.updated < ?", f->updated_before);
	with_bound(q, " AND b.closed >= ?", f->closed_after);
	with_bound(q, " AND b.closed < ?", f->closed_before);
	if (f->blocked)
		bead_query_sql(q, " AND " BLOCKED_SQL);
	if (f->twins)
		bead_query_sql(q, " AND b.title COLLATE NOCASE IN (SELECT title FROM beads"
				  " WHERE status < 2 GROUP BY title COLLATE NOCASE"
				  " HAVING count(*) > 1)");
	if (f->no_epic)
		bead_query_sql(q, " AND b.epic IS NULL AND b.type <> 3");
	if (f->expired)
		with_number(q, " AND b.status = 1 AND b.lease <= ?", f->now);
	if (f->after.id.p) {
		with_number(q, " AND (b.priority, b.created, b.created_n, b.id) > (?",
			    f->after.priority);
		with_number(q, ", ?", f->after.created);
		with_number(q, ", ?", f->after.created_n);
		with_text(q, ", ?)", f->after.id);
	}
}

/* Orders by result columns, so that all runs of a UNION can share the order. */
static void bead_query_order(struct query *q, enum bead_sort sort, bool reverse, int64_t limit)
{
	static const struct {
		const char *up, *down;
	} by[] = {
		[SORT_PRIORITY] = { "priority, created, created_n, id",
				    "priority DESC, created DESC, created_n DESC, id DESC" },
		[SORT_CREATED] = { "created DESC, created_n DESC, id DESC",
				   "created, created_n, id" },
		[SORT_UPDATED] = { "updated DESC, id DESC", "updated, id" },
		[SORT_CLOSED] = { "closed DESC, id DESC", "closed, id" },
		[SORT_STATUS] = { "status, priority, created, created_n, id", NULL },
		[SORT_ID] = { "id", "id DESC" },
		[SORT_TITLE] = { "title COLLATE NOCASE, id", "title COLLATE NOCASE DESC, id DESC" },
		[SORT_TYPE] = { "type, priority, created, created_n, id", NULL },
		[SORT_ASSIGNEE] = { "assignee, priority, created, created_n, id",
				    "assignee DESC, priority, created, created_n, id" },
	};

	buf_fmt(&q->sql, " ORDER BY %s", reverse ? by[sort].down : by[sort].up);
	if (limit)
		with_number(q, " LIMIT ?", limit);
}

enum err stmt_all(struct call *c, struct stmt *st, struct str **out, size_t *count)
{
	*out = NULL;
	*count = 0;
	while (stmt_row(st)) {
		*out = arena_room(&c->mem, *out, *count, sizeof **out);
		(*out)[(*count)++] = stmt_str(st, &c->mem);
	}
	return stmt_end(c, st);
}

struct bead_row *bead_row_read(struct call *c, struct stmt *st)
{
	struct bead_row *r = arena_new(&c->mem, struct bead_row);

	r->n = stmt_int(st);
	r->id = stmt_str(st, &c->mem);
	r->title = stmt_str(st, &c->mem);
	r->assignee = stmt_str(st, &c->mem);
	r->status = (int)stmt_int(st);
	r->type = (int)stmt_int(st);
	r->priority = stmt_int(st);
	r->created = stmt_int(st);
	r->created_n = stmt_int(st);
	r->updated = stmt_int(st);
	r->closed = stmt_int(st);
	r->lease = stmt_int(st);
	r->deferred = stmt_int(st);
	r->line = stmt_str(st, &c->mem);
	r->hash = stmt_str(st, &c->mem);
	r->blockers = stmt_int(st);
	r->dependencies = stmt_int(st);
	r->dependents = stmt_int(st);
	r->children = stmt_int(st);
	r->parent = stmt_str(st, &c->mem);
	r->waits = stmt_str(st, &c->mem);
	r->epic = stmt_str(st, &c->mem);
	r->tags = stmt_str(st, &c->mem);
	return r;
}

/* The rows of one or several statements, in the order in which they are read. */
struct bead_reading {
	const struct bead_filter *f;
	struct bead_row **tail;
	bool held; /* of ready beads: some are in progress, so their leases may have ended */
	int64_t found, last; /* number of rows; the last one's row number */
	bool stopped;        /* by the visitor */
	/* of a search: the matches in titles, highest row number first, and how many were passed */
	bool keep; /* these are read now */
	int64_t *titles;
	size_t title_count, passed;
};

static bool reading_done(const struct bead_reading *r)
{
	return r->stopped || (r->f->limit && r->found >= r->f->limit);
}

/* How many rows may still be read; 0: any number. */
static int64_t reading_rest(const struct bead_reading *r)
{
	return r->f->limit ? r->f->limit - r->found : 0;
}

/*
 * Several runs may have the same bead; then it is read twice in a row. The matches of a search in
 * all texts include those in titles.
 */
static bool reading_repeats(struct arena *mem, struct bead_reading *r, const struct bead_row *row)
{
	bool repeats = r->last == row->n;

	while (r->passed < r->title_count && r->titles[r->passed] > row->n)
		r->passed++;
	repeats = repeats || (r->passed < r->title_count && r->titles[r->passed] == row->n);
	r->last = row->n;
	r->found += !repeats;
	if (r->keep) {
		r->titles = arena_room(mem, r->titles, r->title_count, sizeof *r->titles);
		r->titles[r->title_count++] = row->n;
		r->passed = r->title_count;
	}
	return repeats;
}

/* Counts the matches that are not read, if there may be more. */
static void count_rest(struct call *c, struct stmt *st, struct bead_reading *r)
{
	bool more = reading_done(r) && !r->stopped;

	while (more && r->found < r->f->count_most && (more = stmt_row(st))) {
		struct bead_row row = { .n = stmt_int(st) };

		reading_repeats(&c->mem, r, &row);
	}
}

static void visit_rows(struct call *c, struct stmt *st, struct bead_reading *r)
{
	struct call aside = call_part(c);
	struct bead_row *row;

	while (!reading_done(r) && stmt_row(st)) {
		arena_reset(&aside.mem);
		row = bead_row_read(&aside, st);
		if (!reading_repeats(&c->mem, r, row))
			r->stopped = !r->f->visit(r->f->arg, row);
	}
	arena_release(&aside.mem);
}

static void collect_rows(struct call *c, struct stmt *st, struct bead_reading *r)
{
	struct bead_row *row;

	while (!reading_done(r) && stmt_row(st)) {
		row = bead_row_read(c, st);
		if (reading_repeats(&c->mem, r, row))
			continue;
		*r->tail = row;
		r->tail = &row->next;
	}
}

/* Runs the query and reads its rows; the query cannot be used again. */
static enum err read_rows(struct call *c, struct cache *cache, struct query *q,
			  struct bead_reading *r)
{
	AUTO_STMT *st = bead_query_prepared(cache, q);

	if (r->f->visit)
		visit_rows(c, st, r);
	else
		collect_rows(c, st, r);
	if (r->f->total)
		count_rest(c, st, r);
	return stmt_end(c, st);
}

static const char *bead_query_columns(const struct bead_filter *f)
{
	return f->lean ? BEAD_COLUMNS_WITH("NULL", "NULL") : BEAD_COLUMNS;
}

/* Matches in titles come first, then all others; newest first in each group. */
static enum err bead_query_search(struct call *c, struct cache *cache, const struct bead_filter *f,
				  struct bead_reading *r)
{
	int64_t most = f->total && f->limit < f->count_most ? f->count_most : f->limit;
	enum err e = ERR_OK;
	int pass;

	for (pass = 0; !e && pass < 2 && !reading_done(r); pass++) {
		struct query q = { .sql.mem = &c->mem };

		bead_query_sql(&q, "SELECT");
		bead_query_sql(&q, bead_query_columns(f));
		bead_query_sql(&q, " FROM" SEARCH_JOIN_SQL);
		bead_query_conditions(&q, f, HALF_NONE);
		with_text(&q, " AND s.search MATCH ?",
			  stmt_match(&c->mem, f->words, pass ? "" : "title : "));
		r->keep = !pass;
		r->passed = 0;
		bead_query_sql(&q, " ORDER BY s.rowid DESC");
		if (most)
			with_number(&q, " LIMIT ?", most);
		e = read_rows(c, cache, &q, r);
	}
	if (f->total && !r->stopped && (pass == 2 || r->found >= f->count_most))
		*f->total = r->found < f->count_most ? r->found : f->count_most;
	return e;
}

/* --- runs: parts of a list that an index has in the order of the list --- */

struct run {
	enum half half;
	struct str label; /* or absent */
	int done;         /* of the beads with that label: the closed ones */
	int status;       /* or STATUS_ANY */
};

struct runs {
	const struct bead_filter *f;
	struct run *item;
	size_t count;
	bool by_status;           /* no index has the beads of all statuses in this order */
	const struct str *labels; /* the beads are found by these, or have all labels */
	size_t label_count;
	struct arena *mem;
};

enum { STATUS_ANY = -1, LABELS_MOST = 8 };

static void runs_add(struct runs *all, struct run run)
{
	all->item = arena_room(all->mem, all->item, all->count, sizeof run);
	all->item[all->count++] = run;
}

static bool filter_has_status(const struct bead_filter *f, int status)
{
	return !f->statuses || f->statuses >> status & 1;
}

static void runs_add_label(struct runs *all, enum half half, struct str label)
{
	const struct bead_filter *f = all->f;
	struct run run = { half, label, 0, STATUS_ANY };

	if (half != HALF_NONE || filter_has_status(f, BEAD_OPEN) ||
	    filter_has_status(f, BEAD_IN_PROGRESS))
		runs_add(all, run);
	run.done = 1;
	if (half == HALF_NONE && filter_has_status(f, BEAD_CLOSED))
		runs_add(all, run);
}

static void runs_add_half(struct runs *all, enum half half)
{
	/* Few beads are in progress: their index is shorter than that of a label. */
	for (size_t i = 0; half != HALF_EXPIRED && i < all->label_count; i++)
		runs_add_label(all, half, all->labels[i]);
	if (all->label_count && half != HALF_EXPIRED)
		return;
	if (!all->by_status || half != HALF_NONE) {
		runs_add(all, (struct run){ half, STR_NONE, 0, STATUS_ANY });
		return;
	}
	for (int status = BEAD_OPEN; status <= BEAD_CLOSED; status++)
		if (filter_has_status(all->f, status))
			runs_add(all, (struct run){ half, STR_NONE, 0, status });
}

static struct runs runs_of(struct arena *mem, const struct bead_reading *r, enum bead_sort sort)
{
	const struct bead_filter *f = r->f;
	struct runs all = { .f = f, .mem = mem };
	bool usual = sort == SORT_PRIORITY;

	if (usual && f->label_count) {
		all.labels = f->labels;
		all.label_count = 1;
	} else if (usual && f->any_count <= LABELS_MOST) {
		all.labels = f->any_labels;
		all.label_count = f->any_count;
	}
	all.by_status = sort == SORT_CLOSED ||
			(usual && f->statuses != (1 << BEAD_OPEN | 1 << BEAD_IN_PROGRESS) &&
			 !f->assignee.p && !f->id_count && !f->parent.p);
	if (f->ready || f->free) {
		runs_add_half(&all, HALF_OPEN);
		if (r->held)
			runs_add_half(&all, HALF_EXPIRED);
	} else if (f->claimed && !all.label_count && !f->assignee.p) {
		runs_add_half(&all, HALF_BEGUN);
		runs_add_half(&all, HALF_LEASED);
	} else {
		runs_add_half(&all, HALF_NONE);
	}
	return all;
}

static void with_run(struct query *q, const struct bead_filter *f, struct run run)
{
	static const char labelled[] = BEAD_COLUMNS_FROM("l", "b.line", "b.hash");
	static const char labelled_lean[] = BEAD_COLUMNS_FROM("l", "NULL", "NULL");

	bead_query_sql(q, q->sql.n ? " UNION ALL SELECT" : "SELECT");
	bead_query_sql(q, !run.label.p ? bead_query_columns(f) :
			  f->lean      ? labelled_lean :
					 labelled);
	bead_query_sql(q, run.label.p ? " FROM" LABEL_JOIN_SQL : " FROM beads b");
	if (run.half == HALF_LEASED)
		bead_query_sql(q, " INDEXED BY timed");
	bead_query_conditions(q, f, run.half);
	with_text(q, " AND l.label = ?", run.label);
	if (run.label.p)
		buf_fmt(&q->sql, " AND l.done = %d", run.done);
	if (run.status != STATUS_ANY)
		buf_fmt(&q->sql, " AND b.status = %d", run.status);
}

/* --- passes: parts of a list that follow each other --- */

struct pass {
	enum bead_sort sort;
	bool reverse;
	const char *condition;
};

static enum err read_pass(struct call *c, struct cache *cache, struct bead_reading *r,
			  struct pass pass)
{
	struct query q = { .sql.mem = &c->mem };
	struct runs runs = runs_of(&c->mem, r, pass.sort);

	if (reading_done(r))
		return ERR_OK;
	for (size_t i = 0; i < runs.count; i++) {
		with_run(&q, r->f, runs.item[i]);
		bead_query_sql(&q, pass.condition);
		with_text(&q, " AND b.n IN (SELECT rowid FROM search WHERE search MATCH ?)",
			  stmt_match(&c->mem, r->f->words, ""));
	}
	bead_query_order(&q, pass.sort, pass.reverse, runs.label_count > 1 ? 0 : reading_rest(r));
	return runs.count ? read_rows(c, cache, &q, r) : ERR_OK;
}

/* Beads without a value come last, in either order. */
static enum err read_known_first(struct call *c, struct cache *cache, struct bead_reading *r)
{
	const struct bead_filter *f = r->f;
	bool closed = f->sort == SORT_CLOSED;
	struct pass known = { f->sort, f->reverse,
			      closed ? " AND b.closed IS NOT NULL" :
				       " AND b.assignee IS NOT NULL" };
	struct pass rest = { closed ? SORT_CLOSED : SORT_PRIORITY, closed && f->reverse,
			     closed ? " AND b.closed IS NULL" : " AND b.assignee IS NULL" };
	enum err e = read_pass(c, cache, r, known);

	return e ? e : read_pass(c, cache, r, rest);
}

/* The last status or type first; those of one are in the usual order. */
static enum err read_last_first(struct call *c, struct cache *cache, struct bead_reading *r)
{
	const struct bead_filter *f = r->f;
	bool by_status = f->sort == SORT_STATUS;
	enum err e = ERR_OK;

	for (int value = by_status ? BEAD_CLOSED : BEAD_CHORE; !e && value >= 0; value--) {
		struct bead_filter one = *f;
		unsigned *set = by_status ? &one.statuses : &one.types;

		if (*set && !(*set >> value & 1))
			continue;
		*set = 1u << value;
		r->f = &one;
		e = read_pass(c, cache, r, (struct pass){ SORT_PRIORITY, false, "" });
		r->f = f;
	}
	return e;
}

/* Beads without open children come first: a bead with open children is worked on through them. */
static enum err leaves_first(struct call *c, struct cache *cache, struct bead_reading *r)
{
	struct pass leaves = { r->f->sort, r->f->reverse, " AND b.children = 0" };
	struct pass containers = { r->f->sort, r->f->reverse, " AND b.children > 0" };
	enum err e = tally_held(c, cache, &r->held);

	if (!e)
		e = read_pass(c, cache, r, leaves);
	return e || r->f->free ? e : read_pass(c, cache, r, containers);
}

/*
 * Open beads are seldom claimed. Without one, the claimed beads are those in progress, and `out`
 * asks for these, with a query that costs less.
 */
static enum err query_narrow(struct call *c, struct cache *cache, const struct bead_filter *f,
			     struct bead_filter *out)
{
	*out = *f;
	if (!f->claimed || !filter_has_status(f, BEAD_IN_PROGRESS))
		return ERR_OK;

	AUTO_STMT *st =
		db_stmt(cache->db, "SELECT 1 FROM beads INDEXED BY timed WHERE " READY_TIMED_SQL
				   " AND lease > ? LIMIT 1");

	stmt_bind_int(st, f->now);
	if (!stmt_row(st)) {
		out->claimed = false;
		out->statuses = 1u << BEAD_IN_PROGRESS;
	}
	return stmt_end(c, st);
}

enum err query_each(struct call *c, struct cache *cache, const struct bead_filter *filter,
		    struct bead_row **out)
{
	struct bead_filter narrowed, *f = &narrowed;
	struct bead_reading r = { .f = f, .tail = out };
	enum err e = query_narrow(c, cache, filter, &narrowed);

	*out = NULL;
	if (e)
		return e;
	if (f->words.p && f->sort == SORT_PRIORITY && !f->reverse)
		return bead_query_search(c, cache, f, &r);
	if (f->ready || f->free)
		return leaves_first(c, cache, &r);
	if (f->sort == SORT_CLOSED || f->sort == SORT_ASSIGNEE)
		return read_known_first(c, cache, &r);
	if (f->reverse && (f->sort == SORT_STATUS || f->sort == SORT_TYPE))
		return read_last_first(c, cache, &r);
	return read_pass(c, cache, &r, (struct pass){ f->sort, f->reverse, "" });
}

enum err query_tasks(struct call *c, struct cache *cache, struct str epic, bool closed,
		     const struct bead_filter *f)
{
	AUTO_STMT *st = db_stmt(
		cache->db,
		"SELECT" BEAD_COLUMNS_WITH(
			"CASE WHEN ?3 THEN b.line END",
			"CASE WHEN ?3 THEN b.hash END") " FROM counts l CROSS JOIN beads b"
							" ON b.n = l.beads WHERE l.cell > ?1"
							" AND l.cell < ?2"
							" AND (?4 OR b.status < 2)"
							" ORDER BY l.cell LIMIT ?5");
	struct bead_reading r = { .f = f };
	struct str first = tally_list(&c->mem, epic, closed);

	stmt_bind_blob(st, first);
	stmt_bind_blob(st, arena_join(&c->mem, first, STR("\xff")));
	stmt_bind_int(st, !f->lean);
	stmt_bind_int(st, closed);
	stmt_bind_int(st, f->limit ? f->limit : -1);
	visit_rows(c, st, &r);
	return stmt_end(c, st);
}

/* Counts the beads of the filter and of `half`; stops at `most`, unless that is 0. */
static enum err count_half(struct call *c, struct cache *cache, const struct bead_filter *f,
			   enum half half, int64_t most, int64_t *out)
{
	struct query q = { .sql.mem = &c->mem };
	bool labelled = f->label_count && !f->words.p && (half == HALF_NONE || half == HALF_OPEN);
	AUTO_STMT *st = NULL;

	bead_query_sql(&q, most ? "SELECT count(*) FROM (SELECT 1 FROM" : "SELECT count(*) FROM");
	bead_query_sql(&q, f->words.p ? SEARCH_JOIN_SQL : labelled ? LABEL_JOIN_SQL : " beads b");
	if (half == HALF_TIMED || half == HALF_TIMED_READY || half == HALF_LEASED)
		bead_query_sql(&q, " INDEXED BY timed");
	bead_query_conditions(&q, f, half);
	with_text(&q, " AND s.search MATCH ?", stmt_match(&c->mem, f->words, ""));
	with_kin(&q, f->free ? KIN_LEAF : KIN_ANY);
	if (labelled)
		with_text(&q, " AND l.label = ?", f->labels[0]);
	if (labelled && f->statuses == (1 << BEAD_OPEN | 1 << BEAD_IN_PROGRESS))
		bead_query_sql(&q, " AND l.done = 0");
	if (most)
		with_number(&q, " LIMIT ?)", most);
	st = bead_query_prepared(cache, &q);
	*out = stmt_row(st) ? stmt_int(st) : 0;
	return stmt_end(c, st);
}

/*
 * The kept counts tell how many beads are open and not blocked. Some of them are not ready now:
 * they are deferred, or another actor has claimed them. Beads whose claim has expired are added.
 */
static enum err count_ready(struct call *c, struct cache *cache, const struct bead_filter *f,
			    int64_t *out)
{
	int64_t timed, ready = 0, expired = 0;
	bool held;
	enum err e;

	if ((e = tally_count(c, cache, f, out)) || (e = tally_held(c, cache, &held)) ||
	    (e = count_half(c, cache, f, HALF_TIMED, 0, &timed)) ||
	    (timed && (e = count_half(c, cache, f, HALF_TIMED_READY, 0, &ready))) ||
	    (held && (e = count_half(c, cache, f, HALF_EXPIRED, 0, &expired))))
		return e;
	*out += ready - timed + expired;
	return ERR_OK;
}

static enum err count_rows(struct call *c, struct cache *cache, const struct bead_filter *f,
			   int64_t *out)
{
	int64_t open, expired;
	enum err e;

	if (!f->ready && !f->free)
		return count_half(c, cache, f, HALF_NONE, f->count_most, out);
	if ((e = count_half(c, cache, f, HALF_OPEN, f->count_most, &open)) ||
	    (e = count_half(c, cache, f, HALF_EXPIRED, f->count_most, &expired)))
		return e;
	*out = open + expired;
	return ERR_OK;
}

/* The beads in progress can be counted without looking at each; few open ones have a lease. */
static enum err count_claimed(struct call *c, struct cache *cache, const struct bead_filter *f,
			      int64_t *out)
{
	struct bead_filter begun = *f;
	int64_t leased;
	enum err e = count_half(c, cache, f, HALF_LEASED, f->count_most, &leased);

	*out = 0;
	begun.claimed = false;
	begun.statuses = 1u << BEAD_IN_PROGRESS;
	if (!e && filter_has_status(f, BEAD_IN_PROGRESS))
		e = query_count(c, cache, &begun, out);
	*out += leased;
	return e;
}

enum err query_count(struct call *c, struct cache *cache, const struct bead_filter *filter,
		     int64_t *out)
{
	struct bead_filter narrowed, *f = &narrowed;
	enum err e = query_narrow(c, cache, filter, &narrowed);

	*out = 0;
	if (e)
		return e;
	if (f->claimed && !f->assignee.p && !f->words.p)
		return count_claimed(c, cache, f, out);
	if (!tally_can(f))
		return count_rows(c, cache, f, out);
	return f->ready || f->free ? count_ready(c, cache, f, out) : tally_count(c, cache, f, out);
}

enum err query_tally(struct call *c, struct cache *cache, const struct bead_filter *f,
		     enum group group, struct tally **out)
{
	struct query q = { .sql.mem = &c->mem };
	bool label = group == GROUP_LABEL;

	if (group <= GROUP_TYPE && tally_can(f))
		return tally_group(c, cache, f, group, out);

	const char *key =
		label ? "l.label" : arena_fmt(&c->mem, "b.%s", names_word(&groups, group)).p;

	buf_fmt(&q.sql, "SELECT %s, count(*) FROM beads b%s", key,
		label ? " JOIN labels l ON l.n = b.n" : "");
	bead_query_conditions(&q, f, HALF_NONE);
	buf_fmt(&q.sql, " GROUP BY %s ORDER BY %s", key, key);

	AUTO_STMT *st = bead_query_prepared(cache, &q);

	return tally_read(c, st, out);
}

enum err query_ids(struct call *c, struct cache *cache, struct str head, bool gone, size_t most,
		   struct str **ids, size_t *count)
{
	AUTO_STMT *st = db_stmt(cache->db,
				gone ? "SELECT id FROM tombstones WHERE id >= ?1 AND id < ?1 || '~'"
				       " ORDER BY id LIMIT ?2" :
				       "SELECT id FROM beads WHERE id >= ?1 AND id < ?1 || '~'"
				       " ORDER BY id LIMIT ?2");

	*ids = arena_array(&c->mem, most, sizeof **ids);
	*count = 0;
	stmt_bind_str(st, head);
	stmt_bind_int(st, (int64_t)most);
	while (stmt_row(st))
		(*ids)[(*count)++] = stmt_str(st, &c->mem);
	return stmt_end(c, st);
}

static int bead_query_cmp_link(const void *x, const void *y)
{
	const struct link *a = *(const struct link *const *)x, *b = *(const struct link *const *)y;
	int cmp = str_cmp(a->kind, b->kind);

	if (!cmp)
		cmp = (a->bead->priority > b->bead->priority) -
		      (a->bead->priority < b->bead->priority);
	return cmp ? cmp : str_cmp(a->bead->id, b->bead->id);
}

/* The sorter of SQLite would hold every line in memory. */
static struct link *bead_query_sort_links(struct link **list, size_t count)
{
	struct link *first = NULL;

	if (count > 1)
		qsort(list, count, sizeof(struct link *), bead_query_cmp_link);
	while (count) {
		list[--count]->next = first;
		first = list[count];
	}
	return first;
}

enum err query_links(struct call *c, struct cache *cache, struct str id, enum side side, bool whole,
		     struct link **out)
{
	AUTO_STMT *st =
		db_stmt(cache->db, side == SIDE_OUT ?
					   "SELECT kind, dst FROM edges WHERE src = ? AND active" :
					   "SELECT kind, src FROM edges WHERE dst = ? AND active");
	struct link **list = NULL;
	size_t count = 0;
	enum err e = ERR_OK;

	stmt_bind_str(st, id);
	while (!e && stmt_row(st)) {
		struct link *l = arena_new(&c->mem, struct link);

		l->kind = stmt_str(st, &c->mem);
		e = cache_find_row(c, cache, stmt_str(st, &c->mem), whole, &l->bead);
		if (!l->bead)
			continue; /* an edge to a bead that this clone does not have */
		list = arena_room(&c->mem, list, count, sizeof *list);
		list[count++] = l;
	}
	*out = bead_query_sort_links(list, count);
	return e ? e : stmt_end(c, st);
}

enum err query_ends(struct call *c, struct cache *cache, struct str id, enum side side,
		    struct edge_end **out)
{
	AUTO_STMT *st = db_stmt(
		cache->db, side == SIDE_OUT ?
				   "SELECT b.id, e.kind, b.status FROM edges e CROSS JOIN beads b"
				   " ON b.id = e.dst WHERE e.src = ? AND e.active ORDER BY e.dst" :
				   "SELECT b.id, e.kind, b.status FROM edges e CROSS JOIN beads b"
				   " ON b.id = e.src WHERE e.dst = ? AND e.active");

	*out = NULL;
	stmt_bind_str(st, id);
	while (stmt_row(st)) {
		struct edge_end *end = arena_new(&c->mem, struct edge_end);

		end->id = stmt_str(st, &c->mem);
		end->kind = stmt_str(st, &c->mem);
		end->status = (int)stmt_int(st);
		*out = end;
		out = &end->next;
	}
	return stmt_end(c, st);
}

enum err query_targets(struct call *c, struct cache *cache, struct str id, enum edge_kind kind,
		       struct str **ids, size_t *count)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT b.id FROM edges e CROSS JOIN beads b"
					   " ON b.id = e.dst WHERE e.src = ? AND e.kind = ?"
					   " AND e.active ORDER BY b.priority, b.id");

	stmt_bind_str(st, id);
	stmt_bind_str(st, str_of(names_word(&edge_kinds, kind)));
	return stmt_all(c, st, ids, count);
}

enum err query_is_target(struct call *c, struct cache *cache, struct str id, enum edge_kind kind,
			 bool *yes)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT 1 FROM edges WHERE dst = ? AND kind = ?"
					   " AND active LIMIT 1");

	stmt_bind_str(st, id);
	stmt_bind_str(st, str_of(names_word(&edge_kinds, kind)));
	*yes = stmt_row(st);
	return stmt_end(c, st);
}

/* Reads rows of src, dst, kind, line and active. */
static enum err query_read_edges(struct call *c, struct stmt *st, struct edge_row **out)
{
	*out = NULL;
	while (stmt_row(st)) {
		struct edge_row *row = arena_new(&c->mem, struct edge_row);

		row->from = stmt_str(st, &c->mem);
		row->to = stmt_str(st, &c->mem);
		row->kind = stmt_str(st, &c->mem);
		row->line = stmt_str(st, &c->mem);
		row->active = stmt_int(st);
		*out = row;
		out = &row->next;
	}
	return stmt_end(c, st);
}

enum err query_edges(struct call *c, struct cache *cache, struct edge_row **out)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT src, dst, kind, e.line, active FROM edges e"
					   " CROSS JOIN beads f ON f.id = src"
					   " CROSS JOIN beads t ON t.id = dst"
					   " WHERE active ORDER BY src, dst, kind");

	return query_read_edges(c, st, out);
}

enum err query_all_ids(struct call *c, struct cache *cache, struct str **ids, size_t *count)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT id FROM beads ORDER BY id");

	*ids = NULL;
	*count = 0;
	while (stmt_row(st)) {
		*ids = arena_room(&c->mem, *ids, *count, sizeof **ids);
		(*ids)[(*count)++] = stmt_str(st, &c->mem);
	}
	return stmt_end(c, st);
}

static bool query_number(const struct str *ids, size_t count, struct str id, uint32_t *out)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (str_cmp(ids[middle], id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*out = (uint32_t)low;
	return low < count && str_eq(ids[low], id);
}

enum err query_edge_numbers(struct call *c, struct cache *cache, enum edge_kind kind,
			    const struct str *ids, size_t id_count, struct edge_numbers **out,
			    size_t *count)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT src, dst FROM edges WHERE active AND kind = ?"
					   " ORDER BY src, dst, kind");
	struct arena text = { 0 };

	*out = NULL;
	*count = 0;
	stmt_bind_str(st, str_of(names_word(&edge_kinds, kind)));
	while (stmt_row(st)) {
		struct edge_numbers edge;

		arena_reset(&text);
		if (!query_number(ids, id_count, stmt_str(st, &text), &edge.from) ||
		    !query_number(ids, id_count, stmt_str(st, &text), &edge.to))
			continue;
		*out = arena_room(&c->mem, *out, *count, sizeof **out);
		(*out)[(*count)++] = edge;
	}
	arena_release(&text);
	return stmt_end(c, st);
}

enum err query_edges_with(struct call *c, struct cache *cache, struct str text,
			  struct edge_row **out)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT src, dst, kind, line, active FROM edges"
					   " WHERE instr(line, ?) ORDER BY src, dst, kind");

	stmt_bind_str(st, text);
	return query_read_edges(c, st, out);
}

enum err query_tombstones(struct call *c, struct cache *cache, int64_t limit,
			  struct tombstone_row **out)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT id, line FROM tombstones"
					   " ORDER BY at DESC, id LIMIT ?");

	*out = NULL;
	stmt_bind_int(st, limit ? limit : -1);
	while (stmt_row(st)) {
		struct tombstone_row *b = arena_new(&c->mem, struct tombstone_row);

		b->id = stmt_str(st, &c->mem);
		b->line = stmt_str(st, &c->mem);
		*out = b;
		out = &b->next;
	}
	return stmt_end(c, st);
}

enum err query_tombstone_count(struct call *c, struct cache *cache, int64_t *out)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT count(*) FROM tombstones");

	*out = stmt_row(st) ? stmt_int(st) : 0;
	return stmt_end(c, st);
}
