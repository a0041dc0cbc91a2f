#include "continuity/tasks.h"

#include <stdlib.h>

#include "base/moment.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/autosync.h"
#include "beads/claim.h"
#include "beads/draft.h"
#include "beads/find.h"
#include "beads/model/state.h"
#include "beads/ready.h"
#include "store/db/bead_query.h"
#include "store/db/bead_ready.h"
#include "store/db/bead_tally.h"

const struct names task_statuses = NAMES_OF("pending", "in_progress", "completed", "blocked");

enum { PLAIN = 2, LEAST = 0, MOST = 4 }; /* priorities of beads; 0 is the most urgent */

int64_t task_bead_priority(int64_t rank)
{
	int64_t p = PLAIN - rank;

	return p < LEAST ? LEAST : p > MOST ? MOST : p;
}

/* --- from beads --- */

static enum task_status tasks_status_of(const struct call *c, const struct bead_row *row,
					struct str reason)
{
	if (row->status == BEAD_CLOSED)
		return TASK_COMPLETED;
	if (bead_row_claimed(row, c->now_ms))
		return reason.p && !row->assignee.n ? TASK_BLOCKED : TASK_IN_PROGRESS;
	return row->blockers ? TASK_BLOCKED : TASK_PENDING;
}

static enum err task_read_needs(struct call *c, struct beads *b, const struct bead_row *row,
				struct task *out)
{
	if (!row->dependencies)
		return ERR_OK;
	return query_targets(c, &b->cache, row->id, EDGE_BLOCKS, &out->depends_on,
			     &out->depends_count);
}

/* The task without its dependencies. */
static void task_decode(struct call *c, struct arena *mem, const struct bead_row *row,
			struct task *out)
{
	const struct value *line = value_read(mem, row->line), *at = value_find(line, "_at");
	struct str reason = value_str(line, "blocked_reason");
	int64_t rank, n = 0;

	*out = (struct task){ .id = row->id,
			      .title = row->title,
			      .description = value_str(line, "description"),
			      .assignee = row->assignee,
			      .bead_status = row->status,
			      .status = tasks_status_of(c, row, reason),
			      .priority = PLAIN - row->priority,
			      .project = value_str(line, "project"),
			      .created = row->created,
			      .created_n = row->created_n,
			      .updated = row->updated,
			      .lease = row->lease,
			      .ready = bead_row_assignable(row, c->actor, c->now_ms) };
	if (value_int(line, "rank", &rank) && task_bead_priority(rank) == row->priority)
		out->priority = rank;
	if (out->status == TASK_BLOCKED)
		out->blocked_reason = row->status == BEAD_OPEN ? STR("dependency") : reason;
	stamp_decode(value_find(line, "assignee_at"), &out->claimed);
	if (at && at->type == VALUE_ARRAY && at->count == 2)
		value_number(&at->item[1], &n);
	/* grows with every write: the time of the write, and the count within that millisecond */
	out->version = row->updated * 1000 + (n < 999 ? n : 999);
}

enum err task_of_row(struct call *c, struct beads *b, const struct bead_row *row, struct task *out)
{
	task_decode(c, &c->mem, row, out);
	return task_read_needs(c, b, row, out);
}

void task_encode(struct json *j, const struct task *t)
{
	struct arena *mem = j->out.mem;

	json_object(j);
	json_put_str(j, "id", t->id);
	json_put_str(j, "title", t->title);
	json_put_str(j, "description", t->description.p ? t->description : STR(""));
	json_put_str(j, "status", str_of(names_word(&task_statuses, (int)t->status)));
	json_put_int(j, "priority", t->priority);
	json_put_present(j, "project_id", t->project);
	json_put_present(j, "blocked_reason", t->blocked_reason);
	json_put_strs(j, "depends_on", t->depends_on, t->depends_count);
	json_put_int(j, "version", t->version);
	json_put_str(j, "created_at", moment_format(mem, t->created));
	json_put_str(j, "updated_at", moment_format(mem, t->updated));
	json_put_str(j, "assignee", t->assignee.n ? t->assignee : STR_NONE);
	if (t->assignee.n && t->status == TASK_IN_PROGRESS) {
		json_key(j, STR("epoch"));
		stamp_encode(j, t->claimed);
	}
	json_end(j);
}

