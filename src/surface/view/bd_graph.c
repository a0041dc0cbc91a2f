
#include "base/map.h"
#include "base/text/utf8.h"
#include "beads/graph.h"
#include "surface/view/bd_view.h"

/* Dependencies: drawn as trees and graphs for a terminal, or written in the languages of Mermaid
 * and Graphviz. */

struct str bd_view_relation(struct str kind, bool up)
{
	static const char *const down_words[] = { [EDGE_BLOCKS] = "blocked by",
						  [EDGE_PARENT] = "child of",
						  [EDGE_RELATED] = "related to",
						  [EDGE_DISCOVERED_FROM] = "discovered from" };
	static const char *const up_words[] = { [EDGE_BLOCKS] = "blocks",
						[EDGE_PARENT] = "parent of",
						[EDGE_RELATED] = "related to",
						[EDGE_DISCOVERED_FROM] = "led to" };
	int i = names_exact(&edge_kinds, kind);

	return i < 0 ? kind : str_of(up ? up_words[i] : down_words[i]);
}

/* A label in double quotes. Both languages need an escape for a quote inside it. */
static void bd_graph_quoted(struct view *v, const struct value *bead, const char *quote)
{
	struct str title = value_str(bead, "title");

	view_put(v, bead, "\"{id}: ");
	for (size_t i = 0; i < title.n; i++)
		if (title.p[i] == '"')
			buf_put(&v->out, str_of(quote));
		else if (title.p[i] == '\\')
			buf_put(&v->out, STR("\\\\"));
		else
			buf_char(&v->out, title.p[i]);
	buf_char(&v->out, '"');
}

/* The id as the name of a node, which may not contain '-' or '.'; different ids get different
 * names. */
static void mermaid_id(struct view *v, struct str id)
{
	for (size_t i = 0; i < id.n; i++)
		switch (id.p[i]) {
		case '-':
			buf_put(&v->out, STR("__"));
			break;
		case '_':
			buf_put(&v->out, STR("_u"));
			break;
		case '.':
			buf_put(&v->out, STR("_d"));
			break;
		default:
			buf_char(&v->out, id.p[i]);
		}
}

static void mermaid_node(struct view *v, const struct value *bead)
{
	buf_put(&v->out, STR("    "));
	mermaid_id(v, value_str(bead, "id"));
	buf_char(&v->out, '[');
	bd_graph_quoted(v, bead, "#quot;");
	buf_put(&v->out, STR("]"));
	if (str_is(value_str(bead, "status"), "closed"))
		buf_put(&v->out, STR(":::closed"));
	buf_char(&v->out, '\n');
}

static void mermaid_edge(struct view *v, struct str from, struct str to, struct str kind)
{
	buf_put(&v->out, STR("    "));
	mermaid_id(v, from);
	buf_fmt(&v->out, " -->|" STR_FMT "| ", STR_ARG(bd_view_relation(kind, false)));
	mermaid_id(v, to);
	buf_char(&v->out, '\n');
}

static void dot_node(struct view *v, const struct value *bead)
{
	view_put(v, bead, "  \"{id}\" [label=");
	bd_graph_quoted(v, bead, "\\\"");
	view_line(v, "%s];", str_is(value_str(bead, "status"), "closed") ? ", style=dashed" : "");
}

static void dot_edge(struct view *v, struct str from, struct str to, struct str kind)
{
	view_line(v, "  \"" STR_FMT "\" -> \"" STR_FMT "\" [label=\"" STR_FMT "\"];", STR_ARG(from),
		  STR_ARG(to), STR_ARG(bd_view_relation(kind, false)));
}

struct language {
	const char *begin, *end;
	void (*node)(struct view *v, const struct value *bead);
	void (*edge)(struct view *v, struct str from, struct str to, struct str kind);
};

static const struct language mermaid = { "graph TD", "    classDef closed stroke-dasharray: 3",
					 mermaid_node, mermaid_edge };
