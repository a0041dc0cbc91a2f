#include "live/project_status.h"

#include <stdlib.h>

#include "base/moment.h"
#include "beads/lost.h"
#include "live/open.h"
#include "live/project_status_parts.h"
#include "store/board/board_db.h"
#include "store/db/bead_query.h"

/* --- reading --- */

static struct agent_work *project_status_work(struct project_status *p, struct str agent)
{
	void **at = map_put(&p->work, agent);

	if (!*at) {
		struct agent_work *w = *at = arena_new(&p->c->mem, struct agent_work);

		w->id = agent;
	}
	return *at;
}

bool project_status_liveness(const struct project_status *p, struct str agent, enum liveness *out)
{
	void **at = agent.p ? map_find(&p->work, agent) : NULL;
	const struct agent_work *w = at ? *at : NULL;

	if (!w || !w->agent)
		return false;
	*out = liveness_of(w->agent->shown.last_seen, p->c->now_ms, p->c->stale_minutes);
	return true;
}

/* Notes a store that cannot be read; the others are shown nevertheless. */
static void project_status_fault(struct project_status *p, const char *store)
{
	struct store_fault *fault = arena_new(&p->c->mem, struct store_fault);

	*fault = (struct store_fault){ store, p->c->message, p->faults };
	p->faults = fault;
	call_forgive(p->c);
}

static enum err project_status_part(struct project_status *p, struct beads *b,
				    struct bead_filter filter, struct bead_part *out)
{
	enum err e;

	filter.count_most = STATUS_TOTAL_MOST;
	e = query_count(p->c, &b->cache, &filter, &out->total);
	if (out->total > STATUS_TOTAL_MOST)
		out->total = STATUS_TOTAL_MOST;
	filter.lean = true;
	filter.limit = (int64_t)p->limit;
	return e ? e : query_each(p->c, &b->cache, &filter, &out->first);
}

static enum err project_status_read_beads(struct project_status *p)
{
	enum { HELD_MOST = 500 };
	struct call *c = p->c;
	struct bead_filter busy = { .claimed = true, .now = c->now_ms }, held = busy;
	struct beads b;
	enum err e = live_open_beads(c, &b, &p->has_beads);

	if (e || !p->has_beads)
		return e;
	held.lean = true;
	held.limit = HELD_MOST;
	if (!(e = project_status_part(p, &b, busy, &p->in_progress)) &&
	    !(e = project_status_part(
		      p, &b, (struct bead_filter){ .ready = true, .now = c->now_ms }, &p->ready)) &&
	    !(e = project_status_part(p, &b, (struct bead_filter){ .blocked = true }, &p->blocked)))
		e = query_each(c, &b.cache, &held, &p->held);
	if (!e && p->held && stuck_among(c, &b, &p->stuck))
		project_status_fault(p, "vybe");
	p->sync = sync_state_read(c, b.home);
	p->lost = lost_list(c, b.home);
	beads_close(&b);
	for (struct bead_row *row = e ? NULL : p->held; row; row = row->next) {
		struct agent_work *w;

		if (!row->assignee.n)
			continue;
		w = project_status_work(p, row->assignee);
		w->bead = arena_room(&c->mem, w->bead, w->beads, sizeof *w->bead);
		w->bead[w->beads++] = row;
	}
	return e;
}

static int agent_work_by_id(const void *a, const void *b)
{
	return str_cmp((*(struct agent_work *const *)a)->id, (*(struct agent_work *const *)b)->id);
}

/* Opens each mailbox once: for the counts of its agent, and for what has to be acknowledged. */
static enum err project_status_read_mail(struct project_status *p)
{
	struct agent_work **all = arena_array(&p->c->mem, p->work.count + 1, sizeof *all);
	struct mail **tail = &p->unacked;
	size_t count = 0;

	for (size_t i = 0; i < p->work.count; i++) {
		struct agent_work *w = p->work.entry[i].value;

		if (w->agent && w->agent->registered)
			all[count++] = w;
	}
	if (count)
		qsort(all, count, sizeof *all, agent_work_by_id);
	for (size_t i = 0; i < count; i++) {
		struct agent_work *w = all[i];
		struct mail_totals mail;
		enum err e;

		if ((e = mail_totals(p->c, &p->files, w->id, STR_NONE, &mail)))
			return e;
		w->unread = mail.count[MAIL_UNREAD];
		for (*tail = mail.unacked; *tail; tail = &(*tail)->next)
			w->to_accept++;
	}
	return ERR_OK;
}

