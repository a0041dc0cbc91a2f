#include "beads/apply.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/system/spawn.h"
#include "base/text/value.h"
#include "beads/counts.h"
#include "beads/graph.h"
#include "beads/model/limits.h"
#include "beads/model/line.h"
#include "beads/model/snapshot.h"
#include "beads/model/state.h"
#include "beads/model/visits.h"
#include "beads/public.h"

/* --- rows --- */

static void search_add(struct buf *b, struct str text)
{
	buf_put(b, text);
	buf_char(b, ' ');
}

/* The text of a bead that is searched, apart from the title. */
static struct str search_text(struct arena *mem, const struct bead *b)
{
	struct buf out = { .mem = mem };

	search_add(&out, b->id);
	for (int i = 0; i < MEMBERS; i++)
		if (member_flags((enum member)i) & SEARCHED)
			search_add(&out, bead_text(mem, b, (enum member)i));
	for (size_t i = 0; i < b->notes; i++)
		search_add(&out, b->note[i].content);
	return buf_str(&out);
}

static struct bead_row apply_row(struct arena *mem, const struct bead *b)
{
	struct bead_row row = {
		.id = b->id,
		.title = bead_text(mem, b, MEMBER_TITLE),
		.assignee = bead_text(mem, b, MEMBER_ASSIGNEE),
		.status = bead_status(b),
		.type = bead_type(b),
		.priority = bead_int(b, MEMBER_PRIORITY, 2),
		.created = b->created.at.ms,
		.created_n = b->created.at.n,
		.updated = bead_top(b).at.ms,
		.lease = bead_int(b, MEMBER_ASSIGNEE_EXPIRES, 0),
		.deferred = bead_deferred(mem, b),
		.line = line_text(mem, b),
		.text = search_text(mem, b),
	};

	struct str args;

	if (!row.title.p)
		row.title = STR("");
	if (b->member[MEMBER_CLOSED_AT].p)
		row.closed = bead_stamp(b, MEMBER_CLOSED_AT).ms;
	for (size_t i = 0; i < b->extras; i++)
		row.ranked = row.ranked || str_is(b->extra[i].key, "rank");
	row.labels = bead_labels(mem, b, &row.label_count);
	if (row.label_count)
		row.tags = b->member[MEMBER_LABELS];
	row.request = bead_request(mem, b, &args);
	return row;
}

static int64_t tombstone_ms(const struct slot *slot)
{
	return slot->bead && !bead_live(slot->bead) ? slot->bead->deleted.at.ms :
	       slot->every.by.p                     ? slot->every.at.ms :
						      slot->remap[slot->remaps - 1].created.at.ms;
}

static struct edge_row apply_edge_row(struct arena *mem, const struct edge *e)
{
	return (struct edge_row){ .from = e->from,
				  .to = e->to,
				  .kind = e->kind,
				  .line = edge_text(mem, e),
				  .active = !e->deleted };
}

/* --- all of a state --- */

static int slot_cmp_creation(const void *a, const void *b)
{
	const struct slot *x = *(const struct slot *const *)a, *y = *(const struct slot *const *)b;
	int order = mark_cmp(x->bead ? x->bead->created : (struct mark){ 0 },
			     y->bead ? y->bead->created : (struct mark){ 0 });

	return order ? order : str_cmp(x->id, y->id);
}

/* In the order of creation, because a search lists the newest bead by its row number first. */
static const struct slot **apply_sort_slots(struct arena *mem, const struct state *s)
{
	const struct slot **out = arena_array(mem, s->slots.count + 1, sizeof(*out));

	for (size_t i = 0; i < s->slots.count; i++)
		out[i] = s->slots.entry[i].value;
	qsort(out, s->slots.count, sizeof *out, slot_cmp_creation);
	return out;
}

static void row_add_counts(struct bead_row *row, const struct map *counts)
{
	void **at = map_find(counts, row->id);
	const struct bead_row *n = at ? *at : NULL;

	if (!n)
		return;
	row->blockers = n->blockers;
	row->dependencies = n->dependencies;
	row->dependents = n->dependents;
	row->children = n->children;
	row->parent = n->parent;
	row->waits = n->waits;
	row->epic = n->epic;
}

/* Hashes are computed on demand: most beads of a new cache are never read again. */
enum err apply_all(struct call *c, struct cache *cache, const struct state *s)
{
	const struct slot **slots = apply_sort_slots(&c->mem, s);
	struct map counts = counts_of_state(&c->mem, s);
	struct arena mem = { 0 };
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < s->slots.count; i++) {
		arena_reset(&mem);
		if (slot_visible(slots[i])) {
			struct bead_row row = apply_row(&mem, slots[i]->bead);

			row_add_counts(&row, &counts);
			e = cache_put_bead(c, cache, &row, NULL);
		}
		if (!e && slot_has_tombstone(slots[i]))
			e = cache_put_tombstone(c, cache, slots[i]->id, tombstone_ms(slots[i]),
						tombstone_text(&mem, slots[i]));
	}
	for (size_t i = 0; !e && i < s->edges.count; i++) {
		struct edge_row row;

		arena_reset(&mem);
		row = apply_edge_row(&mem, s->edges.entry[i].value);
		e = cache_put_edge(c, cache, &row);
	}
	arena_release(&mem);
	return e;
}