static const struct language dot = { "digraph beads {\n  rankdir=TB; node [shape=box];", "}",
				     dot_node, dot_edge };

static const struct language *graph_language(const struct value *data)
{
	struct str format = value_str(data, "format");

	return str_is(format, "mermaid") ? &mermaid : str_is(format, "dot") ? &dot : NULL;
}

static void graph_write_tree(struct view *v, const struct value *nodes, const struct language *l)
{
	struct map told = { .mem = v->out.mem };

	view_line(v, "%s", l->begin);
	VALUE_EACH(one, nodes) {
		size_t before = told.count;

		map_put(&told, value_str(one, "id"));
		if (told.count > before)
			l->node(v, one);
	}
	VALUE_EACH(n, nodes) {
		struct str id = value_str(n, "id"), under = value_str(n, "under");

		if (under.p && str_is(value_str(n, "direction"), "up"))
			l->edge(v, id, under, value_str(n, "kind"));
		else if (under.p)
			l->edge(v, under, id, value_str(n, "kind"));
	}
	view_line(v, "%s", l->end);
}

/* The columns that are left in the line that is being written. */
static size_t bd_graph_room(const struct view *v)
{
	struct str line = { v->out.p, v->out.n };
	size_t used;

	for (size_t i = line.n; i > 0; i--)
		if (line.p[i - 1] == '\n') {
			line = str_skip(line, i);
			break;
		}
	used = utf8_width(line);
	return v->width > used ? v->width - used : 0;
}

/* On a terminal, a title that is too long is cut, so that the drawing stays whole. */
static struct str bd_graph_title(const struct view *v, struct str title)
{
	enum { LEAST = 12 };
	size_t room = bd_graph_room(v);

	if (!v->terminal)
		return title;
	return utf8_shorten(v->out.mem, title, room > LEAST ? room : LEAST);
}

static void bd_graph_bead_text(struct view *v, const struct value *n)
{
	struct str status = value_str(n, "status");
	bool closed = str_is(status, "closed");

	view_paint(v, PAINT_BOLD, value_str(n, "id"));
	view_put(v, n, " P{priority} ");
	view_paint(v, closed ? PAINT_DIM : PAINT_NONE, status);
	buf_char(&v->out, ' ');
	buf_put(&v->out, bd_graph_title(v, value_str(n, "title")));
}

/* For each node: does a sibling follow? Computed from the end of the list. */
static bool *tree_followed(struct view *v, const struct value *nodes)
{
	bool *followed = arena_alloc(v->out.mem, nodes->count), level[TREE_DEPTH + 1] = { 0 };

	for (size_t i = nodes->count; i-- > 0;) {
		int64_t depth = value_count(&nodes->item[i], "depth");

		followed[i] = level[depth];
		level[depth] = true;
		for (int64_t d = depth + 1; d <= TREE_DEPTH; d++)
			level[d] = false;
	}
	return followed;
}

/* `level`: for each depth above, whether a sibling follows below this node. */
static void tree_draw_branch(struct view *v, const struct value *n, const bool *level)
{
	int64_t depth = value_count(n, "depth");
	const struct value *again = value_find(n, "again");

	for (int64_t d = 1; d < depth; d++)
		buf_put(&v->out, level[d] ? STR("│  ") : STR("   "));
	if (depth)
		buf_put(&v->out, level[depth] ? STR("├─ ") : STR("└─ "));
	if (depth)
		buf_fmt(&v->out, STR_FMT " ",
			STR_ARG(bd_view_relation(value_str(n, "kind"),
						 str_is(value_str(n, "direction"), "up"))));
	bd_graph_bead_text(v, n);
	if (again && again->yes)
		view_paint(v, PAINT_DIM, STR(" (shown above)"));
	buf_char(&v->out, '\n');
}