/* --- looking --- */

enum err task_find(struct call *c, struct beads *b, struct str id, struct task *out)
{
	struct bead_row *row;
	enum err e;

	if (!b) {
		call_fail(c, ERR_NOT_FOUND, "there is no task '" STR_FMT "'", STR_ARG(id));
		return call_step(c, "Run 'vybe task list' to list the tasks.");
	}
	e = find_bead(c, b, id, &row);
	return e ? e : task_of_row(c, b, row, out);
}

static bool tasks_fits(const struct task_filter *f, const struct task *t)
{
	return (f->status < 0 || (int)t->status == f->status) &&
	       (!f->project.p || str_eq(f->project, t->project) || (f->or_none && !t->project.n)) &&
	       (f->priority == INT64_MIN || f->priority == t->priority) && (!f->ready || t->ready);
}

static int task_key_cmp(const struct task_key *a, const struct task_key *b, bool oldest)
{
	int64_t later = a->created != b->created ? a->created - b->created :
						   a->created_n - b->created_n,
		age = oldest ? later : -later;

	if (a->priority != b->priority)
		return a->priority < b->priority ? 1 : -1;
	return age ? (age < 0 ? -1 : 1) : str_cmp(a->id, b->id);
}

static int task_key_cmp_oldest(const void *a, const void *b)
{
	return task_key_cmp(a, b, true);
}

static int task_key_cmp_newest(const void *a, const void *b)
{
	return task_key_cmp(a, b, false);
}

/* The part of the filter that the query of the beads can do; tasks_fits() does the rest. */
static struct bead_filter tasks_bead_filter(const struct call *c, const struct task_filter *f)
{
	struct bead_filter filter = { .assignee = f->assignee, .now = c->now_ms };

	if (f->status == TASK_COMPLETED)
		filter.statuses = 1u << BEAD_CLOSED;
	else if (f->status == TASK_PENDING)
		filter.statuses = 1u << BEAD_OPEN;
	else if (f->status == TASK_IN_PROGRESS)
		filter.claimed = true;
	else if (f->status == TASK_BLOCKED)
		filter.statuses = 1u << BEAD_OPEN | 1u << BEAD_IN_PROGRESS;
	return filter;
}

/* Collects the keys of the tasks that fit, while the beads are read one at a time. */
struct tasks_reading {
	struct call *c;
	const struct task_filter *filter;
	struct arena scratch; /* memory for one bead */
	struct task_key *list;
	size_t count;
	bool in_order; /* the beads have the order of the tasks: no more are read than the limit */
	bool lean;     /* their lines are not needed */
};

static bool tasks_see(void *arg, const struct bead_row *row)
{
	struct tasks_reading *r = arg;
	struct task one;

	arena_reset(&r->scratch);
	task_decode(r->c, &r->scratch, row, &one);
	if (!tasks_fits(r->filter, &one))
		return true;
	r->list = arena_room(&r->c->mem, r->list, r->count, sizeof *r->list);
	r->list[r->count++] = (struct task_key){ .priority = one.priority,
						 .created = one.created,
						 .created_n = one.created_n,
						 .id = arena_copy(&r->c->mem, one.id) };
	return !(r->in_order && (int64_t)r->count == r->filter->limit);
}

static enum err tasks_read(struct beads *b, struct tasks_reading *r)
{
	struct bead_filter filter = tasks_bead_filter(r->c, r->filter);
	struct bead_row *none;
	enum err e;

	filter.visit = tasks_see;
	filter.arg = r;
	filter.lean = r->lean;
	e = r->filter->ready ? ready_each(r->c, b, &filter, &none) :
			       query_each(r->c, &b->cache, &filter, &none);
	arena_release(&r->scratch);
	return e;
}

