/*
 * The acts of beads. The end of the journal has every write; where it does not reach back far
 * enough, the beads themselves have the last write to each of their registers.
 */
#include "base/buf.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "beads/find.h"
#include "beads/model/line.h"
#include "beads/model/record.h"
#include "beads/model/state.h"
#include "live/activity_parts.h"
#include "live/changes.h"
#include "live/open.h"
#include "store/db/bead_query.h"

struct bead_acts {
	struct activity *a;
	struct beads *b;
	struct changes changes;
	int64_t oldest_ms; /* the time of the oldest record that was read; INT64_MAX: none */
	bool beyond;       /* the journal lacks changes that the beads have */
};

static struct str bead_act_key(struct arena *mem, const char *what, struct str bead, struct mark m)
{
	return arena_fmt(mem, "%s " STR_FMT " %lld.%lld " STR_FMT, what, STR_ARG(bead),
			 (long long)m.at.ms, (long long)m.at.n, STR_ARG(m.by));
}

static void bead_act_add(struct activity *a, enum act_what what, struct str bead, struct mark m,
			 struct str text)
{
	struct arena *mem = &a->c->mem;

	activity_add(a, &(struct act){ .at = m.at,
				       .key = bead_act_key(mem, names_word(&act_words, (int)what),
							   bead, m),
				       .kind = ACT_BEAD,
				       .what = what,
				       .by = m.by,
				       .bead = bead,
				       .text = text,
				       .category = -1 });
}

/* --- changes --- */

/* The registers that a write has set, and why a bead was closed. */
static struct str bead_act_text(struct arena *mem, const struct change *c, enum act_what what)
{
	struct buf b = { .mem = mem };

	if (what == ACT_CLOSED) {
		const struct value *why = value_read(mem, c->member[MEMBER_CLOSED_REASON]);

		return why ? why->text : STR_NONE;
	}
	for (int r = 0; what == ACT_CHANGED && r < REGS; r++)
		if (change_regs(c) & 1u << r)
			buf_fmt(&b, "%s%s", b.n ? ", " : "", reg_word((enum reg)r));
	return b.n ? buf_str(&b) : STR_NONE;
}

/* A claim sets the status and the assignee; once it was renewed, only the status has its mark. */
static enum act_what bead_act_what(const struct change *c)
{
	int known = names_exact(&act_words, change_word(c));
	struct str status = c->member[MEMBER_STATUS];

	if (known >= 0)
		return (enum act_what)known;
	return str_is(status, "\"open\"")        ? ACT_REOPENED :
	       str_is(status, "\"in_progress\"") ? ACT_CLAIMED :
						   ACT_CHANGED;
}

static void bead_acts_add_change(struct activity *a, const struct change *c)
{
	enum act_what what = bead_act_what(c);

	if (!change_regs(c)) /* the end of an edge, or a renewed lease */
		return;
	bead_act_add(a, what, c->bead, c->mark, bead_act_text(&a->c->mem, c, what));
}

/* Adds a claim that was renewed later: its register has only the mark of the renewal. */
static void bead_acts_add_claim(struct activity *a, const struct bead *bead)
{
	struct arena *mem = &a->c->mem;
	struct stamp since = bead_stamp(bead, MEMBER_ASSIGNEE_AT);
	struct mark mark = bead->mark[REG_ASSIGNEE];
	struct str holder;

	if (!bead->member[MEMBER_ASSIGNEE].p || !mark.by.p || stamp_cmp(since, mark.at) >= 0)
		return;
	holder = arena_copy(mem, bead_text(mem, bead, MEMBER_ASSIGNEE));
	bead_act_add(a, ACT_CLAIMED, arena_copy(mem, bead->id), (struct mark){ since, holder },
		     STR_NONE);
}

static void bead_acts_note(struct bead_acts *p, const struct bead *bead)
{
	struct arena *mem = &p->a->c->mem;
	struct str id = arena_copy(mem, bead->id);

	if (!activity_about(p->a, id))
		return;
	changes_note(&p->changes, bead);
	bead_acts_add_claim(p->a, bead);
	for (size_t i = 0; i < bead->notes; i++) {
		const struct note *n = &bead->note[i];

		bead_act_add(p->a, ACT_COMMENTED, id,
			     (struct mark){ n->at, arena_copy(mem, n->author) },
			     arena_copy(mem, n->content));
	}
	if (bead->deleted.by.p)
		bead_act_add(p->a, ACT_DELETED, id,
			     (struct mark){ bead->deleted.at, arena_copy(mem, bead->deleted.by) },
			     STR_NONE);
}

