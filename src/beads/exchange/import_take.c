/*
 * Joins the lines of a file to the store, each like a change of another clone: in every register
 * the later write wins, and comments and dependencies are added. A bead with the same id is the
 * same issue, even if the two have different creation times.
 */
#include "base/text/value.h"
#include "beads/beads.h"
#include "beads/exchange/export_line.h"
#include "beads/exchange/import_parts.h"
#include "beads/model/join.h"
#include "beads/model/limits.h"
#include "beads/model/line.h"
#include "beads/model/state.h"

/* --- batches: one opening of the store, one record of the journal --- */

enum { BATCH_LINES = 400, BATCH_BYTES = 1 << 20 };

struct import_batch {
	struct import_run *r;
	struct call part;
	struct beads b;
	struct state *change;
	size_t lines, bytes;
};

static enum err batch_begin(struct import_run *r, struct import_batch *x)
{
	enum err e = ERR_OK;

	*x = (struct import_batch){ .r = r, .part = call_part(r->c) };
	x->change = state_new(&x->part.mem);
	if (r->store)
		e = beads_open(&x->part, r->ask->dry_run ? BEADS_READ : BEADS_WRITE, &x->b);
	x->b.repairs = true; /* a record may be as large as a line of the store */
	x->b.imports = true;
	if (r->ask->commanded && r->c->actor.p)
		x->b.before = state_new(&x->part.mem);
	return e ? call_part_end(r->c, &x->part, e) : ERR_OK;
}

static enum err batch_end(struct import_batch *x, enum err e)
{
	if (!e && !x->r->ask->dry_run) {
		e = beads_put(&x->part, &x->b, x->change);
		if (!e)
			e = beads_commit(&x->part, &x->b);
	}
	if (x->r->store)
		beads_close(&x->b);
	return call_part_end(x->r->c, &x->part, e);
}

static bool batch_full(const struct import_batch *x)
{
	return x->lines >= BATCH_LINES || x->bytes >= BATCH_BYTES;
}

/* --- what the store has --- */

/*
 * Finds the bead with this id, deleted or not, or the deletion of an unknown bead; NULL: neither.
 */
static enum err batch_look(struct import_batch *x, struct str id, struct slot **out)
{
	struct arena *mem = &x->part.mem;
	struct state *found = state_new(mem);
	struct bead_row *row;
	struct str line, why = { 0 };
	enum err e;

	*out = NULL;
	if (!x->r->store)
		return ERR_OK;
	if ((e = cache_find_bead(&x->part, &x->b.cache, id, &row)) ||
	    (e = cache_find_tombstone(&x->part, &x->b.cache, id, &line)))
		return e;
	if ((line.p && !state_read_tombstone(found, value_read(mem, line), &why)) ||
	    (row && !state_read_bead(found, value_read(mem, row->line), &why)))
		return call_fail(&x->part, ERR_DAMAGED,
				 "the cache has a wrong entry for '" STR_FMT "': " STR_FMT,
				 STR_ARG(id), STR_ARG(why));
	*out = state_find(found, id);
	return ERR_OK;
}

static enum err batch_knows(struct import_batch *x, struct str id, bool *yes)
{
	struct slot *slot;
	enum err e = ERR_OK;

	*yes = map_find(&x->r->by_id, id) || map_find(&x->r->gone, id);
	if (!*yes && !(e = batch_look(x, id, &slot)))
		*yes = slot != NULL;
	return e;
}

/* --- issues --- */

static void import_copy_parts(const struct bead *from, struct bead *to, enum reg reg)
{
	for (int m = 0; m < CORE_MEMBERS; m++)
		if (member_reg((enum member)m) == reg)
			to->member[m] = from->member[m];
}

/*
 * Imported lines have no lease, no branch, and stamps without the count within a millisecond. The
 * values of the store are kept if the rest of their register is the same.
 */
static void import_keep_parts(const struct bead *now, struct bead *b)
{
	bool closing = str_eq(now->member[MEMBER_CLOSED_REASON], b->member[MEMBER_CLOSED_REASON]) &&
		       bead_stamp(now, MEMBER_CLOSED_AT).ms == bead_stamp(b, MEMBER_CLOSED_AT).ms;

	if (str_eq(now->member[MEMBER_ASSIGNEE], b->member[MEMBER_ASSIGNEE]))
		import_copy_parts(now, b, REG_ASSIGNEE);
	if (bead_status(now) == bead_status(b) && closing)
		import_copy_parts(now, b, REG_STATUS);
}