enum err task_keys(struct call *c, struct beads *b, const struct task_filter *filter, bool oldest,
		   struct task_key **out, size_t *count)
{
	struct tasks_reading r = { .c = c, .filter = filter };
	bool ranked = true; /* tasks may have priorities that their beads do not have */
	enum err e = ERR_OK;

	if (b)
		e = tally_ranked(c, &b->cache, &ranked);
	r.in_order = !ranked && filter->ready && filter->limit && oldest;
	r.lean = !ranked && !filter->project.p && filter->status < 0;
	if (e || (b && (e = tasks_read(b, &r))))
		return e;
	if (r.count && !r.in_order)
		qsort(r.list, r.count, sizeof *r.list,
		      oldest ? task_key_cmp_oldest : task_key_cmp_newest);
	*out = r.list;
	*count = filter->limit && r.count > (size_t)filter->limit ? (size_t)filter->limit : r.count;
	return ERR_OK;
}

enum err task_of_key(struct call *c, struct beads *b, const struct task_key *key, struct task *out)
{
	struct bead_row *row;
	enum err e = find_bead(c, b, key->id, &row);

	return e ? e : task_of_row(c, b, row, out);
}

enum err task_each(struct call *c, struct beads *b, const struct task_filter *filter, bool oldest,
		   struct task **out)
{
	struct task_key *key;
	size_t count;
	enum err e = task_keys(c, b, filter, oldest, &key, &count);

	*out = NULL;
	for (size_t i = 0; !e && i < count; i++) {
		*out = arena_new(&c->mem, struct task);
		e = task_of_key(c, b, &key[i], *out);
		out = &(*out)->next;
	}
	return e;
}

/*
 * Tasks that are blocked for another reason than a dependency are in progress without an assignee.
 */
static enum err tasks_count_stuck(struct call *c, struct beads *b, int64_t *out)
{
	struct bead_filter nobodys = { .statuses = 1u << BEAD_IN_PROGRESS, .unassigned = true };
	struct bead_row *row;
	enum err e = query_each(c, &b->cache, &nobodys, &row);

	*out = 0;
	for (; !e && row; row = row->next) {
		const struct value *line = value_read(&c->mem, row->line);

		*out += tasks_status_of(c, row, value_str(line, "blocked_reason")) == TASK_BLOCKED;
	}
	return e;
}

/* Tasks that are in progress although their beads are open: they are claimed. `begun`: the number
 * of beads in progress. */
static enum err tasks_count_claimed(struct call *c, struct beads *b, int64_t begun, int64_t *open,
				    int64_t *blocked)
{
	struct bead_filter claimed = { .claimed = true, .now = c->now_ms };
	enum err e = query_count(c, &b->cache, &claimed, open);

	*open -= begun;
	*blocked = 0;
	claimed.statuses = 1u << BEAD_OPEN;
	claimed.blocked = true;
	return e || !*open ? e : query_count(c, &b->cache, &claimed, blocked);
}

enum err task_count(struct call *c, struct beads *b, int64_t count[TASK_STATUSES])
{
	static const int statuses[] = { [TASK_PENDING] = BEAD_OPEN,
					[TASK_IN_PROGRESS] = BEAD_IN_PROGRESS,
					[TASK_COMPLETED] = BEAD_CLOSED };
	struct bead_filter waiting = { .statuses = 1u << BEAD_OPEN, .blocked = true };
	int64_t stuck, claimed, blocked;
	enum err e = ERR_OK;

