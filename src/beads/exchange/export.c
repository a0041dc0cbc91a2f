#include "beads/exchange/export.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "beads/exchange/export_line.h"
#include "beads/exchange/export_table.h"
#include "beads/model/line.h"
#include "beads/model/state.h"
#include "store/db/bead_query.h"

static const char *const format_words[] = {
	[EXPORT_BD] = "bd",
	[EXPORT_MD] = "md",
	[EXPORT_CSV] = "csv",
};
static const struct synonym format_synonyms[] = { { "jsonl", EXPORT_BD },
						  { "markdown", EXPORT_MD },
						  { NULL, 0 } };
const struct names export_formats = { format_words, EXPORT_FORMATS, format_synonyms };

struct export_run {
	struct call *c;
	struct beads *b;
	enum export_format format;
	const struct tombstone_row *const
		*gone; /* deleted beads that are not written yet, sorted by id */
	size_t gone_count;
	struct buf *out;
	struct export_counts counts;
	enum err failed;
};

/* The edges that lead from a bead, sorted by the id that they lead to, and by kind. */
static enum err export_edges(struct call *c, struct beads *b, struct str id, struct edge **out,
			     size_t *count)
{
	struct edge_row *row;
	struct str why;
	enum err e = cache_edges_of(c, &b->cache, id, &row);

	*out = NULL;
	*count = 0;
	for (; !e && row; row = row->next) {
		struct edge edge;

		if (!row->active || !str_eq(row->from, id) ||
		    !edge_decode(&c->mem, value_read(&c->mem, row->line), &edge, &why))
			continue;
		*out = arena_room(&c->mem, *out, *count, sizeof **out);
		(*out)[(*count)++] = edge;
	}
	return e;
}

static int export_by_key(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	int order = str_cmp(x->to, y->to);

	return order ? order : str_cmp(x->kind, y->kind);
}

static enum err export_bead(struct export_run *r, struct call *part, const struct bead *bead,
			    const struct bead_row *row)
{
	struct export_issue one = { .bead = bead, .row = row };
	enum err e = export_edges(part, r->b, bead->id, &one.edge, &one.edges);

	if (e)
		return e;
	if (one.edges)
		qsort(one.edge, one.edges, sizeof *one.edge, export_by_key);
	buf_put(r->out, r->format == EXPORT_BD ? export_line(&part->mem, &one) :
			r->format == EXPORT_MD ? export_markdown(&part->mem, &one) :
						 export_csv(&part->mem, &one));
	buf_char(r->out, '\n');
	if (row)
		r->counts.issues++;
	else
		r->counts.tombstones++;
	return ERR_OK;
}

/* A deleted bead, or only the deletion of an id. Ids that were remapped are no issues. */
static enum err export_deleted(struct export_run *r, const struct tombstone_row *one)
{
	struct call part = call_part(r->c);
	struct state *s = state_new(&part.mem);
	struct bead gone = { .id = one->id };
	struct str why = { 0 };
	struct slot *slot;
	enum err e = ERR_OK;

	if (!state_read_tombstone(s, value_read(&part.mem, one->line), &why))
		e = call_fail(&part, ERR_DAMAGED,
			      "the cache has a wrong entry for '" STR_FMT "': " STR_FMT,
			      STR_ARG(one->id), STR_ARG(why));
	slot = e ? NULL : state_find(s, one->id);
	if (slot && slot->bead && !bead_live(slot->bead)) {
		e = export_bead(r, &part, slot->bead, NULL);
	} else if (slot && slot->every.by.p) {
		gone.deleted = slot->every;
		gone.reason = slot->reason;
		e = export_bead(r, &part, &gone, NULL);
	}
	return call_part_end(r->c, &part, e);
}

/* Writes the deleted beads whose ids are before `id`; absent: all that are left. */
static enum err export_gone_before(struct export_run *r, struct str id)
{
	enum err e = ERR_OK;

	while (!e && r->gone_count && (!id.p || str_cmp((*r->gone)->id, id) < 0)) {
		e = export_deleted(r, *r->gone++);
		r->gone_count--;
	}
	return e;
}

static bool export_see(void *arg, const struct bead_row *row)
{
	struct export_run *r = arg;
	struct call part = call_part(r->c);
	struct str why = { 0 };
	struct bead bead;

	r->failed = export_gone_before(r, row->id);
	if (!r->failed && !line_decode(&part.mem, value_read(&part.mem, row->line), &bead, &why))
		r->failed = call_fail(&part, ERR_DAMAGED,
				      "the cache has a wrong entry for '" STR_FMT "'",
				      STR_ARG(row->id));
	if (!r->failed)
		r->failed = export_bead(r, &part, &bead, row);
	r->failed = call_part_end(r->c, &part, r->failed);
	return !r->failed;
}

static int tombstone_by_id(const void *a, const void *b)
{
	return str_cmp((*(const struct tombstone_row *const *)a)->id,
		       (*(const struct tombstone_row *const *)b)->id);
}

static enum err export_find_gone(struct export_run *r)
{
	struct tombstone_row *one = NULL;
	const struct tombstone_row **list = NULL;
	enum err e = query_tombstones(r->c, &r->b->cache, 0, &one);

	for (; !e && one; one = one->next) {
		list = arena_room(&r->c->mem, list, r->gone_count, sizeof(struct tombstone_row *));
		list[r->gone_count++] = one;
	}
	if (r->gone_count)
		qsort(list, r->gone_count, sizeof(struct tombstone_row *), tombstone_by_id);
	r->gone = list;
	return e;
}

enum err export_all(struct call *c, struct beads *b, enum export_format format, struct buf *out,
		    struct export_counts *counts)
{
	struct export_run r = { .c = c, .b = b, .format = format, .out = out };
	struct bead_filter all = { .sort = SORT_ID, .visit = export_see, .arg = &r };
	struct bead_row *none;
	enum err e = format == EXPORT_BD ? export_find_gone(&r) : ERR_OK;

	if (format == EXPORT_CSV)
		buf_put(out, export_csv_head());
	if (e || (e = query_each(c, &b->cache, &all, &none)) || (e = r.failed))
		return e;
	e = export_gone_before(&r, STR_NONE);
	*counts = r.counts;
	return e;
}
