#include "beads/model/merge.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/edge.h"
#include "beads/model/line.h"
#include "beads/model/lines.h"

/* --- lines into states --- */

static size_t merge_number_of(struct str text, struct str line)
{
	return str_count(str_head(text, (size_t)(line.p - text.p)), '\n') + 1;
}

static enum err merge_load_line(struct merge *m, size_t side, enum snapshot_file file,
				struct str key)
{
	struct str text = m->side[side].file[file], line = lines_find(&m->scratch, file, text, key),
		   why;
	const struct value *v;

	if (!line.n)
		return ERR_OK;
	m->decoded++;
	arena_reset(&m->line);
	v = snapshot_parse_line(&m->line, file, line, &why);
	if (v && snapshot_keep(m->part[side], &m->line, file, v, &why) &&
	    (!side || snapshot_compare(&m->line, file, v, line, &why)))
		return ERR_OK;
	return snapshot_fail(m->c, &m->side[side], file, merge_number_of(text, line), why);
}

/* --- what has to be known --- */

static enum err merge_load_id(struct merge *m, struct str id)
{
	enum err e = ERR_OK;

	if (map_find(&m->ids, id))
		return ERR_OK;
	map_put(&m->ids, arena_copy(m->mem, id));
	for (size_t i = 0; !e && i < m->sides; i++)
		if (!(e = merge_load_line(m, i, FILE_TOMBSTONES, id)))
			e = merge_load_line(m, i, FILE_STATE, id);
	return e;
}

static enum err merge_load_edge(struct merge *m, struct str key)
{
	enum err e = ERR_OK;

	if (map_find(&m->edges, key))
		return ERR_OK;
	map_put(&m->edges, arena_copy(m->mem, key));
	for (size_t i = 0; !e && i < m->sides; i++)
		e = merge_load_line(m, i, FILE_DEPS, key);
	return e;
}

/* An edge that begins or ends at an id. */
struct end_edge {
	struct str key;
	struct end_edge *next;
};

static void merge_index_end(struct merge *m, struct str id, struct str key)
{
	void **at = map_put(&m->ends, id);
	struct end_edge *edge = arena_new(m->mem, struct end_edge);

	*edge = (struct end_edge){ key, *at };
	*at = edge;
}

static void merge_index_side(struct merge *m, struct str text)
{
	struct str line;

	while (text.n && str_next(&text, '\n', &line)) {
		struct str key = lines_key(m->mem, FILE_DEPS, line), rest = key, from, to;

		if (!key.p || !str_next(&rest, ' ', &from) || !str_next(&rest, ' ', &to))
			continue;
		merge_index_end(m, from, key);
		if (!str_eq(from, to))
			merge_index_end(m, to, key);
	}
}

/* All edges at an id, which move with a bead that leaves the id. Remaps are rare, so the index of
 * all edges is built only when the first one happens. */
static enum err merge_load_edges_of(struct merge *m, struct str id)
{
	enum err e = ERR_OK;
	void **at;

	if (!m->ends.mem) {
		m->ends.mem = m->mem;
		for (size_t i = 0; i < m->sides; i++)
			merge_index_side(m, m->side[i].file[FILE_DEPS]);
	}
	at = map_find(&m->ends, id);
	for (const struct end_edge *edge = at ? *at : NULL; !e && edge; edge = edge->next)
		e = merge_load_edge(m, edge->key);
	return e;
}

/* Reads the lines of an id on one side; the change counts as a side. */
static const struct slot *merge_slot_on(const struct merge *m, size_t side, struct str id)
{
	if (side < m->sides)
		return state_find(m->part[side], id);
	return m->change ? state_find(m->change, id) : NULL;
}

/*
 * The later of two beads with the same id moves to another id, which a third bead may already have.
 */
static enum err merge_remap_later(struct merge *m, struct str id, const struct mark *visitor)
{
	struct mark here[MERGE_SIDES + 2], least;
	size_t count = 0;
	enum err e = ERR_OK;

	if (visitor)
		here[count++] = *visitor;
	for (size_t i = 0; i <= m->sides; i++) {
		const struct slot *slot = merge_slot_on(m, i, id);

		if (slot && slot->bead)
			here[count++] = slot->bead->created;
	}
	if (!count)
		return ERR_OK;
	least = here[0];
	for (size_t i = 1; i < count; i++)
		if (mark_cmp(here[i], least) < 0)
			least = here[i];
	for (size_t i = 0; !e && i < count; i++) {
		struct str other;

		if (!mark_cmp(here[i], least))
			continue;
		other = bead_other_id(m->mem, id, here[i]);
		if (!(e = merge_load_edges_of(m, id)))
			visits_add(&m->visits, other, &here[i]);
	}
	return e;
}