	for (int i = 0; i < TASK_STATUSES; i++)
		count[i] = 0;
	for (int i = 0; b && !e && i < TASK_BLOCKED; i++) {
		struct bead_filter of = { .statuses = 1u << statuses[i] };

		e = query_count(c, &b->cache, &of, &count[i]);
	}
	if (!b || e || (e = query_count(c, &b->cache, &waiting, &count[TASK_BLOCKED])) ||
	    (e = tasks_count_stuck(c, b, &stuck)) ||
	    (e = tasks_count_claimed(c, b, count[TASK_IN_PROGRESS], &claimed, &blocked)))
		return e;
	count[TASK_PENDING] -= count[TASK_BLOCKED] + claimed - blocked;
	count[TASK_IN_PROGRESS] += claimed - stuck;
	count[TASK_BLOCKED] += stuck - blocked;
	return ERR_OK;
}

enum err task_next(struct call *c, struct beads *b, struct str project, int64_t most,
		   struct task **out)
{
	struct task_filter next = { .status = -1,
				    .project = project.n ? project : STR_NONE,
				    .priority = INT64_MIN,
				    .or_none = true,
				    .ready = true,
				    .limit = most };

	return task_each(c, b, &next, true, out);
}

/* --- changing --- */

struct tasks_writing {
	struct beads b;
	struct state *change;
	struct str id, title; /* of the task */
	bool done;            /* an earlier attempt of this request has done it */
};

struct str task_request_id(struct call *c)
{
	return arena_fmt(&c->mem, "vybe:" STR_FMT, STR_ARG(c->request_id));
}

/* The reply of the receipt has the task's id and title; for an old receipt only the id is kept. */
static enum err tasks_find_receipt(struct call *c, struct tasks_writing *w, const char *what)
{
	struct receipts in = beads_receipts(&w->b);
	struct receipt old;
	const struct value *was;
	enum err e;

	w->b.receipt = (struct receipt){ .actor = c->actor,
					 .id = task_request_id(c),
					 .op = str_of(what),
					 .args = c->request_args };
	if ((e = receipt_find(c, &in, &w->b.receipt, &old)) || !old.op.p)
		return e;
	w->done = true;
	was = value_read(&c->mem, old.reply.p ? old.reply : old.about);
	w->id = old.reply.p ? value_str(was, "id") : value_text(was);
	w->title = value_str(was, "title");
	return ERR_OK;
}

static enum err tasks_begin(struct call *c, const char *what, struct tasks_writing *w)
{
	enum err e;

	*w = (struct tasks_writing){ .change = state_new(&c->mem) };
	if ((e = beads_open(c, BEADS_WRITE, &w->b)))
		return e;
	if ((e = tasks_find_receipt(c, w, what)))
		beads_close(&w->b);
	return e;
}

static enum err tasks_commit(struct call *c, struct tasks_writing *w)
{
	struct receipts in = beads_receipts(&w->b);
	struct json reply = json_new(&c->mem);
	enum err e;

	json_object(&reply);
	json_put_str(&reply, "id", w->id);
	json_put_str(&reply, "title", w->title);
	json_end(&reply);
	e = receipt_put(c, &in, &w->b.receipt, json_text(&reply));
	return e ? e : beads_commit(c, &w->b);
}

/* Reads the task as it is after the change, then commits the change. */
static enum err tasks_finish(struct call *c, struct tasks_writing *w, struct task *out)
{
	struct bead_row *row;
	enum err e = w->done ? ERR_OK : beads_put(c, &w->b, w->change);

	if (!e && !(e = cache_find_bead(c, &w->b.cache, w->id, &row))) {
		if (row)
			e = task_of_row(c, &w->b, row, out);
		else /* it was deleted */
			*out = (struct task){ .id = w->id, .title = w->title };
	}
	if (!e)
		e = w->done ? beads_settle(c, &w->b) : tasks_commit(c, w);
	beads_close(&w->b);
	if (!e && !w->done)
		autosync_start(c, &w->b);
	return e;
}

enum err task_create(struct call *c, const struct task_new *ask, struct task *out)
{
	struct draft d = {
		.text = { [MEMBER_TITLE] = ask->title, [MEMBER_DESCRIPTION] = ask->description },
		.type = BEAD_TASK,
		.priority = task_bead_priority(ask->priority)
	};
	struct tasks_writing w;
	enum err e = tasks_begin(c, "create", &w);

