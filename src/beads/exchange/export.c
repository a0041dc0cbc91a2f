#include "beads/exchange/export.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/text/json.h"
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

/* One line of the result. */
struct exported {
	struct str id, text;
};

struct export_run {
	struct call *c;
	struct beads *b;
	enum export_format format;
	struct exported *line;
	size_t count;
	enum err failed;
};

static void export_add(struct export_run *r, struct str id, struct str text)
{
	r->line = arena_room(&r->c->mem, r->line, r->count, sizeof *r->line);
	r->line[r->count++] =
		(struct exported){ arena_copy(&r->c->mem, id), arena_copy(&r->c->mem, text) };
}

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
	export_add(r, bead->id,
		   r->format == EXPORT_BD ? export_line(&part->mem, &one) :
		   r->format == EXPORT_MD ? export_markdown(&part->mem, &one) :
					    export_csv(&part->mem, &one));
	return ERR_OK;
}

static bool export_see(void *arg, const struct bead_row *row)
{
	struct export_run *r = arg;
	struct call part = call_part(r->c);
	struct str why = { 0 };
	struct bead bead;

	if (!line_decode(&part.mem, value_read(&part.mem, row->line), &bead, &why))
		r->failed = call_fail(&part, ERR_DAMAGED,
				      "the cache has a wrong entry for '" STR_FMT "'",
				      STR_ARG(row->id));
	if (!r->failed)
		r->failed = export_bead(r, &part, &bead, row);
	r->failed = call_part_end(r->c, &part, r->failed);
	return !r->failed;
}

/* A deleted bead, or only the deletion of an id. Ids that were remapped are no issues. */
static enum err export_buried(struct export_run *r, const struct buried *one)
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

static int exported_by_id(const void *a, const void *b)
{
	return str_cmp(((const struct exported *)a)->id, ((const struct exported *)b)->id);
}

static struct str export_joined(struct export_run *r)
{
	struct buf out = { .mem = &r->c->mem };

	if (r->count)
		qsort(r->line, r->count, sizeof *r->line, exported_by_id);
	if (r->format == EXPORT_CSV)
		buf_put(&out, export_csv_head());
	for (size_t i = 0; i < r->count; i++) {
		buf_put(&out, r->line[i].text);
		buf_char(&out, '\n');
	}
	return buf_str(&out);
}

enum err export_all(struct call *c, struct beads *b, enum export_format format,
		    struct export_result *out)
{
	struct export_run r = { .c = c, .b = b, .format = format };
	struct bead_filter all = { .sort = SORT_ID, .visit = export_see, .arg = &r };
	struct bead_row *none;
	struct buried *gone = NULL;
	enum err e = query_each(c, &b->cache, &all, &none);

	if (!e)
		e = r.failed;
	out->issues = (int64_t)r.count;
	if (!e && format == EXPORT_BD)
		e = query_buried(c, &b->cache, 0, &gone);
	for (; !e && gone; gone = gone->next)
		e = export_buried(&r, gone);
	out->tombstones = (int64_t)r.count - out->issues;
	out->text = e ? STR_NONE : export_joined(&r);
	return e;
}