/* A newer line with a status or type of this program replaces the original word. */
static void import_end_originals(struct arena *mem, const struct bead *now, struct bead *b)
{
	static const enum reg regs[] = { REG_ORIGINAL_STATUS, REG_ORIGINAL_TYPE };

	for (size_t i = 0; i < sizeof regs / sizeof *regs; i++)
		if (bead_mark(now, regs[i]).by.p && !bead_mark(b, regs[i]).by.p)
			bead_put_mark(mem, b, regs[i], b->mark[REG_TITLE]);
	if (str_is(bead_member(now, MEMBER_ORIGINAL_STATUS), "\"deferred\"") &&
	    !bead_member(b, MEMBER_ORIGINAL_STATUS).p && !bead_mark(b, REG_DEFER_UNTIL).by.p)
		bead_put_mark(mem, b, REG_DEFER_UNTIL, b->mark[REG_TITLE]);
}

/* Removes the values that the bead already has, so that it keeps its marks. */
static void import_drop_same(const struct bead *now, struct bead *b)
{
	size_t kept = 0;

	for (int r = 0; r < REGS; r++)
		if (bead_mark(now, (enum reg)r).by.p && bead_same_register(now, b, (enum reg)r))
			bead_drop_register(b, (enum reg)r);
	for (size_t i = 0; i < b->extras; i++) {
		bool same = false;

		for (size_t k = 0; k < now->extras && !same; k++)
			same = str_eq(now->extra[k].key, b->extra[i].key) &&
			       str_eq(now->extra[k].value, b->extra[i].value);
		if (!same)
			b->extra[kept++] = b->extra[i];
	}
	b->extras = kept;
}

/*
 * Removes the comments that the bead already has. Their stamps may differ, because those of an
 * imported line have no count within a millisecond.
 */
static void import_drop_notes(const struct bead *now, struct bead *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->notes; i++) {
		bool same = false;

		for (size_t k = 0; k < now->notes && !same; k++)
			same = str_eq(now->note[k].id, b->note[i].id);
		if (!same)
			b->note[kept++] = b->note[i];
	}
	b->notes = kept;
}

static bool import_same_bead(struct arena *mem, const struct bead *a, const struct bead *b)
{
	if (bead_live(a) != bead_live(b))
		return false;
	if (!bead_live(a) && (mark_cmp(a->deleted, b->deleted) || !str_eq(a->reason, b->reason)))
		return false;
	return str_eq(line_text(mem, a), line_text(mem, b));
}

/* Would the bead stay within the limits? One line that does not fit must not stop all others. */
static bool import_fits(struct import_batch *x, const struct bead *now, const struct bead *both)
{
	struct growth growth = { .before = line_text(&x->part.mem, now),
				 .bead = both,
				 .after = line_text(&x->part.mem, both),
				 .copied = true };
	struct excess excess;

	if (!bead_live(both) || limits_allow(&x->part.mem, &growth, &excess))
		return true;
	import_find(&x->r->out->findings, both->id, "too_large",
		    "the line was refused: with it, the bead would have %zu %s, and at most %zu "
		    "are allowed",
		    excess.count, excess.what, excess.most);
	return false;
}

/* Adds the bead to the change if it differs from the store. Returns the counter for the result. */
static int64_t *import_join(struct import_batch *x, const struct slot *slot, struct bead *b)
{
	struct import_report *out = x->r->out;
	const struct bead *now = slot ? slot->bead : NULL;
	bool deletes = b->deleted.by.p, older;
	struct bead both;

	if (!now) {
		state_put_bead(x->change, b);
		return deletes ? &out->tombstones : &out->created;
	}
	older = bead_top(b).at.ms < bead_top(now).at.ms;
	b->created = now->created;
	import_keep_parts(now, b);
	import_end_originals(&x->part.mem, now, b);
	import_drop_notes(now, b);
	if (export_changed(b).at.ms <= export_changed(now).at.ms)
		import_drop_same(now, b);
	bead_join(&x->part.mem, now, b, &both);
	if (import_same_bead(&x->part.mem, now, &both))
		return older ? &out->older : &out->unchanged;
	if (!import_fits(x, now, &both))
		return &out->refused;
	state_put_bead(x->change, b);
	return deletes && !bead_live(&both) ? &out->tombstones : &out->updated;
}

/* --- dependencies --- */

/*
 * Why the store cannot have a dependency, which is then kept as text of the issue; NULL: it can.
 * `taken` has the keys of the dependencies that are stored.
 */
static enum err import_why_not(struct import_batch *x, const struct edge *e,
			       const struct map *taken, const char **why)
{
	bool from, to;
	enum err err;

	*why = str_eq(e->from, e->to)                     ? "self_dependency" :
	       map_find(taken, edge_key(&x->part.mem, e)) ? "duplicate_dependency" :
							    NULL;
	if (*why)
		return ERR_OK;
	if ((err = batch_knows(x, e->from, &from)) || (err = batch_knows(x, e->to, &to)))
		return err;
	if (!from || !to)
		*why = "dangling_dependency";
	return ERR_OK;
}

