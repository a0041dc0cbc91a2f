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

static void counts_add_cycles(struct map *counts, const struct edge_row *parents)
{
	size_t count;
	struct str *ids = graph_cycle_members(counts->mem, parents, &count);

	for (size_t i = 0; i < count; i++)
		counts_row(counts, ids[i])->blockers++;
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
	return counts;
}

/* --- some beads --- */

/* `parent`: the bead has children. */
static enum err counts_read(struct call *c, struct cache *cache, struct bead_row *row, bool *parent)
{
	struct buf waits = { .mem = &c->mem };
	struct edge_end *out, *in;
	enum err e;

	*parent = false;
	if ((e = query_ends(c, cache, row->id, SIDE_OUT, &out)) ||
	    (e = query_ends(c, cache, row->id, SIDE_IN, &in)))
		return e;
	for (; out; out = out->next)
		counts_add_out(row, &waits, out);
	for (; in; in = in->next) {
		counts_add_in(row, in);
		*parent = *parent || edge_is(in->kind, EDGE_PARENT);
	}
	return ERR_OK;
}

enum err counts_update(struct call *c, struct cache *cache, const struct map *ids)
{
	struct map counts = { .mem = &c->mem }, between = { .mem = &c->mem };
	struct edge_row *parents = NULL;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < ids->count; i++) {
		struct bead_row *row = counts_row(&counts, ids->entry[i].key);
		bool parent;

		row->id = ids->entry[i].key;
		e = counts_read(c, cache, row, &parent);
		if (row->parent.p && parent) /* no other bead can be in a cycle */
			map_put(&between, row->id);
	}
	if (e || (e = graph_ancestors(c, cache, &between, &parents)))
		return e;
	counts_add_cycles(&counts, parents);
	for (size_t i = 0; !e && i < ids->count; i++)
		e = cache_put_counts(c, cache, counts.entry[i].value);
	return e;
}
