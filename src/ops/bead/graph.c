#include "beads/graph.h"
#include "base/map.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct str id;
	int format;
	int64_t depth;
	bool all;
};

static const char *const format_words[] = { "text", "mermaid", "dot" };
static const struct names formats = { format_words, 3, NULL };

static const struct field fields[] = {
	{ "id", &kind_bead, offsetof(struct body, id), FIELD_PLACE,
	  .help = "bead whose neighbourhood to draw" },
	{ "format", &kind_word, offsetof(struct body, format), FIELD_CLI, .role = ROLE_FORMAT,
	  .words = &formats, .preset = "text", .help = "output format for people" },
	{ "depth", &kind_int, offsetof(struct body, depth), .letter = 'd', .min = 0, .preset = "1",
	  .help = "maximum number of steps from that bead; 0 shows all beads connected to it" },
	{ "all", &kind_bool, offsetof(struct body, all), .help = "show closed beads too" },
	{ 0 },
};

static const char *const examples[] = {
	"bd graph",
	"bd graph bd-a1b2",
	"bd graph bd-a1b2 --depth 0 --format mermaid",
	"bd graph --all --format dot | dot -Tsvg > beads.svg",
	NULL,
};

static const struct prop node_props[] = {
	{ "id", PROP_STR, 0, NULL },     { "title", PROP_STR, 0, NULL },
	{ "status", PROP_STR, 0, NULL }, { "priority", PROP_INT, 0, NULL },
	{ "type", PROP_STR, 0, NULL },   { 0 },
};

static const struct prop edge_props[] = {
	{ "from", PROP_STR, 0, NULL },
	{ "to", PROP_STR, 0, NULL },
	{ "kind", PROP_STR, 0, NULL },
	{ 0 },
};

static const struct prop props[] = {
	{ "format", PROP_STR, 0, NULL },
	{ "nodes", PROP_OBJECT, PROP_LIST, node_props },
	{ "edges", PROP_OBJECT, PROP_LIST, edge_props },
	{ 0 },
};

/* A bead, its neighbours, and how far it is from the bead that was asked for. */
struct around {
	struct around **next;
	size_t count;
	int64_t steps;
	bool reached;
	struct str id;
};

static struct around *around_of(struct map *all, struct str id)
{
	void **at = map_put(all, id);

	if (!*at) {
		*at = arena_new(all->mem, struct around);
		((struct around *)*at)->id = id;
	}
	return *at;
}

static void around_link(struct arena *mem, struct around *a, struct around *b)
{
	a->next = arena_room(mem, a->next, a->count, sizeof(struct around *));
	a->next[a->count++] = b;
}

/* Marks the beads that are at most `depth` steps away, breadth first. 0: all that are connected. */
static void choose_around(struct map *chosen, struct str id, int64_t depth,
			  const struct edge_row *edges)
{
	struct map all = { .mem = chosen->mem };
	struct around **queue, *at;
	size_t first = 0, last = 0;

	for (const struct edge_row *e = edges; e; e = e->next) {
		struct around *from = around_of(&all, e->from), *to = around_of(&all, e->to);

		around_link(chosen->mem, from, to);
		around_link(chosen->mem, to, from);
	}
	queue = arena_array(chosen->mem, all.count + 1, sizeof(struct around *));
	at = queue[last++] = around_of(&all, id);
	for (at->reached = true; first < last; first++) {
		at = queue[first];
		map_put(chosen, at->id);
		for (size_t i = 0; i < at->count && (!depth || at->steps < depth); i++) {
			if (at->next[i]->reached)
				continue;
			at->next[i]->reached = true;
			at->next[i]->steps = at->steps + 1;
			queue[last++] = at->next[i];
		}
	}
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

/* Without a bead, all beads that have edges are shown. */
static enum err bead_graph_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	const struct body *in = body;
	struct bead_filter filter = {
		.statuses = in->all ? 0 : 1u << BEAD_OPEN | 1u << BEAD_IN_PROGRESS
	};
	struct map chosen = { .mem = &c->mem }, shown = { .mem = &c->mem };
	struct edge_row *edges;
	struct bead_row *row, *rows;
	enum err e = query_edges(c, &s->beads->cache, &edges);

	if (e || (e = query_each(c, &s->beads->cache, &filter, &rows)))
		return e;
	if (in->id.p) {
		if ((e = find_bead(c, s->beads, in->id, &row)))
			return e;
		choose_around(&chosen, row->id, in->depth, edges);
	} else {
		for (const struct edge_row *edge = edges; edge; edge = edge->next) {
			map_put(&chosen, edge->from);
			map_put(&chosen, edge->to);
		}
	}
	json_object(reply);
	json_put_str(reply, "format", str_of(names_word(&formats, in->format)));
	put_nodes(reply, rows, &chosen, &shown);
	bead_graph_put_edges(reply, edges, &shown);
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_graph = {
	.name = "bead graph",
	.help = "Draw the dependency graph",
	.more = "With a bead, only the beads that it is directly linked to are shown; --depth "
		"shows more.",
	.examples = examples,
	.flags = BEAD_READ,
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &(const struct prop){ "graph", PROP_OBJECT, 0, props },
	.run = bead_graph_run,
};