static enum err merge_visit_remaps(struct merge *m, struct str id, const struct slot *slot)
{
	enum err e = ERR_OK;

	for (size_t k = 0; !e && slot && k < slot->remaps; k++) {
		const struct remap *r = &slot->remap[k];

		for (size_t i = 0; !e && i <= m->sides; i++) {
			const struct slot *there = merge_slot_on(m, i, id);

			if (there && there->bead && !mark_cmp(there->bead->created, r->created))
				e = merge_load_edges_of(m, id);
		}
		visits_add(&m->visits, r->to, &r->created);
	}
	return e;
}

static enum err merge_visit(struct merge *m, const struct visit *v)
{
	enum err e = merge_load_id(m, v->id);

	for (size_t i = 0; !e && i <= m->sides; i++)
		e = merge_visit_remaps(m, v->id, merge_slot_on(m, i, v->id));
	return e ? e : merge_remap_later(m, v->id, v->created);
}

/* Reads all lines that can affect the bead of an id. */
static enum err merge_load_related(struct merge *m, struct str id)
{
	const struct visit *v;
	enum err e = ERR_OK;

	visits_add(&m->visits, id, NULL);
	while (!e && (v = visits_next(&m->visits)))
		e = merge_visit(m, v);
	return e;
}

/* --- which lines differ --- */

struct differing {
	struct merge *m;
	enum snapshot_file file;
};

/* Does only the first side know this key? Then its line is unchanged. */
static bool merge_is_unchanged(struct merge *m, enum snapshot_file file, struct str key)
{
	for (size_t i = 0; file != FILE_DEPS && i < m->sides; i++)
		for (int f = FILE_STATE; f <= FILE_TOMBSTONES; f++)
			if ((i || f != (int)file) &&
			    lines_find(&m->scratch, (enum snapshot_file)f, m->side[i].file[f], key)
				    .n)
				return false;
	return true;
}

static enum err merge_differs(void *arg, const struct line_pair *pair)
{
	struct differing *d = arg;
	struct str key;

	if (!pair->b.p && merge_is_unchanged(d->m, d->file, pair->key))
		return ERR_OK;
	key = arena_copy(d->m->mem, pair->key);
	return d->file == FILE_DEPS ? merge_load_edge(d->m, key) : merge_load_related(d->m, key);
}

static enum err merge_compare_side(struct merge *m, size_t side)
{
	enum err e = ERR_OK;

	for (int f = 0; !e && f < FILE_META; f++) {
		enum snapshot_file file = (enum snapshot_file)f;
		struct differing d = { m, file };
		size_t number;
		struct str why;

		e = lines_diff(&m->scratch, file, m->side[0].file[f], m->side[side].file[f],
			       merge_differs, &d, &number, &why);
		if (e && why.p)
			e = snapshot_fail(m->c, &m->side[side], file, number, why);
	}
	return e;
}

static enum err merge_load_change(struct merge *m)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && m->change && i < m->change->slots.count; i++)
		e = merge_load_related(m, m->change->slots.entry[i].key);
	for (size_t i = 0; !e && m->change && i < m->change->edges.count; i++)
		e = merge_load_edge(m, m->change->edges.entry[i].key);
	return e;
}

/* One side may still use a bead's old id after the other has remapped it. */
static enum err merge_load_joined_edges(struct merge *m)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < m->joined->edges.count; i++) {
		struct str key = m->joined->edges.entry[i].key;
		struct state *late[MERGE_SIDES];

		if (map_find(&m->edges, key))
			continue;
		for (size_t k = 0; k < m->sides; k++) {
			late[k] = m->part[k];
			m->part[k] = m->joined;
		}
		e = merge_load_edge(m, key);
		memcpy(m->part, late, m->sides * sizeof *late);
	}
	return e;
}

/* --- what became of it --- */

static void merge_changed(struct merge *m, enum snapshot_file file, struct str key, struct str new)
{
	struct str old = lines_find(&m->scratch, file, m->side[0].file[file], key);

	old = old.n ? old : STR_NONE;
	if (old.p ? str_eq(old, new) : !new.p)
		return;
	m->changes = arena_room(m->mem, m->changes, m->count, sizeof *m->changes);
	m->changes[m->count++] = (struct line_change){ file, key, old, arena_copy(m->mem, new) };
}

/*
 * Changes to a bead that another clone has collected are not a whole bead, and could not be read.
 */
