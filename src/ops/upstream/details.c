#include "ops/upstream/details.h"

#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "beads/model/edge.h"
#include "beads/public.h"
#include "store/db/bead_query.h"

struct str details_kind_word(struct str kind)
{
	static const char *const words[] = {
		[EDGE_BLOCKS] = "blocks",
		[EDGE_PARENT] = "parent-child",
		[EDGE_RELATED] = "relates-to",
		[EDGE_DISCOVERED_FROM] = "discovered-from",
	};
	int value = names_exact(&edge_kinds, kind);

	return value < 0 ? kind : str_of(words[value]);
}

static void details_put_edge(struct json *j, const struct edge *e)
{
	json_object(j);
	json_put_str(j, "issue_id", e->from);
	json_put_str(j, "depends_on_id", e->to);
	json_put_str(j, "type", details_kind_word(e->kind));
	json_put_str(j, "created_at", moment_format(j->out.mem, e->created.at.ms));
	json_put_str(j, "created_by", e->created.by);
	json_end(j);
}

static enum err details_edges_of(struct call *c, struct beads *b, struct str id, struct map *out)
{
	struct detail_edges *found = arena_new(&c->mem, struct detail_edges);
	struct json j = json_new(&c->mem);
	struct edge_row *row;
	struct edge edge;
	struct str why;
	enum err e = cache_edges_of(c, &b->cache, id, &row);

	json_array(&j);
	for (; !e && row; row = row->next)
		if (row->active && str_eq(row->from, id) &&
		    edge_decode(&c->mem, value_read(&c->mem, row->line), &edge, &why))
			details_put_edge(&j, &edge);
	json_end(&j);
	found->text = json_text(&j);
	*map_put(out, id) = found;
	return e;
}

enum err details_edges(struct call *c, const struct str *ids, size_t count, struct map *out)
{
	struct beads b;
	enum err e = beads_open(c, BEADS_READ, &b);

	if (e)
		return e;
	for (size_t i = 0; !e && i < count; i++)
		e = details_edges_of(c, &b, ids[i], out);
	beads_close(&b);
	return e;
}

enum err details_beads(struct call *c, const struct str *ids, size_t count, struct map *out)
{
	struct shape whole = { 0 };
	struct bead_row *row;
	struct beads b;
	enum err e = beads_open(c, BEADS_READ, &b);

	if (e)
		return e;
	for (size_t i = 0; !e && i < count; i++) {
		struct json j = json_new(&c->mem);

		if ((e = cache_find_bead(c, &b.cache, ids[i], &row)) || !row)
			continue;
		public_encode(&j, row, &whole);
		*map_put(out, ids[i]) = (void *)value_read(&c->mem, json_text(&j));
	}
	beads_close(&b);
	return e;
}

struct details_sum {
	int64_t now, closed, deferred;
	double hours;
};

static bool details_visit(void *arg, const struct bead_row *row)
{
	struct details_sum *sum = arg;

	if (row->closed) {
		sum->closed++;
		sum->hours += (double)(row->closed - row->created) / 3600000;
	} else if (row->deferred > sum->now) {
		sum->deferred++;
	}
	return true;
}

enum err details_stats(struct call *c, struct detail_stats *out)
{
	struct details_sum sum = { .now = c->now_ms };
	struct bead_filter all = { .lean = true, .visit = details_visit, .arg = &sum };
	struct bead_row *rows;
	struct beads b;
	enum err e = beads_open(c, BEADS_READ, &b);

	*out = (struct detail_stats){ 0 };
	if (e)
		return e;
	e = query_each(c, &b.cache, &all, &rows);
	beads_close(&b);
	out->lead_hours = sum.closed ? sum.hours / (double)sum.closed : 0;
	out->deferred = sum.deferred;
	return e;
}