	if (e)
		return e;
	if (PLAIN - d.priority != ask->priority)
		d.rank = arena_fmt(&c->mem, "%lld", (long long)ask->priority);
	if (ask->project.p)
		d.project = json_str_text(&c->mem, ask->project);
	if (!w.done) {
		if ((e = draft_put(c, &w.b, &d, w.change))) {
			beads_close(&w.b);
			return e;
		}
		w.id = d.id;
		w.title = ask->title;
	}
	return tasks_finish(c, &w, out);
}

typedef enum err task_step(struct edit *e, struct state *change, const void *arg);

/* `guard` may be NULL. */
static enum err tasks_edit(struct call *c, const char *what, struct str id,
			   const struct guard *guard, task_step *step, const void *arg,
			   struct task *out)
{
	struct bead_row *row;
	struct edit edit;
	struct tasks_writing w;
	enum err e = tasks_begin(c, what, &w);

	if (e)
		return e;
	if (!w.done) {
		if ((e = find_bead(c, &w.b, id, &row)) || (e = edit_begin(c, &w.b, row, &edit)) ||
		    (guard && (e = edit_guard(&edit, guard))) ||
		    (e = task_of_row(c, &w.b, row, out)) || (e = step(&edit, w.change, arg))) {
			beads_close(&w.b);
			return e;
		}
		edit_end(&edit, w.change);
		w.id = row->id;
		w.title = row->title;
	}
	return tasks_finish(c, &w, out);
}

struct begin_ask {
	bool *held; /* was the task in progress, claimed by the actor, before? */
};

static enum err task_begin_step(struct edit *e, struct state *change, const void *arg)
{
	const struct begin_ask *ask = arg;

	(void)change;
	if (ask)
		*ask->held = bead_status(&e->now) == BEAD_IN_PROGRESS &&
			     str_eq(bead_text(&e->c->mem, &e->now, MEMBER_ASSIGNEE), e->c->actor);
	if (bead_status(&e->now) == BEAD_OPEN && e->row->blockers) {
		call_fail(e->c, ERR_BLOCKED, "'" STR_FMT "' is blocked by " STR_FMT,
			  STR_ARG(e->row->id), STR_ARG(e->row->waits));
		return call_step(e->c, "Close its blockers first; 'bd why " STR_FMT "' lists them.",
				 STR_ARG(spawn_word(&e->c->mem, e->row->id)));
	}
	edit_extra(e, "blocked_reason", STR_NONE);
	return claim_take(e, e->b->lease_ms);
}

enum err task_begin(struct call *c, struct str id, struct task *out, bool *held)
{
	*held = false;
	return tasks_edit(c, "begin", id, NULL, task_begin_step, &(struct begin_ask){ held }, out);
}

static enum err task_renew_step(struct edit *e, struct state *change, const void *arg)
{
	(void)change, (void)arg;
	return claim_renew(e, e->b->lease_ms);
}

enum err task_renew(struct call *c, struct str id, struct task *out)
{
	return tasks_edit(c, "renew", id, NULL, task_renew_step, NULL, out);
}

static enum err task_adopt_step(struct edit *e, struct state *change, const void *arg)
{
	const struct str *from = arg;

	(void)change;
	return claim_adopt(e, *from, e->b->lease_ms);
}

enum err task_adopt(struct call *c, struct str id, struct str from, struct task *out)
{
	return tasks_edit(c, "adopt", id, NULL, task_adopt_step, &from, out);
}

static void task_add_label(struct edit *e, struct str label)
{
	size_t count;
	struct str *labels = bead_labels(&e->c->mem, &e->now, &count),
		   *more = arena_array(&e->c->mem, count + 1, sizeof *more);

	if (count)
		memcpy(more, labels, count * sizeof *more);
	more[count] = label;
	edit_labels(e, more, count + 1);
}

