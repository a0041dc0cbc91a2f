#include "beads/counts.h"

#include "base/buf.h"
#include "beads/graph.h"
#include "beads/model/state.h"
#include "store/db/bead_query.h"
#include "store/db/bead_ready.h"

/* One edge as the bead it comes from sees it. Edges come sorted by the id they lead to. */
static void counts_add_out(struct bead_row *row, struct buf *waits, const struct edge_end *to)
{
	row->dependencies++;
	if (edge_blocks(to->kind, to->status)) {
		row->blockers++;
		buf_fmt(waits, "%s" STR_FMT, waits->n ? "," : "", STR_ARG(to->id));
		row->waits = buf_str(waits);
	}
	if (!row->parent.p && edge_is(to->kind, EDGE_PARENT))
		row->parent = to->id;
}

/* The same edge as the bead it leads to sees it. */
static void counts_add_in(struct bead_row *row, const struct edge_end *from)
{
	row->dependents++;
	row->children += edge_is(from->kind, EDGE_PARENT) && from->status != BEAD_CLOSED;
}

/* --- all of a state --- */

static struct bead_row *counts_row(struct map *counts, struct str id)
{
	void **at = map_put(counts, id);

	if (!*at)
		*at = arena_new(counts->mem, struct bead_row);
	return *at;
}

/* False: the bead is not live, so its edges do not count. */
static bool counts_find_end(const struct state *s, struct str id, struct str kind,
			    struct edge_end *out)
{
	const struct slot *slot = state_find(s, id);

	if (!slot || !slot_visible(slot))
		return false;
	*out = (struct edge_end){ .id = id, .kind = kind, .status = bead_status(slot->bead) };
	return true;
}

/* Beads that are not in the map are not counted again: they are in the same cycles as before. */
static void counts_add_cycles(const struct map *counts, const struct edge_row *parents)
{
	size_t count;
	struct str *ids = graph_cycle_members(counts->mem, parents, &count);

	for (size_t i = 0; i < count; i++) {
		void **at = map_find(counts, ids[i]);

		if (at)
			((struct bead_row *)*at)->blockers++;
	}
}

static bool state_is_epic(const struct state *s, struct str id)
{
	const struct slot *slot = state_find(s, id);

	return slot && bead_type(slot->bead) == BEAD_EPIC;
}

/*
 * Sets the epic of a bead and of all beads between them, which have the same one. Their `n`, which
 * is 0 at first, becomes EPIC_KNOWN, so that no parent is followed twice.
 */
enum { EPIC_SOUGHT = 1, EPIC_KNOWN };

static void counts_find_epic(const struct map *counts, const struct state *s,
			     struct bead_row *first)
{
	struct str epic = STR_NONE;
	struct bead_row *row = first;

	while (!row->n && row->parent.p && !epic.p) {
		row->n = EPIC_SOUGHT;
		if (state_is_epic(s, row->parent))
			epic = row->parent;
		else
			row = *map_find(counts, row->parent);
	}
	if (row->n == EPIC_KNOWN) /* in a cycle of parents without an epic, it is EPIC_SOUGHT */
		epic = row->epic;
	for (row = first; row->n == EPIC_SOUGHT; row = *map_find(counts, row->parent)) {
		row->n = EPIC_KNOWN;
		row->epic = epic;
	}
}

struct map counts_of_state(struct arena *mem, const struct state *s)
{
	struct map counts = { .mem = mem };
	const struct map_entry **order = map_sorted(&s->edges, mem);
	struct edge_row *parents = NULL;
	struct buf waits = { .mem = mem };
	struct str last = { 0 };

	for (size_t i = 0; i < s->edges.count; i++) {
		const struct edge *e = order[i]->value;
		struct edge_end from, to;

		if (e->deleted || !counts_find_end(s, e->from, e->kind, &from) ||
		    !counts_find_end(s, e->to, e->kind, &to))
			continue;
		if (!str_eq(e->from, last))
			waits = (struct buf){ .mem = mem };
		last = e->from;
		counts_add_out(counts_row(&counts, e->from), &waits, &to);
		counts_add_in(counts_row(&counts, e->to), &from);
		if (edge_is(e->kind, EDGE_PARENT)) {
			struct edge_row *row = arena_new(mem, struct edge_row);

			*row = (struct edge_row){ .from = e->from, .to = e->to, .next = parents };
			parents = row;
		}
	}
	counts_add_cycles(&counts, parents);
	for (size_t i = 0; i < counts.count; i++)
		counts_find_epic(&counts, s, counts.entry[i].value);
	return counts;
}

