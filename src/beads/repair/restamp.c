#include "beads/repair/restamp.h"

#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/edit.h"
#include "beads/find.h"
#include "beads/model/edge.h"
#include "beads/model/state.h"
#include "store/db/bead_query.h"

struct restamp {
	struct call *c;
	struct beads *b;
	int64_t horizon_ms; /* stamps after this time are in the future */
	bool undeletes;     /* copies deleted beads, whose dependencies may be deleted, too */
	struct map copies;  /* by id: struct restamped */
	struct state *change;
	struct restamped **tail;
	struct restamped *first;
};

static void restamp_begin(struct restamp *r, struct call *c, struct beads *b)
{
	*r = (struct restamp){ .c = c,
			       .b = b,
			       .horizon_ms = c->now_ms + STAMP_FOLLOWED_MS,
			       .copies.mem = &c->mem,
			       .change = state_new(&c->mem) };
	r->tail = &r->first;
	b->repairs = true;
}

/* --- which beads --- */

static void restamp_note(struct restamp *r, struct str id, struct str title, int64_t at_ms)
{
	struct restamped *one;

	if (map_find(&r->copies, id) || (r->copies.count == RESTAMP_MOST && !r->undeletes))
		return;
	one = arena_new(&r->c->mem, struct restamped);
	*one = (struct restamped){ .id = id, .title = title, .at_ms = at_ms };
	*map_put(&r->copies, id) = one;
	*r->tail = one;
	r->tail = &one->next;
}

static enum err restamp_find_live(struct restamp *r)
{
	struct bead_filter ahead = { .updated_after = { true, r->horizon_ms } };
	struct bead_row *row;
	enum err e = query_each(r->c, &r->b->cache, &ahead, &row);

	for (; !e && row; row = row->next)
		restamp_note(r, row->id, row->title, row->updated);
	return e;
}

static bool restamp_read_edge(struct restamp *r, const struct edge_row *row, struct edge *out)
{
	const struct value *v = value_read(&r->c->mem, row->line);
	struct str why;

	return v && edge_decode(&r->c->mem, v, out, &why);
}

/* Beads with a dependency that cannot be written to again. */
static enum err restamp_find_edges(struct restamp *r)
{
	struct edge_row *row;
	struct bead_row *from;
	struct edge edge;
	struct json last = json_new(&r->c->mem);
	enum err e;

	stamp_encode(&last, stamp_last);
	e = query_edges_with(r->c, &r->b->cache, json_text(&last), &row);
	for (; !e && row; row = row->next) {
		if (!restamp_read_edge(r, row, &edge) || stamp_has_later(edge.life.at))
			continue;
		if (!(e = cache_find_bead(r->c, &r->b->cache, row->from, &from)) && from)
			restamp_note(r, from->id, from->title, edge.life.at.ms);
	}
	return e;
}

/* --- copies --- */

/* A bead, or the bead in its tombstone. */
struct restamp_source {
	struct edit edit;
	bool live, known; /* the bead was collected, or was never here */
};

static enum err restamp_read(struct restamp *r, struct str id, struct restamp_source *out)
{
	const struct value *bead = NULL;
	struct bead_row *row;
	struct str line;
	enum err e = cache_find_bead(r->c, &r->b->cache, id, &row);

	out->live = out->known = row != NULL;
	if (e || row)
		return e ? e : edit_begin(r->c, r->b, row, &out->edit);
	if ((e = cache_find_tombstone(r->c, &r->b->cache, id, &line)))
		return e;
	bead = line.p ? value_find(value_read(&r->c->mem, line), "bead") : NULL;
	if (!(out->known = bead != NULL))
		return ERR_OK;
	row = arena_new(&r->c->mem, struct bead_row);
	row->id = id;
	row->line = json_canonical_text(&r->c->mem, bead);
	return edit_begin(r->c, r->b, row, &out->edit);
}

/* Replaces a mark in the future by that of the creation, so that every other mark wins. */
static struct mark restamp_mark(const struct restamp *r, struct mark m, struct mark created)
{
	return m.at.ms > r->horizon_ms ? (struct mark){ created.at, r->c->actor } : m;
}

static void restamp_release_claim(struct restamp *r, struct bead *copy)
{
	for (int m = 0; m < MEMBERS; m++)
		if (member_reg((enum member)m) == REG_ASSIGNEE)
			bead_put(&r->c->mem, copy, (enum member)m, STR_NONE);
	if (bead_status(copy) == BEAD_IN_PROGRESS)
		bead_put_text(&r->c->mem, copy, MEMBER_STATUS,
			      str_of(names_word(&bead_statuses, BEAD_OPEN)));
}