static void import_add_to_graph(struct import_run *r, const struct edge *e)
{
	struct edge_row *row = arena_new(&r->c->mem, struct edge_row);

	*row = (struct edge_row){ .from = arena_copy(&r->c->mem, e->from),
				  .to = arena_copy(&r->c->mem, e->to),
				  .kind = e->kind,
				  .active = true,
				  .next = r->graph };
	r->graph = row;
}

static enum err import_check_edges(struct import_batch *x, struct intake *in)
{
	struct map taken = { .mem = &x->part.mem };
	size_t parents = 0, kept = 0;
	const char *why;
	enum err e;

	for (size_t i = 0; i < in->edges; i++) {
		if ((e = import_why_not(x, &in->edge[i], &taken, &why)))
			return e;
		if (why) {
			import_find(in->findings, in->bead.id, why,
				    "the dependency on '" STR_FMT "' (" STR_FMT
				    ") is kept as it is, without effect",
				    STR_ARG(in->edge[i].to), STR_ARG(in->edge[i].kind));
			intake_keep_edge(in, i);
			continue;
		}
		if (edge_is(in->edge[i].kind, EDGE_PARENT) && ++parents == 2)
			import_find(in->findings, in->bead.id, "two_parents",
				    "the issue has several parents; all are kept");
		if (edge_is(in->edge[i].kind, EDGE_PARENT) ||
		    edge_is(in->edge[i].kind, EDGE_BLOCKS))
			import_add_to_graph(x->r, &in->edge[i]);
		map_put(&taken, edge_key(&x->part.mem, &in->edge[i]));
		in->edge[kept++] = in->edge[i];
	}
	in->edges = kept;
	return ERR_OK;
}

/*
 * Keeps the known mark if the imported one is the same except for the count within a millisecond.
 */
static void import_keep_mark(struct mark *mark, struct mark known)
{
	if (mark->at.ms == known.at.ms && str_eq(mark->by, known.by))
		*mark = known;
}

/* Remembers the edges that are new, to be written once all of their beads are there. */
static enum err import_add_edges(struct import_batch *x, const struct intake *in, bool *any)
{
	struct import_run *r = x->r;
	struct arena *mem = &x->part.mem;

	for (size_t i = 0; i < in->edges; i++) {
		struct edge *new = &in->edge[i], both, old;
		struct str line = { 0 }, why;
		enum err e = r->store ? cache_find_edge(&x->part, &x->b.cache, new->from, new->to,
							new->kind, &line) :
					ERR_OK;

		if (e)
			return e;
		both = *new;
		if (line.p && edge_decode(mem, value_read(mem, line), &old, &why)) {
			import_keep_mark(&new->created, old.created);
			import_keep_mark(&new->life, old.life);
			both = edge_join(old, *new);
		}
		if (line.p && str_eq(edge_text(mem, &both), line))
			continue;
		*any = true;
		edge_own(&r->c->mem, &both);
		r->edges = arena_room(&r->c->mem, r->edges, r->edge_count, sizeof *r->edges);
		r->edges[r->edge_count++] = both;
	}
	return ERR_OK;
}

static void import_note_lineage(struct import_run *r, struct str id, struct mark created)
{
	struct mark *copy = arena_new(&r->c->mem, struct mark);

	*copy = (struct mark){ created.at, arena_copy(&r->c->mem, created.by) };
	*map_put(&r->lineages, id) = copy;
}

static enum err import_take_issue(struct import_batch *x, const struct import_line *line)
{
	struct import_report *out = x->r->out;
	struct intake in = { .mem = &x->part.mem,
			     .now_ms = x->r->c->now_ms,
			     .rename = &x->r->rename,
			     .findings = &out->findings };
	struct slot *slot;
	bool edges = false;
	int64_t *count;
	enum err e;

	out->findings.file = line->file;
	out->findings.line = line->line;
	intake_read(&in, line->text, value_read(in.mem, line->text));
	if ((e = import_check_edges(x, &in)))
		return e;
	intake_end(&in);
	if ((e = batch_look(x, in.bead.id, &slot)) || (e = import_add_edges(x, &in, &edges)))
		return e;
	count = import_join(x, slot, &in.bead);
	import_note_lineage(x->r, line->id, in.bead.created);
	if (edges && (count == &out->unchanged || count == &out->older))
		count = &out->updated;
	++*count;
	x->lines++;
	x->bytes += line->text.n;
	return ERR_OK;
}