/* --- the journal --- */

static bool bead_acts_creates(const struct state *change, const struct edge *e)
{
	const struct slot *slot = state_find(change, e->from);

	return slot && slot->bead && !mark_cmp(slot->bead->created, e->life);
}

/* Dependencies that were added together with the bead are part of its creation. */
static void bead_acts_note_edge(struct bead_acts *p, const struct state *change,
				const struct edge *e)
{
	struct arena *mem = &p->a->c->mem;
	struct str from = arena_copy(mem, e->from);
	const char *how = edge_is(e->kind, EDGE_BLOCKS) ? "blocked by" :
			  edge_is(e->kind, EDGE_PARENT) ? "child of" :
							  arena_cstr(mem, e->kind);
	struct mark mark = { e->life.at, arena_copy(mem, e->life.by) };

	if (!activity_about(p->a, from) || bead_acts_creates(change, e))
		return;
	bead_act_add(p->a, e->deleted ? ACT_UNLINKED : ACT_LINKED, from, mark,
		     arena_fmt(mem, "%s " STR_FMT, how, STR_ARG(e->to)));
}

/*
 * A record that is being written is skipped until the cache, which has the titles, contains it too.
 */
static bool bead_acts_beyond_cache(const struct bead_acts *p, const struct journal_record *r)
{
	const struct journal_place *known = &p->b->about.place;

	return known->segment && (r->segment > known->segment ||
				  (r->segment == known->segment && r->offset >= known->offset));
}

static enum err bead_acts_see_record(struct call *c, const struct journal_record *r, void *arg)
{
	struct bead_acts *p = arg;
	struct arena scratch = { 0 };
	struct record record = { 0 };
	struct str why;

	if (bead_acts_beyond_cache(p, r) || !activity_may_have(p->a, r->json))
		return ERR_OK;
	record.change = state_new(&scratch);
	if (record_decode(r->json, &record, &why)) {
		const struct state *s = record.change;

		for (size_t i = 0; i < s->slots.count; i++) {
			const struct slot *slot = s->slots.entry[i].value;

			if (slot->bead)
				bead_acts_note(p, slot->bead);
		}
		for (size_t i = 0; i < s->edges.count; i++)
			bead_acts_note_edge(p, s, s->edges.entry[i].value);
		p->beyond = p->beyond || record.whole;
		if (!record.base.p && (s->slots.count || s->edges.count))
			p->oldest_ms = state_clock(s, INT64_MAX).ms;
	}
	(void)c;
	arena_release(&scratch);
	return ERR_OK;
}

/* --- the beads --- */

static void bead_acts_note_line(struct bead_acts *p, const struct value *line)
{
	struct bead bead = { 0 };
	struct str why;

	if (line_decode(&p->a->c->mem, line, &bead, &why))
		bead_acts_note(p, &bead);
}

static bool bead_acts_see_row(void *arg, const struct bead_row *row)
{
	struct bead_acts *p = arg;
	struct arena *mem = &p->a->c->mem;

	if (activity_may_have(p->a, row->line))
		bead_acts_note_line(p, value_read(mem, arena_copy(mem, row->line)));
	return true;
}

/* Reads all beads, or the requested one, whose lines contain the requested text. */
static enum err bead_acts_search_rows(struct bead_acts *p)
{
	struct bead_filter all = { .sort = SORT_ID,
				   .ids = p->a->bead.p ? &p->a->bead : NULL,
				   .id_count = p->a->bead.p ? 1 : 0,
				   .visit = bead_acts_see_row,
				   .arg = p };
	struct bead_row *none;

	return query_each(p->a->c, &p->b->cache, &all, &none);
}

/* The beads that changed last. Rows are sorted without their lines, which is far faster. */
static enum err bead_acts_read_rows(struct bead_acts *p)
{
	struct call *c = p->a->c;
	struct bead_filter newest = { .sort = SORT_UPDATED,
				      .limit = (int64_t)p->a->most,
				      .lean = true };
	struct bead_row *row, *whole;
	size_t count = 0;
	enum err e;

