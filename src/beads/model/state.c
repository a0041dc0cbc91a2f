#include "beads/model/state.h"

#include <stdlib.h>

#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/join.h"

struct state *state_new(struct arena *mem)
{
	struct state *s = arena_new(mem, struct state);

	s->mem = s->slots.mem = s->edges.mem = mem;
	return s;
}

struct slot *state_find(const struct state *s, struct str id)
{
	void **at = map_find(&s->slots, id);

	return at ? *at : NULL;
}

struct slot *state_slot(struct state *s, struct str id)
{
	void **at = map_put(&s->slots, id);

	if (!*at) {
		struct slot *slot = arena_new(s->mem, struct slot);

		slot->id = id;
		*at = slot;
	}
	return *at;
}

/* Where the remap of a lineage is in the list, or would be. */
static size_t remap_place(const struct slot *slot, struct mark created)
{
	size_t low = 0, high = slot->remaps;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (mark_cmp(slot->remap[middle].created, created) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct remap *remap_find(const struct slot *slot, struct mark created)
{
	size_t at = slot ? remap_place(slot, created) : 0;

	return slot && at < slot->remaps && !mark_cmp(slot->remap[at].created, created) ?
		       &slot->remap[at] :
		       NULL;
}

/*
 * The present id of the lineage that was given this id. A chain of remaps is shortened on the way,
 * so that following a long one for many edges stays cheap.
 */
static struct str state_follow(const struct state *s, struct str id, struct mark created)
{
	struct str end = id, next;
	struct remap *r;

	while ((r = remap_find(state_find(s, end), created)))
		end = r->later.p ? r->later : r->to;
	for (; !str_eq(id, end) && (r = remap_find(state_find(s, id), created)); id = next) {
		next = r->later.p ? r->later : r->to;
		r->later = end;
	}
	return end;
}

static void state_put_remap(struct state *s, struct slot *slot, struct mark created, struct str to)
{
	size_t at = remap_place(slot, created);
	struct remap r = { .created = created, .to = to };

	if (remap_find(slot, created))
		return;
	slot->remap = arena_room(s->mem, slot->remap, slot->remaps, sizeof r);
	memmove(&slot->remap[at + 1], &slot->remap[at], (slot->remaps - at) * sizeof r);
	slot->remap[at] = r;
	slot->remaps++;
}

/* --- beads --- */

/* `moved` has the beads that lost their id to another lineage in this round; by id: the mark of
 * creation. NULL if there are no edges to move. */
static void state_note_moved(struct state *s, const struct slot *slot, struct map *moved)
{
	struct mark *created;

	if (slot->round == s->round || !moved)
		return;
	created = arena_new(s->mem, struct mark);
	*created = slot->bead->created;
	*map_put(moved, slot->id) = created;
}

static struct bead *state_joined(struct state *s, const struct bead *a, const struct bead *b)
{
	struct bead *out = arena_new(s->mem, struct bead);

	bead_join(s->mem, a, b, out);
	return out;
}

static struct bead *state_copied(struct state *s, const struct bead *b)
{
	struct bead *out = arena_grow(s->mem, NULL, 0, sizeof *out);

	*out = *b;
	return out;
}

/* Copies the bead, with its texts and lists if they are in other memory. */
static struct bead *state_kept(struct state *s, const struct state *from, const struct bead *b)
{
	struct bead *out = state_copied(s, b);

	if (from->mem != s->mem)
		bead_own(s->mem, out);
	return out;
}

/* The earlier lineage keeps the id; the other is put under its new id. */
static void state_put(struct state *s, struct bead *b, struct map *moved)
{
	for (;;) {
		struct slot *slot;
		struct bead *loser = b;

		b->id = state_follow(s, b->id, b->created);
		slot = state_slot(s, b->id);
		if (!slot->bead) {
			slot->bead = b;
			slot->round = s->round;
			return;
		}
		if (!mark_cmp(slot->bead->created, b->created)) {
			slot->bead = state_joined(s, slot->bead, b);
			return;
		}
		if (mark_cmp(b->created, slot->bead->created) < 0) {
			state_note_moved(s, slot, moved);
			loser = state_copied(s, slot->bead);
			slot->bead = b;
			slot->round = s->round;
		}
		state_put_remap(s, slot, loser->created,
				bead_other_id(s->mem, slot->id, loser->created));
		b = loser;
	}
}

void state_put_bead(struct state *s, const struct bead *b)
{
	state_put(s, state_copied(s, b), NULL);
}

/* --- ids that are gone --- */

static void state_delete_bead(struct state *s, struct slot *slot, const struct slot *every)
{
	int order = mark_cmp(every->every, slot->bead->deleted);
	struct bead dead = { .id = slot->id,
			     .created = slot->bead->created,
			     .deleted = every->every,
			     .reason = every->reason };

	if (order > 0 || (!order && str_cmp(every->reason, slot->bead->reason) > 0))
		slot->bead = state_joined(s, slot->bead, &dead);
}

/*
 * A deletion of every bead of an id also reaches the beads that have left it since. The latest
 * deletion comes first, so where one has passed, the others need not follow.
 */
static void state_delete_every_of(struct state *s, struct slot *every)
{
	if (every->bead)
		state_delete_bead(s, every, every);
	for (size_t i = 0; i < every->remaps; i++) {
		struct remap *r = &every->remap[i];
		struct mark created = r->created;

		while (r && r->delete_run != s->delete_runs) {
			struct slot *slot = state_find(s, r->to);

			r->delete_run = s->delete_runs;
			if (slot && slot->bead && !mark_cmp(slot->bead->created, created))
				state_delete_bead(s, slot, every);
			r = remap_find(slot, created);
		}
	}
}

static void state_put_every(struct slot *slot, struct mark every, struct str reason)
{
	int order = mark_cmp(every, slot->every);

	if (order > 0 || (!order && str_cmp(reason, slot->reason) > 0)) {
		slot->every = every;
		slot->reason = reason;
	}
}

static int slot_every_cmp(const void *x, const void *y)
{
	const struct slot *a = *(struct slot *const *)x, *b = *(struct slot *const *)y;
	int order = mark_cmp(b->every, a->every);

	return order ? order : str_cmp(b->reason, a->reason);
}

static void state_delete_every(struct state *s)
{
	struct slot **list;
	size_t count = 0;

	if (!s->has_every)
		return;
	list = arena_array(s->mem, s->slots.count, sizeof *list);
	for (size_t i = 0; i < s->slots.count; i++) {
		struct slot *slot = s->slots.entry[i].value;

		if (slot->every.by.p)
			list[count++] = slot;
	}
	qsort(list, count, sizeof *list, slot_every_cmp);
	s->delete_runs++;
	for (size_t i = 0; i < count; i++)
		state_delete_every_of(s, list[i]);
}

bool slot_live(const struct slot *slot)
{
	return slot->bead && bead_live(slot->bead);
}

bool slot_visible(const struct slot *slot)
{
	return slot_live(slot) && !bead_blank(slot->bead);
}

bool slot_has_tombstone(const struct slot *slot)
{
	return (slot->bead && !bead_live(slot->bead)) || slot->every.by.p || slot->remaps;
}

/* --- edges --- */

void state_put_edge(struct state *s, const struct edge *e)
{
	void **at = map_put(&s->edges, edge_key(s->mem, e));
	struct edge *out = arena_new(s->mem, struct edge);

	*out = *at ? edge_join(*(struct edge *)*at, *e) : *e;
	*at = out;
}

static struct str state_moved_to(const struct state *s, const struct map *moved, struct str id)
{
	void **created = map_find(moved, id);

	return created ? state_follow(s, id, *(const struct mark *)*created) : id;
}

/* Moves the edges of the beads that were remapped. */
static void state_move_edges(struct state *s, const struct map *moved)
{
	struct map old = s->edges;

	if (!moved->count)
		return;
	s->edges = (struct map){ .mem = s->mem };
	for (size_t i = 0; i < old.count; i++) {
		struct edge e = *(struct edge *)old.entry[i].value;

		e.from = state_moved_to(s, moved, e.from);
		e.to = state_moved_to(s, moved, e.to);
		state_put_edge(s, &e);
	}
}

/* Translates an id of another state. */
static struct str state_translate_id(const struct state *s, const struct state *other,
				     struct str id)
{
	const struct slot *slot = state_find(other, id);

	return slot && slot->bead ? state_follow(s, id, slot->bead->created) : id;
}

static void state_add_edges(struct state *s, const struct state *more)
{
	for (size_t i = 0; i < more->edges.count; i++) {
		struct edge e = *(const struct edge *)more->edges.entry[i].value;

		e.from = state_translate_id(s, more, e.from);
		e.to = state_translate_id(s, more, e.to);
		edge_own(s->mem, &e);
		state_put_edge(s, &e);
	}
}

/* --- the join --- */

void state_put_prefix(struct state *s, struct str prefix, struct mark mark)
{
	int order = mark_cmp(mark, s->prefix_mark);

	if (order > 0 || (!order && str_cmp(prefix, s->prefix) > 0)) {
		s->prefix = prefix;
		s->prefix_mark = mark;
	}
}

static void state_add_members(struct map *out, struct str object)
{
	VALUE_EACH(one, object.p ? value_read(out->mem, object) : NULL) {
		struct str *text = arena_new(out->mem, struct str), *old;
		void **at = map_put(out, one->key);

		*text = json_canonical_text(out->mem, one);
		old = *at;
		if (!old || str_cmp(*text, *old) > 0)
			*at = text;
	}
}

void state_put_meta(struct state *s, struct str members)
{
	struct map all = { .mem = s->mem };
	struct json j = json_new(s->mem);
	const struct map_entry **order;

	if (!members.p || str_eq(members, s->meta))
		return;
	state_add_members(&all, s->meta);
	state_add_members(&all, arena_copy(s->mem, members));
	order = map_sorted(&all, s->mem);
	json_object(&j);
	for (size_t i = 0; i < all.count; i++) {
		json_key(&j, order[i]->key);
		json_raw(&j, *(const struct str *)order[i]->value);
	}
	json_end(&j);
	s->meta = json_text(&j);
}

static struct mark state_own_mark(struct state *s, struct mark m)
{
	return (struct mark){ m.at, arena_copy(s->mem, m.by) };
}

/* Takes over remaps: a bead that was remapped in the other state is remapped here, too. */
static void state_add_slots(struct state *s, const struct state *more, struct map *moved)
{
	for (size_t i = 0; i < more->slots.count; i++) {
		const struct slot *other = more->slots.entry[i].value;
		struct slot *slot = state_find(s, other->id);

		if (!slot)
			slot = state_slot(s, arena_copy(s->mem, other->id));
		for (size_t k = 0; k < other->remaps; k++)
			state_put_remap(s, slot, state_own_mark(s, other->remap[k].created),
					arena_copy(s->mem, other->remap[k].to));
		if (other->every.by.p)
			state_put_every(slot, state_own_mark(s, other->every),
					arena_copy(s->mem, other->reason));
		s->has_every = s->has_every || slot->every.by.p;
	}
	for (size_t i = 0; i < more->slots.count; i++) {
		struct slot *slot = state_slot(s, more->slots.entry[i].key);
		struct bead *b = slot->bead;

		if (!b || !remap_find(slot, b->created))
			continue;
		state_note_moved(s, slot, moved);
		slot->bead = NULL;
		state_put(s, state_copied(s, b), moved);
	}
}

/* A blank bead whose lineage is known already adds nothing. */
static bool state_adds_nothing(const struct state *s, const struct bead *b)
{
	const struct slot *slot =
		bead_blank(b) ? state_find(s, state_follow(s, b->id, b->created)) : NULL;

	return slot && slot->bead && !mark_cmp(slot->bead->created, b->created);
}

void state_add(struct state *s, const struct state *more)
{
	struct map moved = { .mem = s->mem };

	s->round++;
	state_add_slots(s, more, &moved);
	for (size_t i = 0; i < more->slots.count; i++) {
		const struct slot *other = more->slots.entry[i].value;

		if (other->bead && !state_adds_nothing(s, other->bead))
			state_put(s, state_kept(s, more, other->bead), &moved);
	}
	state_move_edges(s, &moved);
	state_add_edges(s, more);
	state_delete_every(s);
	if (more->prefix_mark.by.p)
		state_put_prefix(s, arena_copy(s->mem, more->prefix),
				 (struct mark){ more->prefix_mark.at,
						arena_copy(s->mem, more->prefix_mark.by) });
	state_put_meta(s, more->meta);
}

/* --- the clock --- */

static void clock_follow(struct stamp *clock, int64_t horizon_ms, struct mark m)
{
	if (m.by.p && m.at.ms <= horizon_ms && stamp_cmp(m.at, *clock) > 0)
		*clock = m.at;
}

static void clock_follow_bead(struct stamp *clock, int64_t horizon_ms, const struct bead *b)
{
	clock_follow(clock, horizon_ms, b->created);
	clock_follow(clock, horizon_ms, b->deleted);
	for (int i = 0; i < REGS; i++)
		clock_follow(clock, horizon_ms, bead_mark(b, (enum reg)i));
	for (size_t i = 0; i < b->extras; i++)
		clock_follow(clock, horizon_ms, b->extra[i].mark);
	for (size_t i = 0; i < b->notes; i++)
		clock_follow(clock, horizon_ms, (struct mark){ b->note[i].at, b->note[i].author });
}

struct stamp state_clock(const struct state *s, int64_t horizon_ms)
{
	struct stamp clock = { 0 };

	clock_follow(&clock, horizon_ms, s->prefix_mark);
	for (size_t i = 0; i < s->slots.count; i++) {
		const struct slot *slot = s->slots.entry[i].value;

		if (slot->bead)
			clock_follow_bead(&clock, horizon_ms, slot->bead);
		clock_follow(&clock, horizon_ms, slot->every);
	}
	for (size_t i = 0; i < s->edges.count; i++) {
		const struct edge *e = s->edges.entry[i].value;

		clock_follow(&clock, horizon_ms, e->created);
		clock_follow(&clock, horizon_ms, e->life);
	}
	return clock;
}