/* --- a change --- */

/* What the cache had under an id before the change. */
struct before {
	struct bead_row *row; /* or NULL */
	struct str tombstone; /* or absent */
};

/* The rows that a change affects, as a state, and as they were before the change. */
struct joining {
	struct call *c;
	struct cache *cache;
	struct state *state;
	struct map before;     /* by id: struct before */
	struct map edges;      /* by key: struct edge_row */
	struct map recount;    /* ids */
	struct map reparented; /* ids of beads whose parent edges change */
	struct visits visits;
	bool writes; /* the change is not in the journal yet, so it may still be refused */
	enum apply_writer writer;
	struct arena scratch; /* for one line or one bead */
};

static enum err apply_refuse_line(struct call *c, struct str why)
{
	return call_fail(c, ERR_DAMAGED, "the cache has an invalid line: " STR_FMT, STR_ARG(why));
}

static enum err apply_read_line(struct joining *m, enum snapshot_file file, struct str line)
{
	struct str why = STR("not JSON");
	const struct value *v;

	arena_reset(&m->scratch);
	v = value_read(&m->scratch, line);
	return v && snapshot_keep(m->state, &m->scratch, file, v, &why) ?
		       ERR_OK :
		       apply_refuse_line(m->c, why);
}

static enum err apply_load_edges_of(struct joining *m, struct str id)
{
	struct edge_row *row;
	enum err e = cache_edges_of(m->c, m->cache, id, &row);

	for (; !e && row; row = row->next) {
		struct edge edge = { .from = row->from, .to = row->to, .kind = row->kind };
		struct str key = edge_key(&m->c->mem, &edge);
		void **at = map_put(&m->edges, key);

		if (*at)
			continue;
		*at = row;
		e = apply_read_line(m, FILE_DEPS, row->line);
	}
	return e;
}

static enum err apply_load_id(struct joining *m, struct str id)
{
	struct before *before = arena_new(&m->c->mem, struct before);
	enum err e;

	*map_put(&m->before, id) = before;
	if ((e = cache_find_bead(m->c, m->cache, id, &before->row)) ||
	    (e = cache_find_tombstone(m->c, m->cache, id, &before->tombstone)))
		return e;
	if (before->tombstone.p && (e = apply_read_line(m, FILE_TOMBSTONES, before->tombstone)))
		return e;
	return before->row ? apply_read_line(m, FILE_STATE, before->row->line) : ERR_OK;
}

/* Loads the bead of an id. If another lineage takes that id, the id to which one of the two has to
 * move is visited, too. */
static enum err apply_visit(struct joining *m, const struct visit *v)
{
	struct slot *slot;
	struct mark other;
	enum err e;

	if (!map_find(&m->before, v->id) && (e = apply_load_id(m, v->id)))
		return e;
	slot = state_find(m->state, v->id);
	for (size_t i = 0; slot && i < slot->remaps; i++)
		if (!v->created || !mark_cmp(slot->remap[i].created, *v->created))
			visits_add(&m->visits, slot->remap[i].to, &slot->remap[i].created);
	if (!slot || !slot->bead || !v->created || !mark_cmp(slot->bead->created, *v->created))
		return ERR_OK;
	if ((e = apply_load_edges_of(m, v->id)))
		return e;
	other = mark_max(slot->bead->created, *v->created);
	visits_add(&m->visits, bead_other_id(&m->c->mem, v->id, other), &other);
	return ERR_OK;
}

static enum err apply_load(struct joining *m, struct str id, const struct mark *created)
{
	const struct visit *v;
	enum err e = ERR_OK;

	visits_add(&m->visits, id, created);
	while (!e && (v = visits_next(&m->visits)))
		e = apply_visit(m, v);
	return e;
}

/* A bead that moves to another id in this change takes its edges along. */
static enum err apply_load_remap(struct joining *m, struct str id, const struct remap *remap)
{
	const struct slot *slot = state_find(m->state, id);
	enum err e = apply_load(m, remap->to, &remap->created);

	if (!e && slot && slot->bead && !mark_cmp(slot->bead->created, remap->created))
		e = apply_load_edges_of(m, id);
	return e;
}

static enum err apply_load_change(struct joining *m, const struct state *change)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < change->slots.count; i++) {
		const struct slot *slot = change->slots.entry[i].value;