	if (p->a->part.p || p->a->bead.p)
		return bead_acts_search_rows(p);
	e = query_each(c, &p->b->cache, &newest, &row);
	for (; !e && row; row = row->next) {
		if ((e = cache_find_bead(c, &p->b->cache, row->id, &whole)))
			break;
		if (whole)
			bead_acts_note_line(p, value_read(&c->mem, whole->line));
		if (++count == p->a->most)
			activity_has_more(p->a, row->updated);
	}
	return e;
}

/* A deleted bead is kept whole in its tombstone. */
static enum err bead_acts_read_deleted(struct bead_acts *p)
{
	struct call *c = p->a->c;
	struct tombstone_row *gone;
	size_t count = 0;
	enum err e = query_tombstones(c, &p->b->cache, (int64_t)p->a->most, &gone);

	for (; !e && gone; gone = gone->next) {
		const struct value *v = value_read(&c->mem, gone->line);
		struct mark mark = { .by = value_str(v, "deleted_by") };

		if (!mark.by.p || !value_find(v, "bead") ||
		    !stamp_decode_deletion(value_find(v, "deleted_at"), &mark.at))
			continue;
		bead_acts_note_line(p, value_find(v, "bead"));
		bead_act_add(p->a, ACT_DELETED, gone->id, mark, STR_NONE);
		if (++count == p->a->most)
			activity_has_more(p->a, mark.at.ms);
	}
	return e;
}

/* The title of a bead, deleted or not; absent: the bead is not known. */
static enum err bead_acts_title(struct bead_acts *p, struct str bead, struct str *out)
{
	struct call *c = p->a->c;
	struct bead_row *row;
	struct str line = STR_NONE;
	enum err e = cache_find_bead(c, &p->b->cache, bead, &row);

	*out = STR_NONE;
	if (e || (!row && (e = cache_find_tombstone(c, &p->b->cache, bead, &line))))
		return e;
	*out = row ? row->title : value_str(value_find(value_read(&c->mem, line), "bead"), "title");
	return ERR_OK;
}

static enum err bead_acts_put_titles(struct bead_acts *p)
{
	struct activity *a = p->a;
	struct map known = { .mem = &a->c->mem };
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < a->acts.count; i++) {
		struct act *act = a->acts.entry[i].value;
		void **at = map_put(&known, act->bead);

		if (!*at) {
			*at = arena_new(&a->c->mem, struct str);
			e = bead_acts_title(p, act->bead, *at);
		}
		act->title = *(struct str *)*at;
	}
	return e;
}

static enum err bead_acts_read(struct bead_acts *p)
{
	struct activity *a = p->a;
	enum { BYTES = 4096 }; /* for each record */
	struct journal_end most = { a->most, (int64_t)a->most * BYTES };
	bool all;
	enum err e = journal_each_back(a->c, p->b->home, most, bead_acts_see_record, p, &all);

	if (e) { /* it was cut meanwhile, or is damaged */
		call_forgive(a->c);
		all = true;
	}
	if (!all)
		activity_has_more(a, p->oldest_ms);
	if ((all || p->beyond) && !a->ask->quick &&
	    ((e = bead_acts_read_rows(p)) || (e = bead_acts_read_deleted(p))))
		return e;
	for (size_t i = 0; i < p->changes.by_mark.count; i++)
		bead_acts_add_change(a, p->changes.by_mark.entry[i].value);
	return a->ask->quick ? ERR_OK : bead_acts_put_titles(p);
}

enum err activity_read_beads(struct activity *a)
{
	struct beads b;
	struct bead_acts p = {
		.a = a, .b = &b, .changes.by_mark.mem = &a->c->mem, .oldest_ms = INT64_MAX
	};
	struct bead_row *row;
	bool there;
	enum err e = live_open_beads(a->c, &b, &there);

	a->bead = a->ask->bead;
	if (e || !there)
		return e;
	if (a->ask->bead.p && !(e = find_bead(a->c, &b, a->ask->bead, &row))) {
		a->bead = row->id;
		a->brief = find_brief(b.about.prefix, row->id);
	}
	if (!e)
		e = bead_acts_read(&p);
	beads_close(&b);
	return e;
}