static struct str merge_bead_line(struct merge *m, const struct slot *slot)
{
	return slot && slot_live(slot) && bead_whole(slot->bead) ? line_text(&m->line, slot->bead) :
								   STR_NONE;
}

static struct str merge_tombstone_line(struct merge *m, const struct slot *slot)
{
	return slot && slot_has_tombstone(slot) ? tombstone_text(&m->line, slot) : STR_NONE;
}

static void merge_collect_changes(struct merge *m)
{
	for (size_t i = 0; i < m->joined->slots.count; i++)
		map_put(&m->ids, m->joined->slots.entry[i].key);
	for (size_t i = 0; i < m->joined->edges.count; i++)
		map_put(&m->edges, m->joined->edges.entry[i].key);
	for (size_t i = 0; i < m->ids.count; i++) {
		struct str id = m->ids.entry[i].key;
		const struct slot *slot = state_find(m->joined, id);

		arena_reset(&m->line);
		merge_changed(m, FILE_STATE, id, merge_bead_line(m, slot));
		merge_changed(m, FILE_TOMBSTONES, id, merge_tombstone_line(m, slot));
	}
	for (size_t i = 0; i < m->edges.count; i++) {
		struct str key = m->edges.entry[i].key;
		void **at = map_find(&m->joined->edges, key);

		arena_reset(&m->line);
		merge_changed(m, FILE_DEPS, key, at ? edge_text(&m->line, *at) : STR_NONE);
	}
}

static int change_cmp(const void *a, const void *b)
{
	const struct line_change *x = a, *y = b;

	return x->file != y->file ? (x->file < y->file ? -1 : 1) : str_cmp(x->key, y->key);
}

static void merge_sort_changes(struct merge *m)
{
	if (m->count)
		qsort(m->changes, m->count, sizeof *m->changes, change_cmp);
}

/* --- forgetting --- */

static struct line_change *merge_change_of(const struct merge *m, enum snapshot_file file,
					   struct str key)
{
	struct line_change want = { .file = file, .key = key };

	return m->count ? bsearch(&want, m->changes, m->count, sizeof want, change_cmp) : NULL;
}

/* When a deletion happened that may be collected; else 0. */
static int64_t merge_deleted_ms(struct merge *m, struct str line)
{
	const struct value *v;
	struct stamp at;

	arena_reset(&m->line);
	if (!str_has(line, STR("\"deleted_at\":")) || !(v = value_read(&m->line, line)) ||
	    value_find(v, "remap") || !stamp_decode(value_find(v, "deleted_at"), &at))
		return 0;
	return at.ms;
}

struct forgetting {
	struct merge *m;
	struct map gone;           /* ids */
	struct line_change *found; /* keys to remove, in addition to the changes */
	size_t count;
};

/* Only published deletions are collected: another clone would take an unpublished one for lost. */
static void merge_forget(struct forgetting *f, enum snapshot_file file, struct str key,
			 struct str line)
{
	struct line_change *known = merge_change_of(f->m, file, key);

	if (known) {
		known->new = STR_NONE;
		return;
	}
	f->found = arena_room(f->m->mem, f->found, f->count, sizeof *f->found);
	f->found[f->count++] = (struct line_change){ file, key, line, { 0 } };
}

static bool merge_is_old(struct forgetting *f, struct str line)
{
	int64_t at = merge_deleted_ms(f->m, line);

	return at && at < f->m->collect_before;
}

static void merge_forget_in(struct forgetting *f, enum snapshot_file file)
{
	struct str text = f->m->side[0].file[file], line;

	while (text.n && str_next(&text, '\n', &line)) {
		struct str key = lines_key(f->m->mem, file, line);
		const struct line_change *known = merge_change_of(f->m, file, key);
		struct str now = known ? known->new : line;

		if (!now.p || (!merge_is_old(f, now) &&
			       (file != FILE_DEPS || !edge_key_touches(key, &f->gone))))
			continue;
		merge_forget(f, file, key, line);
		if (file == FILE_TOMBSTONES)
			map_put(&f->gone, key);
	}
}

static void merge_forget_old(struct merge *m)
{
	struct forgetting f = { .m = m, .gone.mem = m->mem };

	if (!m->collect_before)
		return;
	merge_forget_in(&f, FILE_TOMBSTONES);
	merge_forget_in(&f, FILE_DEPS);
	for (size_t i = 0; i < f.count; i++)
		merge_changed(m, f.found[i].file, f.found[i].key, STR_NONE);
	merge_sort_changes(m);
}

