#include "beads/repair/restamp.h"

#include "base/text/value.h"
#include "beads/edit.h"
#include "beads/find.h"
#include "beads/model/line.h"
#include "beads/model/state.h"
#include "store/db/bead_query.h"

struct restamp {
	struct call *c;
	struct beads *b;
	struct map copies; /* by id: struct restamped */
	struct state *change;
	struct restamped **tail;
	struct restamped *first;
};

static void restamp_note(struct restamp *r, struct str id, struct str title, int64_t at_ms)
{
	struct restamped *one = arena_new(&r->c->mem, struct restamped);

	if (r->copies.count == RESTAMP_MOST)
		return;
	*one = (struct restamped){ .id = id, .title = title, .at_ms = at_ms };
	*map_put(&r->copies, id) = one;
	*r->tail = one;
	r->tail = &one->next;
}

static enum err restamp_find_live(struct restamp *r)
{
	struct bead_filter ahead = { .updated_after = { true, r->c->now_ms + STAMP_FOLLOWED_MS } };
	struct bead_row *row;
	enum err e = query_each(r->c, &r->b->cache, &ahead, &row);

	for (; !e && row; row = row->next)
		restamp_note(r, row->id, row->title, row->updated);
	return e;
}

static const struct value *restamp_tombstone(struct restamp *r, struct str line)
{
	return value_read(&r->c->mem, line);
}

/* The last deletions are listed first: all of these are among them. */
static enum err restamp_find_deleted(struct restamp *r)
{
	struct buried *gone;
	enum err e = query_buried(r->c, &r->b->cache, 2 * RESTAMP_MOST, &gone);

	for (; !e && gone; gone = gone->next) {
		const struct value *v = restamp_tombstone(r, gone->line),
				   *bead = value_find(v, "bead");
		struct stamp at;

		if (!bead || !stamp_decode(value_find(v, "deleted_at"), &at) ||
		    stamp_valid(stamp_next(at, r->c->now_ms)))
			continue;
		restamp_note(r, gone->id, value_str(bead, "title"), at.ms);
	}
	return e;
}

/* The bead as it is, or was when it was deleted. */
static enum err restamp_read(struct restamp *r, struct str id, struct edit *edit, bool *live)
{
	struct bead_row *row;
	struct str line;
	enum err e = cache_find_bead(r->c, &r->b->cache, id, &row);

	*live = row != NULL;
	if (!e && !row && !(e = cache_find_tombstone(r->c, &r->b->cache, id, &line))) {
		row = arena_new(&r->c->mem, struct bead_row);
		row->id = id;
		row->line = canonical(&r->c->mem, value_find(restamp_tombstone(r, line), "bead"));
	}
	return e ? e : edit_begin(r->c, r->b, row, edit);
}

/* All it says, as if it was written now; nobody holds it. */
static void restamp_copy_members(struct restamp *r, struct bead *copy, struct mark mark)
{
	struct note *notes = arena_array(&r->c->mem, copy->notes + 1, sizeof *notes);
	struct extra *extras = arena_array(&r->c->mem, copy->extras + 1, sizeof *extras);

	copy->created = mark;
	for (int i = 0; i < REGS; i++)
		copy->mark[i] = mark;
	for (int m = 0; m < MEMBERS; m++)
		if (member_reg((enum member)m) == REG_ASSIGNEE)
			copy->member[m] = STR_NONE;
	if (bead_status(copy) == BEAD_IN_PROGRESS)
		bead_put_text(&r->c->mem, copy, MEMBER_STATUS,
			      str_of(names_word(&bead_statuses, BEAD_OPEN)));
	if (copy->member[MEMBER_CLOSED_AT].p)
		bead_put_stamp(&r->c->mem, copy, MEMBER_CLOSED_AT, mark.at);
	for (size_t i = 0; i < copy->extras; i++) {
		extras[i] = copy->extra[i];
		extras[i].mark = mark;
	}
	for (size_t i = 0; i < copy->notes; i++) {
		notes[i] = copy->note[i];
		if (stamp_cmp(notes[i].at, mark.at) > 0)
			notes[i].at = mark.at;
	}
	copy->extra = extras;
	copy->note = notes;
}

static enum err restamp_copy(struct restamp *r, struct restamped *one)
{
	struct call *c = r->c;
	struct edit edit;
	struct bead copy;
	bool live;
	enum err e;

	if ((e = find_free_id(c, r->b, r->change, &one->copy)) ||
	    (e = restamp_read(r, one->id, &edit, &live)))
		return e;
	copy = edit.now;
	copy.id = one->copy;
	restamp_copy_members(r, &copy, beads_mark(c, r->b));
	state_put_bead(r->change, &copy);
	if (!live) /* so that it is not found again */
		edit.mark.at = stamp_end;
	edit.force = true; /* the copy has the same claim */
	return edit_bury(&edit, r->change,
			 arena_fmt(&c->mem, "its stamp was ahead of time; it is " STR_FMT " now",
				   STR_ARG(one->copy)));
}

static struct str restamp_id(const struct restamp *r, struct str id)
{
	void **one = map_find(&r->copies, id);

	return one ? ((const struct restamped *)*one)->copy : id;
}

/* Both ends of an edge have to be known by their lineage. */
static enum err restamp_put_end(struct restamp *r, struct str id)
{
	struct edit edit;
	bool live;
	enum err e;

	if (state_find(r->change, id))
		return ERR_OK;
	if (!(e = restamp_read(r, id, &edit, &live)))
		state_put_bead(r->change, &edit.change);
	return e;
}

static enum err restamp_copy_edges(struct restamp *r, struct str id)
{
	struct mark mark = beads_mark(r->c, r->b);
	struct edge_row *row;
	enum err e = cache_edges_of(r->c, &r->b->cache, id, &row);

	for (; !e && row; row = row->next) {
		struct edge edge = { .from = restamp_id(r, row->from),
				     .to = restamp_id(r, row->to),
				     .kind = row->kind,
				     .created = mark,
				     .life = mark };
		struct bead_row *from, *to;

		if (!row->active || (e = cache_find_bead(r->c, &r->b->cache, row->from, &from)) ||
		    (e = cache_find_bead(r->c, &r->b->cache, row->to, &to)) || !from || !to)
			continue;
		if (!(e = restamp_put_end(r, edge.from)) && !(e = restamp_put_end(r, edge.to)))
			state_put_edge(r->change, &edge);
	}
	return e;
}

enum err restamp_all(struct call *c, struct beads *b, bool apply, struct restamped **out)
{
	struct restamp r = { .c = c, .b = b, .copies.mem = &c->mem, .change = state_new(&c->mem) };
	enum err e;

	r.tail = &r.first;
	*out = NULL;
	b->repairs = true;
	if ((e = restamp_find_live(&r)) || (e = restamp_find_deleted(&r)))
		return e;
	for (struct restamped *one = r.first; !e && apply && one; one = one->next)
		e = restamp_copy(&r, one);
	for (struct restamped *one = r.first; !e && apply && one; one = one->next)
		e = restamp_copy_edges(&r, one->id);
	*out = r.first;
	return !e && apply ? beads_put(c, b, r.change) : e;
}