static enum err project_status_read_agents(struct project_status *p)
{
	struct roster_agent *one;
	struct board board;
	bool there;
	enum err e;

	if (live_open_board(p->c, &board, &there))
		project_status_fault(p, "board");
	e = roster_read(p->c, &p->files, there ? &board : NULL, &one);
	if (there)
		board_close(&board);
	for (; !e && one; one = one->next)
		project_status_work(p, one->shown.id)->agent = one;
	if (e || !p->files.home.p)
		return e;
	if ((e = reservation_shown(p->c, &p->files, STR_NONE, STR_NONE, true, &p->reserved)) ||
	    (e = project_status_read_mail(p)))
		return e;
	for (struct reservation *r = p->reserved; r; r = r->next) {
		struct agent_work *w = project_status_work(p, r->agent);

		w->reserved =
			arena_room(&p->c->mem, w->reserved, w->reservations, sizeof *w->reserved);
		w->reserved[w->reservations++] = r;
	}
	return ERR_OK;
}

static enum err project_status_read_acts(struct project_status *p)
{
	struct activity_ask ask = { .since_ms = INT64_MIN, .limit = SIZE_MAX, .quick = true };
	struct act **acts;
	size_t count;
	enum err e = activity_read(p->c, &ask, &acts, &count);

	for (size_t i = 0; !e && i < count; i++) {
		void **at = acts[i]->by.p ? map_find(&p->work, acts[i]->by) : NULL;

		if (at)
			((struct agent_work *)*at)->last = acts[i];
	}
	return e;
}

static void project_status_read(struct project_status *p)
{
	if (agent_files_open(p->c, AGENTS_READ, &p->files)) {
		project_status_fault(p, "agents");
		p->files = (struct agent_files){ 0 };
	}
	if (project_status_read_agents(p))
		project_status_fault(p, "agents");
	if (project_status_read_beads(p))
		project_status_fault(p, "beads");
	if (!p->faults && project_status_read_acts(p))
		call_forgive(p->c); /* the last acts are left out */
}

/* --- JSON --- */

static void project_status_put_liveness(const struct project_status *p, struct json *j,
					const char *key, struct str agent)
{
	enum liveness liveness;

	json_put_str(j, key,
		     project_status_liveness(p, agent, &liveness) ?
			     str_of(names_word(&liveness_words, (int)liveness)) :
			     STR_NONE);
}

static void project_status_put_work(struct json *j, const struct agent_work *w, int64_t now)
{
	json_put_array(j, "beads");
	for (size_t i = 0; i < w->beads; i++) {
		json_object(j);
		json_put_str(j, "id", w->bead[i]->id);
		json_put_str(j, "title", w->bead[i]->title);
		json_put_moment(j, "lease_ends_at", w->bead[i]->lease);
		json_end(j);
	}
	json_end(j);
	json_put_array(j, "scopes");
	for (size_t i = 0; i < w->reservations; i++)
		if (w->reserved[i]->expires_ms > now)
			json_str(j, w->reserved[i]->scope);
	json_end(j);
}

static void project_status_put_agent(struct project_status *p, struct json *j,
				     const struct agent_work *w)
{
	const struct registered *known = w->agent ? w->agent->registered : NULL;
	const struct agent *board = w->agent && w->agent->on_board ? &w->agent->shown : NULL;
	json_object(j);
	json_put_str(j, "agent_id", w->id);
	if (known && known->machine.p)
		json_put_str(j, "machine", known->machine);
	json_put_bool(j, "registered", known);
	json_put_str(j, "role", known ? known->role : STR_NONE);
	project_status_put_liveness(p, j, "liveness", w->id);
	stuck_put(j, p->c, stuck_find(p->stuck, w->id));
	json_put_moment(j, "last_seen_at", w->agent ? w->agent->shown.last_seen : 0);
	json_put_str(j, "status",
		     board ? str_of(names_word(&agent_statuses, board->status)) : STR_NONE);
	json_put_str(j, "task", board && board->current_task.n ? board->current_task : STR_NONE);
	json_put_str(j, "blockers", board ? board->blockers : STR_NONE);
	project_status_put_work(j, w, p->c->now_ms);
	json_put_int(j, "unread", w->unread);
	json_put_int(j, "to_accept", w->to_accept);
	json_key(j, STR("last_act"));
	if (w->last)
		act_encode(j, w->last);
	else
		json_null(j);
	json_end(j);
}

