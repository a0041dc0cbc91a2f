/*
 * bd graph: the nodes and edges around one bead, or of the whole store. Views draw the reply as
 * text, Mermaid or Graphviz.
 */
#include "base/map.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct str id;
	int format, kind;
	int64_t depth;
	bool all;
};

static const struct names formats = NAMES_OF("text", "mermaid", "dot");

static const struct field fields[] = {
	{ "id", &kind_bead, offsetof(struct body, id), FIELD_PLACE,
	  .help = "bead whose neighbourhood to draw" },
	{ "format", &kind_word, offsetof(struct body, format), FIELD_CLI, .role = ROLE_FORMAT,
	  .words = &formats, .preset = "text", .help = "output format for people" },
	{ "depth", &kind_int, offsetof(struct body, depth), .letter = 'd', .min = 0, .preset = "1",
	  .help = "maximum number of steps from that bead; 0 shows all beads connected to it" },
	{ "kind", &kind_word, offsetof(struct body, kind), .words = &edge_kinds,
	  .help = "show only dependencies of this kind" },
	{ "all", &kind_bool, offsetof(struct body, all), .help = "show closed beads too" },
	{ 0 },
};

static const struct prop node_props[] = { { "id title status priority:int type", NULL }, { 0 } };

static const struct prop edge_props[] = { { "from to kind", NULL }, { 0 } };

static const struct prop props[] = {
	{ "format", NULL },
	{ "nodes[]", node_props },
	{ "edges[]", edge_props },
	{ 0 },
};

enum { IDS_MOST = 1000 }; /* more beads are not looked up one by one */

/* The beads to draw, in the order in which they were reached. */
struct around {
	struct call *c;
	struct cache *cache;
	struct map chosen;
	struct str *id;
	int64_t *steps;
	size_t count;
};

static void around_add(struct around *a, struct str id, int64_t steps)
{
	size_t before = a->chosen.count;

	map_put(&a->chosen, id);
	if (a->chosen.count == before)
		return;
	a->id = arena_room(&a->c->mem, a->id, a->count, sizeof *a->id);
	a->steps = arena_room(&a->c->mem, a->steps, a->count, sizeof *a->steps);
	a->id[a->count] = id;
	a->steps[a->count++] = steps;
}

/* Finds the beads that are at most `depth` steps away, breadth first. 0: all that are connected. */
static enum err around_find(struct around *a, struct str id, int64_t depth)
{
	struct edge_end *end;
	enum err e = ERR_OK;

	around_add(a, id, 0);
	for (size_t i = 0; !e && i < a->count && (!depth || a->steps[i] < depth); i++)
		for (int side = SIDE_OUT; !e && side <= SIDE_IN; side++) {
			e = query_ends(a->c, a->cache, a->id[i], (enum side)side, &end);
			for (; !e && end; end = end->next)
				around_add(a, end->id, a->steps[i] + 1);
		}
	return e;
}

/* The edges from these beads, sorted as query_edges() sorts them. */
static enum err around_edges(struct around *a, struct edge_row **out)
{
	struct edge_end *end;
	enum err e = ERR_OK;

	*out = NULL;
	str_sort(a->id, a->count);
	for (size_t i = 0; !e && i < a->count; i++) {
		e = query_ends(a->c, a->cache, a->id[i], SIDE_OUT, &end);
		for (; !e && end; end = end->next) {
			*out = arena_new(&a->c->mem, struct edge_row);
			**out = (struct edge_row){ .from = a->id[i],
						   .to = end->id,
						   .kind = end->kind };
			out = &(*out)->next;
		}
	}
	return e;
}

/*
 * Leaves out the edges of other kinds. If no bead was named, the beads of the remaining edges are
 * shown.
 */
static struct edge_row *around_keep(struct around *a, struct edge_row *edge, const struct body *in)
{
	struct edge_row *first = NULL, **tail = &first;

	for (; edge; edge = edge->next) {
		if (in->kind >= 0 && !str_is(edge->kind, names_word(&edge_kinds, in->kind)))
			continue;
		*tail = edge;
		tail = &edge->next;
		if (in->id.p)
			continue;
		around_add(a, edge->from, 0);
		around_add(a, edge->to, 0);
	}
	*tail = NULL;
	return first;
}

static void put_nodes(struct json *j, const struct bead_row *rows, const struct map *in,
		      struct map *shown)
{
	static const struct shape brief = { .brief = true };

	json_put_array(j, "nodes");
	for (; rows; rows = rows->next) {
		if (!map_find(in, rows->id))
			continue;
		map_put(shown, rows->id);
		public_encode(j, rows, &brief);
	}
	json_end(j);
}

static void bead_graph_put_edges(struct json *j, const struct edge_row *e, const struct map *shown)
{
	json_put_array(j, "edges");
	for (; e; e = e->next) {
		if (!map_find(shown, e->from) || !map_find(shown, e->to))
			continue;
		json_object(j);
		json_put_str(j, "from", e->from);
		json_put_str(j, "to", e->to);
		json_put_str(j, "kind", e->kind);
		json_end(j);
	}
	json_end(j);
}

static enum err bead_graph_choose(struct call *c, struct beads *b, const struct body *in,
				  struct around *around, struct edge_row **edges)
{
	struct bead_row *row;
	enum err e;

	if (!in->id.p)
		return query_edges(c, &b->cache, edges);
	if ((e = find_bead(c, b, in->id, &row)) || (e = around_find(around, row->id, in->depth)))
		return e;
	return around_edges(around, edges);
}

static enum err bead_graph_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	const struct body *in = body;
	struct bead_filter filter = {
		.statuses = in->all ? 0 : 1u << BEAD_OPEN | 1u << BEAD_IN_PROGRESS
	};
	struct around around = { .c = c, .cache = &s->beads->cache, .chosen.mem = &c->mem };
	struct map shown = { .mem = &c->mem };
	struct edge_row *edges;
	struct bead_row *rows = NULL;
	enum err e = bead_graph_choose(c, s->beads, in, &around, &edges);

	if (!e)
		edges = around_keep(&around, edges, in);
	if (around.count <= IDS_MOST) {
		filter.ids = around.id;
		filter.id_count = around.count;
	}
	if (!e && around.count)
		e = query_each(c, &s->beads->cache, &filter, &rows);
	if (e)
		return e;
	json_object(reply);
	json_put_str(reply, "format", str_of(names_word(&formats, in->format)));
	put_nodes(reply, rows, &around.chosen, &shown);
	bead_graph_put_edges(reply, edges, &shown);
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_graph = {
	.name = "bead graph",
	.help = "Draw the dependency graph",
	.more = "With a bead, only the beads that it is directly linked to are shown; --depth "
		"shows more.",
	.examples = "bd graph\n"
		    "bd graph bd-a1b2\n"
		    "bd graph bd-a1b2 --depth 0 --format mermaid\n"
		    "bd graph --all --format dot | dot -Tsvg > beads.svg",
	.flags = BEAD_READ,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "graph", props },
	.run = bead_graph_run,
};