/* Any status may follow any other, unless another agent has claimed the task. */
static enum err task_move_step(struct edit *e, struct state *change, const void *arg)
{
	const struct task_move *move = arg;
	bool closed = bead_status(&e->now) == BEAD_CLOSED;
	struct str reason = move->blocked_reason.n ? move->blocked_reason :
			    move->summary.n        ? move->summary :
						     STR("blocked");
	enum err err;

	(void)change;
	if (move->label.n)
		task_add_label(e, move->label);
	edit_extra(e, "blocked_reason",
		   move->to == TASK_BLOCKED ? json_str_text(&e->c->mem, reason) : STR_NONE);
	switch (move->to) {
	case TASK_COMPLETED:
		return edit_close(e, move->summary);
	case TASK_PENDING:
		if ((err = edit_reopen(e, BEAD_OPEN)))
			return err;
		claim_drop(e);
		return ERR_OK;
	case TASK_BLOCKED:
		if ((err = edit_reopen(e, BEAD_IN_PROGRESS)))
			return err;
		claim_drop(e);
		return ERR_OK;
	default:
		if (!closed && !(e->force && claim_is_anothers(e)))
			return claim_take(e, e->b->lease_ms);
		if ((err = edit_reopen(e, BEAD_IN_PROGRESS)))
			return err;
		claim_assign(e, e->c->actor);
		edit_int(e, MEMBER_ASSIGNEE_EXPIRES, e->c->now_ms + e->b->lease_ms);
		return ERR_OK;
	}
}

enum err task_move(struct call *c, const struct task_move *move, struct task *out)
{
	return tasks_edit(c, "move", move->id, move->guard, task_move_step, move, out);
}

enum err task_claim(struct call *c, struct beads *b, const struct task_move *move, bool begin,
		    struct str *id)
{
	struct state *change = state_new(&c->mem);
	struct bead_row *row;
	struct edit edit;
	enum err e;

	if ((e = find_bead(c, b, move->id, &row)) || (e = edit_begin(c, b, row, &edit)) ||
	    (e = edit_guard(&edit, move->guard)) ||
	    (e = begin ? task_begin_step(&edit, change, NULL) :
			 task_move_step(&edit, change, move)))
		return e;
	edit_end(&edit, change);
	*id = row->id;
	return beads_put(c, b, change);
}

static enum err task_priority_step(struct edit *e, struct state *change, const void *arg)
{
	const int64_t *priority = arg, bead = task_bead_priority(*priority);

	(void)change;
	edit_int(e, MEMBER_PRIORITY, bead);
	edit_extra(e, "rank",
		   PLAIN - bead == *priority ? STR_NONE :
					       arena_fmt(&e->c->mem, "%lld", (long long)*priority));
	return ERR_OK;
}

enum err task_prioritise(struct call *c, struct str id, const struct guard *guard, int64_t priority,
			 struct task *out)
{
	return tasks_edit(c, "prioritise", id, guard, task_priority_step, &priority, out);
}

struct need_ask {
	struct str on;
	bool there;
};

static enum err task_need_step(struct edit *e, struct state *change, const void *arg)
{
	const struct need_ask *ask = arg;
	struct bead_row *to;
	enum err err = find_bead(e->c, e->b, ask->on, &to);

	if (err)
		return err;
	return edit_depend(e, change, to, str_of(names_word(&edge_kinds, EDGE_BLOCKS)), ask->there);
}

enum err task_depend(struct call *c, struct str id, const struct guard *guard, struct str on,
		     bool there, struct task *out)
{
	struct need_ask ask = { on, there };

	return tasks_edit(c, there ? "add-dep" : "remove-dep", id, guard, task_need_step, &ask,
			  out);
}

static enum err task_delete_step(struct edit *e, struct state *change, const void *arg)
{
	(void)arg;
	return edit_delete(e, change, STR_NONE);
}

enum err task_delete(struct call *c, struct str id, const struct guard *guard, struct task *out)
{
	return tasks_edit(c, "delete", id, guard, task_delete_step, NULL, out);
}