/* --- some beads --- */

struct counting {
	struct call *c;
	struct cache *cache;
	struct map counts;  /* by id, as counts_of_state() returns them */
	struct map parents; /* by id: struct bead_row, as the cache has it */
	struct map between; /* ids of beads that have both a parent and children, and ancestors */
};

static enum err counts_read(struct counting *m, struct str id)
{
	struct bead_row *row = counts_row(&m->counts, id);
	struct buf waits = { .mem = &m->c->mem };
	struct edge_end *out, *in;
	bool parent = false;
	enum err e;

	row->id = id;
	if ((e = query_ends(m->c, m->cache, id, SIDE_OUT, &out)) ||
	    (e = query_ends(m->c, m->cache, id, SIDE_IN, &in)))
		return e;
	for (; out; out = out->next)
		counts_add_out(row, &waits, out);
	for (; in; in = in->next) {
		counts_add_in(row, in);
		parent = parent || edge_is(in->kind, EDGE_PARENT);
	}
	if (row->parent.p && parent) /* no other bead can be in a cycle */
		map_put(&m->between, id);
	return ERR_OK;
}

static enum err counts_find_parent(struct counting *m, struct str id, const struct bead_row **out)
{
	void **at = map_find(&m->parents, id);
	struct bead_row *row;
	enum err e;

	if (at) {
		*out = *at;
		return ERR_OK;
	}
	if ((e = cache_find_row(m->c, m->cache, id, false, &row)))
		return e;
	*out = *map_put(&m->parents, id) = row;
	return ERR_OK;
}

/*
 * Follows the parents up to the epic, because epics in the cache may be outdated. Only a bead
 * without children takes over the epic of its parent from the cache, if the parent is not counted
 * again: if that epic is outdated, counts_move_below() corrects it.
 */
static enum err counts_seek_epic(struct counting *m, struct bead_row *row)
{
	bool trusting = !map_find(&m->between, row->id);
	struct str id = row->parent, mark = STR_NONE; /* to come to the mark again is a cycle */

	for (size_t steps = 1; id.p && !str_eq(id, mark); steps++, trusting = false) {
		void **counted = map_find(&m->counts, id);
		const struct bead_row *parent;
		enum err e = counts_find_parent(m, id, &parent);

		if (e || !parent)
			return e;
		if (parent->type == BEAD_EPIC || (trusting && !counted)) {
			row->epic = parent->type == BEAD_EPIC ? id : parent->epic;
			return ERR_OK;
		}
		if (!(steps & (steps - 1)))
			mark = id;
		id = counted ? ((const struct bead_row *)*counted)->parent : parent->parent;
	}
	return ERR_OK;
}

/* Moves the beads below those that have moved to the same epics. */
static enum err counts_move_below(struct counting *m, struct map *moved)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < moved->count; i++) {
		struct str id = moved->entry[i].key;
		struct bead_row *row = moved->entry[i].value;
		struct edge_end *end;

		e = query_ends(m->c, m->cache, id, SIDE_IN, &end);
		for (; !e && end; end = end->next) {
			bool moves = false;

			if (edge_is(end->kind, EDGE_PARENT) && !map_find(moved, end->id))
				e = cache_put_epic(m->c, m->cache, end->id, id, row->epic, &moves);
			if (moves)
				*map_put(moved, end->id) = row;
		}
	}
	return e;
}

static enum err counts_put(struct counting *m)
{
	struct map moved = { .mem = &m->c->mem };
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < m->counts.count; i++)
		e = counts_seek_epic(m, m->counts.entry[i].value);
	for (size_t i = 0; !e && i < m->counts.count; i++) {
		struct bead_row *row = m->counts.entry[i].value;
		bool moves = false;

		e = cache_put_counts(m->c, m->cache, row, &moves);
		if (moves && (!row->parent.p || map_find(&m->between, row->id)))
			*map_put(&moved, row->id) = row;
	}
	return e ? e : counts_move_below(m, &moved);
}

enum err counts_update(struct call *c, struct cache *cache, const struct map *ids)
{
	struct counting m = { .c = c,
			      .cache = cache,
			      .counts.mem = &c->mem,
			      .parents.mem = &c->mem,
			      .between.mem = &c->mem };
	struct edge_row *parents = NULL;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < ids->count; i++)
		e = counts_read(&m, ids->entry[i].key);
	if (e || (e = graph_ancestors(c, cache, &m.between, &parents)))
		return e;
	counts_add_cycles(&m.counts, parents);
	return counts_put(&m);
}