void bd_view_tree(struct view *v, const struct value *data)
{
	const struct value *nodes = value_find(data, "nodes");
	const struct language *language = graph_language(data);
	bool *followed, level[TREE_DEPTH + 1];

	if (language) {
		graph_write_tree(v, nodes, language);
		return;
	}
	followed = tree_followed(v, nodes);
	for (size_t i = 0; i < nodes->count; i++) {
		const struct value *n = &nodes->item[i];

		level[value_count(n, "depth")] = followed[i];
		tree_draw_branch(v, n, level);
	}
}

/* Every bead, and below it its dependencies. The edges are sorted by their first bead. */
static void graph_draw(struct view *v, const struct value *nodes, const struct value *edges)
{
	struct map first = { .mem = v->out.mem };

	for (size_t i = edges->count; i-- > 0;)
		*map_put(&first, value_str(&edges->item[i], "from")) = &edges->item[i];
	VALUE_EACH(one, nodes) {
		struct str id = value_str(one, "id");
		void **at = map_find(&first, id);
		const struct value *edge = at ? *at : edges->item + edges->count;

		bd_graph_bead_text(v, one);
		buf_char(&v->out, '\n');
		for (; edge < edges->item + edges->count && str_eq(value_str(edge, "from"), id);
		     edge++)
			view_line(v, "  " STR_FMT " " STR_FMT,
				  STR_ARG(bd_view_relation(value_str(edge, "kind"), false)),
				  STR_ARG(value_str(edge, "to")));
	}
}

void bd_view_graph(struct view *v, const struct value *data)
{
	const struct value *nodes = value_find(data, "nodes"), *edges = value_find(data, "edges");
	const struct language *l = graph_language(data);

	if (!l && !nodes->count)
		view_line(v, "No bead depends on another.");
	if (!l) {
		graph_draw(v, nodes, edges);
		return;
	}
	view_line(v, "%s", l->begin);
	VALUE_EACH(one, nodes)
		l->node(v, one);
	VALUE_EACH(one, edges)
		l->edge(v, value_str(one, "from"), value_str(one, "to"), value_str(one, "kind"));
	view_line(v, "%s", l->end);
}

/* --- edges --- */

void bd_view_links(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "ID", "KIND", "STATUS", "TITLE", NULL };
	struct table t = table_new(v, heads);

	VALUE_EACH(bead, data) {
		bool up = str_is(value_str(bead, "direction"), "up");
		struct str status = value_str(bead, "status");

		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, value_str(bead, "id"));
		table_cell(&t, 1, PAINT_NONE,
			   bd_view_relation(value_str(bead, "dependency_type"), up));
		table_cell(&t, 2, bd_view_status_paint(status), status);
		table_cell(&t, 3, PAINT_NONE, value_str(bead, "title"));
	}
	table_print_or(&t, "No dependencies.");
}

void bd_view_edge(struct view *v, const struct value *data)
{
	bool removed = str_is(value_str(data, "status"), "removed");
	bool parent = str_is(value_str(data, "kind"), "parent");

	view_line(v, STR_FMT " %s " STR_FMT " (" STR_FMT ")", STR_ARG(value_str(data, "from")),
		  removed ? "no longer depends on" :
		  parent  ? "is a child of" :
			    "depends on",
		  STR_ARG(value_str(data, "to")), STR_ARG(value_str(data, "kind")));
}

void bd_view_edges(struct view *v, const struct value *data)
{
	view_each(v, data, bd_view_edge);
}

void bd_view_cycles(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "No dependency cycles.");
	VALUE_EACH(one, data) {
		const struct value *ids = value_find(one, "ids");

		view_put(v, one, "{kind}:");
		VALUE_EACH(item, ids)
			buf_fmt(&v->out, " " STR_FMT " →", STR_ARG(item->text));
		view_line(v, " " STR_FMT, ids && ids->count ? (int)ids->item[0].text.n : 0,
			  ids && ids->count ? ids->item[0].text.p : "");
	}
}