/* Replaces stamps in the future, and ends the claim. */
static void restamp_copy_members(struct restamp *r, struct bead *copy, struct mark now)
{
	struct note *notes = arena_array(&r->c->mem, copy->notes + 1, sizeof *notes);
	struct extra *extras = arena_array(&r->c->mem, copy->extras + 1, sizeof *extras);

	if (copy->created.at.ms > r->horizon_ms)
		copy->created = now;
	bead_own_extensions(&r->c->mem, copy);
	for (int i = 0; i < REGS; i++)
		bead_put_mark(&r->c->mem, copy, (enum reg)i,
			      restamp_mark(r, bead_mark(copy, (enum reg)i), copy->created));
	restamp_release_claim(r, copy);
	if (copy->member[MEMBER_CLOSED_AT].p &&
	    bead_stamp(copy, MEMBER_CLOSED_AT).ms > r->horizon_ms)
		bead_put_stamp(&r->c->mem, copy, MEMBER_CLOSED_AT, now.at);
	for (size_t i = 0; i < copy->extras; i++) {
		extras[i] = copy->extra[i];
		extras[i].mark = restamp_mark(r, extras[i].mark, copy->created);
	}
	for (size_t i = 0; i < copy->notes; i++) {
		notes[i] = copy->note[i];
		if (notes[i].at.ms > r->horizon_ms)
			notes[i].at = copy->created.at;
	}
	copy->extra = extras;
	copy->note = notes;
}

static enum err restamp_copy(struct restamp *r, struct restamped *one)
{
	struct call *c = r->c;
	struct restamp_source from;
	struct bead copy;
	enum err e;

	if ((e = restamp_read(r, one->id, &from)) ||
	    (e = find_copy_id(c, r->b, r->change, &from.edit.now, &one->copy)))
		return e;
	copy = from.edit.now;
	copy.id = one->copy;
	restamp_copy_members(r, &copy, beads_mark(c, r->b));
	state_put_bead(r->change, &copy);
	if (!from.live)
		from.edit.mark.at = stamp_end;
	from.edit.force = true; /* despite another agent's claim: the copy takes the bead's place */
	return edit_delete(&from.edit, r->change,
			   arena_fmt(&c->mem, "its stamp was in the future; its copy is " STR_FMT,
				     STR_ARG(one->copy)));
}

/* --- their dependencies --- */

/* The lineage at the end of a copied edge; absent: that bead cannot have edges. */
static enum err restamp_put_end(struct restamp *r, struct str *id)
{
	void **copied = map_find(&r->copies, *id);
	struct restamp_source end;
	enum err e;

	if (copied) {
		*id = ((const struct restamped *)*copied)->copy;
		return ERR_OK;
	}
	if ((e = restamp_read(r, *id, &end)))
		return e;
	if (r->undeletes ? !end.known : !end.live)
		*id = STR_NONE;
	else if (!state_find(r->change, *id))
		state_put_bead(r->change, &end.edit.change);
	return ERR_OK;
}

static enum err restamp_copy_edges(struct restamp *r, struct str id)
{
	struct mark now = beads_mark(r->c, r->b);
	struct edge_row *row;
	enum err e = cache_edges_of(r->c, &r->b->cache, id, &row);

	for (; !e && row; row = row->next) {
		struct edge edge;

		if (!row->active || !restamp_read_edge(r, row, &edge))
			continue;
		if (edge.created.at.ms > r->horizon_ms)
			edge.created = now;
		edge.life = restamp_mark(r, edge.life, edge.created);
		if ((e = restamp_put_end(r, &edge.from)) || (e = restamp_put_end(r, &edge.to)))
			return e;
		if (edge.from.p && edge.to.p)
			state_put_edge(r->change, &edge);
	}
	return e;
}

static enum err restamp_apply(struct restamp *r)
{
	enum err e = ERR_OK;

	for (struct restamped *one = r->first; !e && one; one = one->next)
		e = restamp_copy(r, one);
	for (struct restamped *one = r->first; !e && one; one = one->next)
		e = restamp_copy_edges(r, one->id);
	return e ? e : beads_put(r->c, r->b, r->change);
}

enum err restamp_all(struct call *c, struct beads *b, bool apply, struct restamped **out)
{
	struct restamp r;
	enum err e;

	*out = NULL;
	restamp_begin(&r, c, b);
	if ((e = restamp_find_live(&r)) || (e = restamp_find_edges(&r)) ||
	    (apply && (e = restamp_apply(&r))))
		return e;
	*out = r.first;
	return ERR_OK;
}

enum err restamp_undelete(struct call *c, struct beads *b, const struct str *ids, size_t count,
			  struct restamped **out)
{
	struct restamp r;
	enum err e;

	restamp_begin(&r, c, b);
	r.undeletes = true;
	for (size_t i = 0; i < count; i++)
		restamp_note(&r, ids[i], STR_NONE, stamp_end.ms);
	e = restamp_apply(&r);
	*out = r.first;
	return e;
}