enum err import_take_issues(struct import_run *r)
{
	size_t i = 0;
	enum err e = ERR_OK;

	while (!e && i < r->count) {
		struct import_batch x;

		if ((e = batch_begin(r, &x)))
			return e;
		for (; !e && i < r->count && !batch_full(&x); i++) {
			if (r->lines[i]->superseded)
				r->out->older++;
			else
				e = import_take_issue(&x, r->lines[i]);
		}
		e = batch_end(&x, e);
		if (!e && r->c->progress)
			r->c->progress(r->c, arena_fmt(&r->c->mem, "%zu of %zu", i, r->count));
	}
	return e;
}

/* Names the end of an edge by its lineage, so that the record has the same meaning in every
 * clone. */
static enum err import_put_end(struct import_batch *x, struct str id)
{
	void **at = map_find(&x->r->lineages, id);
	struct bead end = { .id = id };
	struct slot *slot;
	enum err e;

	if (!at && (e = batch_look(x, id, &slot)))
		return e;
	if (at)
		end.created = *(const struct mark *)*at;
	else if (slot && slot->bead)
		end.created = slot->bead->created;
	if (end.created.by.p)
		state_put_bead(x->change, &end);
	return ERR_OK;
}

enum err import_take_edges(struct import_run *r)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && !r->ask->dry_run && i < r->edge_count;) {
		struct import_batch x;

		if ((e = batch_begin(r, &x)))
			return e;
		for (; !e && i < r->edge_count && !batch_full(&x); i++, x.lines++) {
			if ((e = import_put_end(&x, r->edges[i].from)) ||
			    (e = import_put_end(&x, r->edges[i].to)))
				break;
			state_put_edge(x.change, &r->edges[i]);
			x.bytes += r->edges[i].more.n;
		}
		e = batch_end(&x, e);
	}
	return e;
}

/* --- deletions.jsonl --- */

void import_add_deletion(struct import_run *r, struct str text, struct str id)
{
	struct import_line *one = arena_new(&r->c->mem, struct import_line);

	*one = (struct import_line){ .file = r->out->findings.file,
				     .line = r->out->findings.line,
				     .id = arena_copy(&r->c->mem, id),
				     .text = text };
	r->deletions =
		arena_room(&r->c->mem, r->deletions, r->deletion_count, sizeof(*r->deletions));
	r->deletions[r->deletion_count++] = one;
}

/*
 * If the deleted bead is unknown, only its deletion is kept, which applies to every bead with that
 * id.
 */
static int64_t *import_delete_unknown(struct import_batch *x, const struct slot *slot,
				      const struct bead *dead)
{
	struct import_report *out = x->r->out;
	struct slot *put;

	if (slot && slot->every.by.p && mark_cmp(slot->every, dead->deleted) >= 0)
		return &out->unchanged;
	put = state_slot(x->change, dead->id);
	if (mark_cmp(put->every, dead->deleted) >= 0)
		return &out->unchanged;
	put->every = dead->deleted;
	put->reason = dead->reason;
	x->change->has_every = true;
	return &out->tombstones;
}

static int64_t *import_delete(struct import_batch *x, const struct slot *slot, struct bead *dead)
{
	struct import_report *out = x->r->out;
	const struct bead *now = slot ? slot->bead : NULL;

	if (!now)
		return import_delete_unknown(x, slot, dead);
	if (bead_live(now) && mark_cmp(dead->deleted, bead_top(now)) <= 0)
		return &out->older;
	if (!bead_live(now) && mark_cmp(dead->deleted, now->deleted) <= 0)
		return &out->unchanged;
	dead->created = now->created;
	state_put_bead(x->change, dead);
	return &out->tombstones;
}

static enum err import_take_deletion(struct import_batch *x, const struct import_line *line)
{
	struct intake in = { .mem = &x->part.mem,
			     .now_ms = x->r->c->now_ms,
			     .rename = &x->r->rename,
			     .findings = &x->r->out->findings };
	struct slot *slot;
	enum err e;

	x->r->out->findings.file = line->file;
	x->r->out->findings.line = line->line;
	intake_deletion(&in, value_read(in.mem, line->text));
	if ((e = batch_look(x, in.bead.id, &slot)))
		return e;
	++*import_delete(x, slot, &in.bead);
	x->lines++;
	return ERR_OK;
}

enum err import_take_deletions(struct import_run *r)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < r->deletion_count;) {
		struct import_batch x;

		if ((e = batch_begin(r, &x)))
			return e;
		for (; !e && i < r->deletion_count && !batch_full(&x); i++)
			e = import_take_deletion(&x, r->deletions[i]);
		e = batch_end(&x, e);
	}
	return e;
}