		if (slot->every.by.p) /* it reaches the beads that have left the id, too */
			e = apply_load(m, slot->id, NULL);
		if (!e)
			e = apply_load(m, slot->id, slot->bead ? &slot->bead->created : NULL);
		for (size_t k = 0; !e && k < slot->remaps; k++)
			e = apply_load_remap(m, slot->id, &slot->remap[k]);
	}
	return e;
}

/* The change may use a bead's old id after the cache has remapped it. */
static enum err apply_load_joined_edges(struct joining *m)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < m->state->edges.count; i++) {
		const struct map_entry *at = &m->state->edges.entry[i];
		const struct edge *edge = at->value;
		struct str line;

		if (map_find(&m->edges, at->key))
			continue;
		e = cache_find_edge(m->c, m->cache, edge->from, edge->to, edge->kind, &line);
		if (!e && line.p)
			e = apply_read_line(m, FILE_DEPS, line);
	}
	return e;
}

static void apply_touch(struct joining *m, struct str id)
{
	map_put(&m->recount, id);
}

/* The row before the change, with the labels and the search text, which are not columns. */
static struct bead_row *apply_old_row(struct joining *m, struct bead_row *row)
{
	struct arena *mem = &m->scratch;
	struct bead old;
	struct str why;

	if (row && line_decode(mem, value_read(mem, row->line), &old, &why)) {
		row->labels = bead_labels(mem, &old, &row->label_count);
		row->text = search_text(mem, &old);
	}
	return row;
}

/* Marks the beads at the other ends of its edges to be counted again. */
static enum err apply_touch_around(struct joining *m, struct str id)
{
	struct edge_row *row;
	enum err e = cache_edges_of(m->c, m->cache, id, &row);

	for (; !e && row; row = row->next) {
		apply_touch(m, row->from);
		apply_touch(m, row->to);
	}
	return e;
}

/* --- cycles of parents --- */

static void apply_note_reparented(struct joining *m, struct str from, struct str kind)
{
	if (edge_is(kind, EDGE_PARENT))
		map_put(&m->reparented, from);
}

/*
 * Finds where to search for cycles that this change makes or breaks: each goes through a bead that
 * appears or disappears, or whose parent edge does.
 */
static void apply_find_reparented(struct joining *m)
{
	const struct map *slots = &m->state->slots, *edges = &m->state->edges;

	for (size_t i = 0; i < slots->count; i++) {
		const struct slot *slot = slots->entry[i].value;
		void **at = map_find(&m->before, slot->id);
		const struct before *before = at ? *at : NULL;

		if (slot_visible(slot) != (before && before->row))
			map_put(&m->reparented, slot->id);
	}
	for (size_t i = 0; i < m->edges.count; i++) {
		const struct edge_row *old = m->edges.entry[i].value;

		apply_note_reparented(m, old->from, old->kind);
	}
	for (size_t i = 0; i < edges->count; i++) {
		const struct edge *now = edges->entry[i].value;

		apply_note_reparented(m, now->from, now->kind);
	}
}

/*
 * Marks the beads that are in cycles of parents to be counted again; called before and after the
 * cache has changed. A bead without children is in no cycle, so most changes read no ancestors.
 */
static enum err apply_touch_cycles(struct joining *m)
{
	struct call part = call_part(m->c);
	struct map seen = { .mem = &part.mem };
	struct edge_row *edges = NULL;
	struct str *ids;
	size_t count;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < m->reparented.count; i++) {
		struct str id = m->reparented.entry[i].key;
		bool parent;

		if (!(e = query_is_target(&part, m->cache, id, EDGE_PARENT, &parent)) && parent)
			map_put(&seen, id);
	}
	if (!e && !(e = graph_ancestors(&part, m->cache, &seen, &edges))) {
		ids = graph_cycle_members(&part.mem, edges, &count);
		for (size_t i = 0; i < count; i++)
			apply_touch(m, arena_copy(&m->c->mem, ids[i]));
	}
	return call_part_end(m->c, &part, e);
}

static enum err apply_put_tombstone(struct joining *m, const struct slot *slot, struct str before)
{
	struct str line = slot_has_tombstone(slot) ? tombstone_text(&m->scratch, slot) : STR_NONE;

	if (str_eq(line, before))
		return ERR_OK;
	return cache_put_tombstone(m->c, m->cache, slot->id, line.p ? tombstone_ms(slot) : 0, line);
}

