#include "beads/undo/before.h"

#include "base/text/value.h"
#include "beads/model/line.h"
#include "beads/model/state.h"

static struct str before_extra(const struct bead *b, struct str key)
{
	for (size_t i = 0; i < b->extras; i++)
		if (str_eq(b->extra[i].key, key))
			return b->extra[i].value;
	return STR("null");
}

static bool before_has_extra(const struct bead *b, struct str key)
{
	for (size_t i = 0; b && i < b->extras; i++)
		if (str_eq(b->extra[i].key, key))
			return true;
	return false;
}

/* The registers of `now` that `change` sets, unless `earlier`, another change of the same command,
 * has set them already. */
static struct bead before_part(struct arena *mem, const struct bead *now, const struct bead *change,
			       const struct bead *earlier)
{
	struct bead out = { .id = now->id, .created = now->created };

	for (int i = 0; i < MEMBERS; i++) {
		enum reg reg = member_reg((enum member)i);

		if (!bead_mark(change, reg).by.p || (earlier && bead_mark(earlier, reg).by.p))
			continue;
		bead_put_mark(mem, &out, reg, bead_mark(now, reg));
		bead_put(mem, &out, (enum member)i, bead_member(now, (enum member)i));
	}
	for (size_t i = 0; i < change->extras; i++) {
		struct str key = change->extra[i].key;

		if (!before_has_extra(earlier, key))
			bead_put_extra(mem, &out, key, before_extra(now, key), now->created);
	}
	return out;
}

static void before_put_tombstone(struct call *c, struct beads *b, const struct bead *change,
				 struct str line)
{
	struct state *dead = state_new(&c->mem);
	const struct value *v = value_read(&c->mem, line);
	const struct slot *slot;
	struct str why;

	if (!v || !state_read_tombstone(dead, v, &why))
		return;
	slot = state_find(dead, change->id);
	if (slot && slot->bead && !bead_live(slot->bead))
		state_put_bead(b->before, &(struct bead){ .id = change->id,
							  .created = slot->bead->created,
							  .deleted = slot->bead->deleted,
							  .reason = slot->bead->reason });
}

static enum err before_note_bead(struct call *c, struct beads *b, const struct bead *change)
{
	const struct slot *slot = state_find(b->change, change->id);
	const struct bead *earlier = slot ? slot->bead : NULL;
	struct bead_row *row;
	struct bead now, part;
	struct str line, why;
	enum err e = cache_find_bead(c, &b->cache, change->id, &row);

	if (e)
		return e;
	if (row) {
		if (!line_decode(&c->mem, value_read(&c->mem, row->line), &now, &why) ||
		    mark_cmp(now.created, change->created))
			return ERR_OK;
		part = before_part(&c->mem, &now, change, earlier);
		/* a bead that this command has created stays without an entry */
		if (!earlier || bead_blank(earlier) || state_find(b->before, change->id))
			state_put_bead(b->before, &part);
		return ERR_OK;
	}
	e = cache_find_tombstone(c, &b->cache, change->id, &line);
	if (!e && line.p && !earlier)
		before_put_tombstone(c, b, change, line);
	return e;
}

static enum err before_note_edge(struct call *c, struct beads *b, const struct map_entry *entry)
{
	const struct edge *change = entry->value;
	struct edge old;
	struct str line, why;
	enum err e;

	if (map_find(&b->change->edges, entry->key))
		return ERR_OK;
	e = cache_find_edge(c, &b->cache, change->from, change->to, change->kind, &line);
	if (!e && line.p && edge_decode(&c->mem, value_read(&c->mem, line), &old, &why))
		state_put_edge(b->before, &old);
	return e;
}

/* Did the actor of this call write it? */
static bool before_is_own(const struct call *c, struct mark mark)
{
	return mark.by.p && str_eq(mark.by, c->actor);
}

static struct mark before_mark(const struct bead *b)
{
	return mark_max(bead_top(b), b->deleted);
}

enum err before_note(struct call *c, struct beads *b, const struct state *change)
{
	enum err e = ERR_OK;

	if (b->imports) /* the file says whose changes they are, and anybody's name may be in it */
		return ERR_OK;
	for (size_t i = 0; !e && i < change->slots.count; i++) {
		const struct slot *slot = change->slots.entry[i].value;

		if (!slot->bead || !before_is_own(c, before_mark(slot->bead)))
			continue;
		if (!b->before)
			b->before = state_new(&c->mem);
		e = before_note_bead(c, b, slot->bead);
	}
	for (size_t i = 0; !e && i < change->edges.count; i++) {
		const struct edge *edge = change->edges.entry[i].value;

		if (!before_is_own(c, edge->life))
			continue;
		if (!b->before)
			b->before = state_new(&c->mem);
		e = before_note_edge(c, b, &change->edges.entry[i]);
	}
	return e;
}