/* --- the whole of it --- */

static enum err merge_join_prefixes(struct merge *m)
{
	struct state *first = state_new(m->mem);
	enum err e = snapshot_read_meta(m->c, &m->side[0], first);

	for (size_t i = 0; !e && i < m->sides; i++)
		e = snapshot_read_meta(m->c, &m->side[i], m->joined);
	m->meta_changed = !str_eq(first->prefix, m->joined->prefix) ||
			  mark_cmp(first->prefix_mark, m->joined->prefix_mark) != 0 ||
			  !str_eq(first->meta, m->joined->meta);
	return e;
}

static enum err merge_join_all(struct merge *m)
{
	enum err e = ERR_OK;

	m->ids.mem = m->edges.mem = m->mem;
	m->visits = visits_new(m->mem);
	for (size_t i = 0; i < m->sides; i++)
		m->part[i] = state_new(m->mem);
	for (size_t i = 1; !e && i < m->sides; i++)
		e = merge_compare_side(m, i);
	if (e || (e = merge_load_change(m)))
		return e;
	m->joined = state_new(m->mem);
	for (size_t i = 0; i < m->sides; i++)
		state_add(m->joined, m->part[i]);
	if (m->change)
		state_add(m->joined, m->change);
	if ((e = merge_load_joined_edges(m)) || (e = merge_join_prefixes(m)))
		return e;
	merge_collect_changes(m);
	merge_sort_changes(m);
	merge_forget_old(m);
	return ERR_OK;
}

enum err merge_run(struct merge *m)
{
	enum err e;

	m->mem = m->mem ? m->mem : &m->c->mem;
	e = merge_join_all(m);
	arena_release(&m->scratch);
	arena_release(&m->line);
	return e;
}

const struct line_change *merge_change(const struct merge *m, enum snapshot_file file,
				       struct str key)
{
	return merge_change_of(m, file, key);
}

bool merge_touches(const struct merge *m, enum snapshot_file file)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->changes[i].file == file)
			return true;
	return false;
}

static void merge_add_piece(struct pieces *p, const char *start, const char *end)
{
	if (end > start)
		p->piece[p->count++] = (struct str){ start, (size_t)(end - start) };
}

struct pieces merge_file(const struct merge *m, enum snapshot_file file)
{
	struct str text = m->side[0].file[file];
	struct arena scratch = { 0 };
	const char *at = text.p, *end = str_end(text);
	struct pieces out = { .piece = arena_array(m->mem, 3 * m->count + 1, sizeof *out.piece) };

	for (size_t i = 0; i < m->count; i++) {
		const struct line_change *change = &m->changes[i];
		struct str line;

		if (change->file != file)
			continue;
		line = change->old.p ? change->old : lines_find(&scratch, file, text, change->key);
		merge_add_piece(&out, at, line.p);
		at = change->old.p ? line.p + line.n + 1 : line.p;
		if (!change->new.p)
			continue;
		out.piece[out.count++] = change->new;
		out.piece[out.count++] = STR("\n");
	}
	merge_add_piece(&out, at, end);
	arena_release(&scratch);
	return out;
}

struct snapshot merge_files(const struct merge *m)
{
	struct arena *mem = m->mem;
	struct snapshot out = { 0 };
	struct str sum[FILE_META];

	for (int f = 0; f < FILE_META; f++) {
		struct buf text = { .mem = mem };
		struct pieces all;

		out.file[f] = m->side[0].file[f];
		if (merge_touches(m, (enum snapshot_file)f)) {
			all = merge_file(m, (enum snapshot_file)f);
			for (size_t i = 0; i < all.count; i++)
				buf_put(&text, all.piece[i]);
			out.file[f] = buf_str(&text);
		}
		sum[f] = sha256_hex(mem, out.file[f]);
	}
	out.file[FILE_META] = snapshot_meta(mem, m->joined, sum);
	return out;
}

struct state *merge_own_ids(struct arena *mem, const struct snapshot *files)
{
	struct state *out = state_new(mem);
	struct str text = files->file[FILE_TOMBSTONES], line;
	struct arena scratch = { 0 };

	while (text.n && str_next(&text, '\n', &line)) {
		struct str id;

		arena_reset(&scratch);
		id = lines_key(&scratch, FILE_TOMBSTONES, line);
		if (id.p && (str_has(line, STR("\"remap\":")) ||
			     lines_find(&scratch, FILE_STATE, files->file[FILE_STATE], id).n))
			state_slot(out, arena_copy(mem, id));
	}
	arena_release(&scratch);
	return out;
}