/* Agents that hold something first, then the most recently seen. */
static int agent_work_order(const void *a, const void *b)
{
	const struct agent_work *x = *(struct agent_work *const *)a,
				*y = *(struct agent_work *const *)b;
	bool holds_x = x->beads || x->reservations, holds_y = y->beads || y->reservations;
	int64_t seen_x = x->agent ? x->agent->shown.last_seen : 0,
		seen_y = y->agent ? y->agent->shown.last_seen : 0;

	if (holds_x != holds_y)
		return holds_x ? -1 : 1;
	if (seen_x != seen_y)
		return seen_x > seen_y ? -1 : 1;
	return str_cmp(x->id, y->id);
}

/* An evicted agent that holds nothing is history. */
static bool agent_work_shown(const struct project_status *p, const struct agent_work *w)
{
	enum liveness liveness;

	return w->beads || w->reservations ||
	       (project_status_liveness(p, w->id, &liveness) && liveness != LIVENESS_EVICTED);
}

static void project_status_put_agents(struct project_status *p, struct json *j)
{
	struct agent_work **shown = arena_array(&p->c->mem, p->work.count + 1, sizeof *shown);
	size_t count = 0, active = 0;

	for (size_t i = 0; i < p->work.count; i++) {
		struct agent_work *w = p->work.entry[i].value;
		enum liveness liveness;

		active +=
			project_status_liveness(p, w->id, &liveness) && liveness == LIVENESS_ACTIVE;
		if (agent_work_shown(p, w))
			shown[count++] = w;
	}
	if (count)
		qsort(shown, count, sizeof *shown, agent_work_order);
	json_put_int(j, "agents_total", (int64_t)p->work.count);
	json_put_int(j, "agents_active", (int64_t)active);
	json_put_array(j, "agents");
	for (size_t i = 0; i < count && i < p->limit; i++)
		project_status_put_agent(p, j, shown[i]);
	json_end(j);
}

static void project_status_put_blockers(struct json *j, struct str waits)
{
	struct str id;

	json_put_array(j, "blocked_by");
	while (waits.n && str_next(&waits, ',', &id))
		json_str(j, id);
	json_end(j);
}

static void project_status_put_bead(const struct project_status *p, struct json *j,
				    const struct bead_row *row)
{
	json_object(j);
	json_put_str(j, "id", row->id);
	json_put_str(j, "title", row->title);
	json_put_word(j, "status", &bead_statuses, row->status);
	json_put_word(j, "type", &bead_types, row->type);
	json_put_int(j, "priority", row->priority);
	json_put_str(j, "assignee", row->assignee);
	project_status_put_liveness(p, j, "owner_liveness", row->assignee);
	json_put_moment(j, "lease_ends_at", row->lease);
	json_put_moment(j, "created_at", row->created);
	json_put_moment(j, "updated_at", row->updated);
	json_put_int(j, "open_children", row->children);
	project_status_put_blockers(j, row->waits);
	json_end(j);
}

static void project_status_put_part(const struct project_status *p, struct json *j,
				    const char *name, const struct bead_part *part)
{
	const char *total = arena_fmt(&p->c->mem, "%s_total", name).p;

	json_put_int(j, total, part->total);
	json_put_array(j, name);
	for (const struct bead_row *row = part->first; row; row = row->next)
		project_status_put_bead(p, j, row);
	json_end(j);
}

static void project_status_put_sync(const struct project_status *p, struct json *j)
{
	json_name(j, STR("sync"));
	if (!p->has_beads) {
		json_null(j);
		return;
	}
	json_object(j);
	json_put_moment(j, "tried_at", p->sync.tried_ms);
	json_put_moment(j, "succeeded_at", p->sync.succeeded_ms);
	json_put_moment(j, "pushed_at", p->sync.pushed_ms);
	json_put_int(j, "failures", p->sync.failures);
	json_put_str(j, "message", p->sync.message);
	json_end(j);
}

enum err project_status_encode(struct call *c, size_t limit, struct json *j)
{
	struct project_status p = { .c = c, .limit = limit, .work.mem = &c->mem };
	enum err e = liveness_check(c);

	if (e)
		return e;
	project_status_read(&p);
	json_object(j);
	json_put_moment(j, "at", c->now_ms);
	project_status_put_agents(&p, j);
	project_attention_put(&p, j);
	project_status_put_part(&p, j, "in_progress", &p.in_progress);
	project_status_put_part(&p, j, "ready", &p.ready);
	project_status_put_part(&p, j, "blocked", &p.blocked);
	project_status_put_sync(&p, j);
	json_end(j);
	return ERR_OK;
}