static enum err apply_refuse_growth(struct call *c, struct str id, const struct growth *growth,
				    const struct excess *excess)
{
	call_fail(c, ERR_INVALID_INPUT,
		  "'" STR_FMT "' would have %zu %s, and at most %zu are "
		  "allowed",
		  STR_ARG(id), excess->count, excess->what, excess->most);
	if (growth->restored)
		return call_step(c, "It stays deleted. Use another bead: 'bd create \"Title\"'.");
	return call_step(c,
			 "Use another bead for it: 'bd create \"Title\" --deps related:" STR_FMT
			 "'. 'bd delete " STR_FMT " --yes' works at any size.",
			 STR_ARG(spawn_word(&c->mem, id)), STR_ARG(spawn_word(&c->mem, id)));
}

/*
 * Checks that the bead stays small enough to be published and joined with changes of other clones.
 */
static enum err apply_check_growth(struct joining *m, const struct slot *slot,
				   const struct before *before, struct str line)
{
	struct growth growth = { .before = before->row ? before->row->line : before->tombstone,
				 .bead = slot->bead,
				 .after = line,
				 .restored = !before->row && before->tombstone.p,
				 .copied = m->writer == APPLY_REPAIR };
	struct excess excess;

	return !m->writes || limits_allow(&m->scratch, &growth, &excess) ?
		       ERR_OK :
		       apply_refuse_growth(m->c, slot->id, &growth, &excess);
}

/* Do the columns of the beads around it, or below it, follow from something that has changed? */
static bool apply_matters_around(const struct bead_row *old, const struct bead_row *row)
{
	return !old || (old->status == BEAD_CLOSED) != (row->status == BEAD_CLOSED) ||
	       (old->type == BEAD_EPIC) != (row->type == BEAD_EPIC);
}

static enum err apply_put_slot(struct joining *m, const struct slot *slot, int64_t *added)
{
	static const struct before nothing;
	void **at = map_find(&m->before, slot->id);
	const struct before *before = at ? *at : &nothing;
	struct bead_row *old;
	enum err e = ERR_OK;

	arena_reset(&m->scratch);
	old = apply_old_row(m, before->row);

	*added += !old && !before->tombstone.p;
	if (slot_visible(slot)) {
		struct bead_row row = apply_row(&m->scratch, slot->bead);

		row.hash = public_hash(&m->scratch, row.line);
		if ((!old || !str_eq(row.line, old->line)) &&
		    !(e = apply_check_growth(m, slot, before, row.line)))
			e = cache_put_bead(m->c, m->cache, &row, old);
		if (!e && apply_matters_around(old, &row))
			e = apply_touch_around(m, slot->id);
	} else if (old && !(e = apply_touch_around(m, slot->id))) {
		e = cache_drop_bead(m->c, m->cache, old);
	}
	return e ? e : apply_put_tombstone(m, slot, before->tombstone);
}

static void apply_touch_ends(struct joining *m, const struct edge_row *row)
{
	apply_touch(m, row->from);
	apply_touch(m, row->to);
}

static enum err apply_put_edges(struct joining *m)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < m->edges.count; i++) {
		struct edge_row *old = m->edges.entry[i].value;

		if (map_find(&m->state->edges, m->edges.entry[i].key))
			continue;
		apply_touch_ends(m, old);
		e = cache_drop_edge(m->c, m->cache, old);
	}
	for (size_t i = 0; !e && i < m->state->edges.count; i++) {
		struct edge_row row;

		arena_reset(&m->scratch);
		row = apply_edge_row(&m->scratch, m->state->edges.entry[i].value);
		apply_touch_ends(m, &row);
		e = cache_put_edge(m->c, m->cache, &row);
	}
	return e;
}

static enum err apply_join(struct joining *m, const struct state *change, int64_t *added)
{
	struct arena *mem = &m->c->mem;
	enum err e;

	m->state = state_new(mem);
	m->before.mem = m->edges.mem = m->recount.mem = m->reparented.mem = mem;
	m->visits = visits_new(mem);
	if ((e = apply_load_change(m, change)))
		return e;
	state_add(m->state, change);
	if ((e = apply_load_joined_edges(m)))
		return e;
	apply_find_reparented(m);
	e = apply_touch_cycles(m);
	for (size_t i = 0; !e && i < m->state->slots.count; i++)
		e = apply_put_slot(m, m->state->slots.entry[i].value, added);
	if (!e && !(e = apply_put_edges(m)))
		e = apply_touch_cycles(m);
	return e ? e : counts_update(m->c, m->cache, &m->recount);
}

enum err apply_change(struct call *c, struct cache *cache, const struct state *change,
		      int64_t *added)
{
	struct joining m = { .c = c, .cache = cache };
	enum err e = apply_join(&m, change, added);

	arena_release(&m.scratch);
	return e;
}

enum err apply_write(struct call *c, struct cache *cache, const struct state *change,
		     enum apply_writer writer, int64_t *added)
{
	struct joining m = { .c = c, .cache = cache, .writes = true, .writer = writer };
	enum err e = apply_join(&m, change, added);

	arena_release(&m.scratch);
	return e;
}
