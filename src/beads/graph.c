#include "beads/graph.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/system/spawn.h"
#include "base/text/json.h"

/* --- the beads that a bead leads to --- */

/*
 * The beads that `from` leads to along edges of one kind, however indirectly; `from` is among them
 * only if it leads to itself. The value of an id is the number of the entry that led to it, plus
 * one; NULL is `from`.
 */
static enum err graph_reach(struct call *c, struct cache *cache, struct str from,
			    enum edge_kind kind, struct map *seen)
{
	for (size_t i = 0; i <= seen->count; i++) {
		struct str *ids, at = i ? seen->entry[i - 1].key : from;
		size_t count;
		enum err e = query_targets(c, cache, at, kind, &ids, &count);

		if (e)
			return e;
		for (size_t k = 0; k < count; k++)
			if (!map_find(seen, ids[k]))
				*map_put(seen, ids[k]) = (void *)(uintptr_t)i;
	}
	return ERR_OK;
}

/* The error names the way back, from the last bead to the first. */
static enum err graph_refuse_cycle(struct call *c, const struct map *seen, struct str from,
				   struct str to)
{
	struct buf text = { .mem = &c->mem };
	struct json j = json_new(&c->mem);
	struct str at = from, before = from;

	json_object(&j);
	json_put_array(&j, "path");
	for (;;) {
		void **led = map_find(seen, at);

		json_str(&j, at);
		buf_fmt(&text, STR_FMT " ← ", STR_ARG(at));
		if (str_eq(at, to))
			break;
		before = at;
		at = *led ? seen->entry[(uintptr_t)*led - 1].key : to;
	}
	buf_put(&text, from);
	json_end(&j);
	json_end(&j);
	call_fail(c, ERR_CYCLE,
		  "'" STR_FMT "' cannot depend on '" STR_FMT "', which already depends on it: %s",
		  STR_ARG(from), STR_ARG(to), buf_str(&text).p);
	call_step(
		c,
		"Remove one of the dependencies in this cycle, for example 'bd dep remove " STR_FMT
		" " STR_FMT "'.",
		STR_ARG(spawn_word(&c->mem, to)), STR_ARG(spawn_word(&c->mem, before)));
	return call_detail(c, json_text(&j));
}

enum err graph_check(struct call *c, struct beads *b, struct str from, struct str to,
		     struct str kind)
{
	struct map seen = { .mem = &c->mem };
	int known = names_exact(&edge_kinds, kind);
	bool entered;
	enum err e;

	if (str_eq(from, to))
		return call_fail(c, ERR_SELF_DEPENDENCY, "'" STR_FMT "' cannot depend on itself",
				 STR_ARG(from));
	if (known != EDGE_BLOCKS && known != EDGE_PARENT)
		return ERR_OK;
	/* most beads that get a dependency have no dependents yet, so no way leads back to them */
	if ((e = query_is_target(c, &b->cache, from, (enum edge_kind)known, &entered)) || !entered)
		return e;
	if ((e = graph_reach(c, &b->cache, to, (enum edge_kind)known, &seen)))
		return e;
	return map_find(&seen, from) ? graph_refuse_cycle(c, &seen, from, to) : ERR_OK;
}

/* --- listing cycles --- */

enum { CYCLE_IDS_MOST = 100000 };

enum colour { NEW, ON_THE_WAY, DONE };

struct node {
	struct str id;
	enum colour colour;
	struct node **to;
	size_t count;
	struct node *from;    /* the node before it on the path */
	size_t next;          /* index in `to`, for graph_cycle_members() */
	size_t order, lowest; /* Tarjan's index and lowlink */
	bool own;             /* it has an edge to itself */
};

struct finder {
	struct arena *mem;
	struct str kind;
	struct cycle **tail;
	size_t room; /* ids that may still be listed; a dense graph has too many cycles */
};

static void finder_add_cycle(struct finder *f, struct node *last, const struct node *first)
{
	struct cycle *cycle;
	size_t n = 1;

	for (const struct node *at = last; at != first && n <= f->room; at = at->from)
		n++;
	if (n > f->room)
		return;
	f->room -= n;
	cycle = arena_new(f->mem, struct cycle);
	*cycle = (struct cycle){ .kind = f->kind, .count = n };
	cycle->ids = arena_array(f->mem, n, sizeof *cycle->ids);
	for (const struct node *at = last; n-- > 0; at = at->from)
		cycle->ids[n] = at->id;
	*f->tail = cycle;
	f->tail = &cycle->next;
}

/* Depth first, without recursion, because chains can be long. */
static void finder_visit(struct finder *f, struct node *start)
{
	struct node *at = start;

	at->from = NULL;
	at->colour = ON_THE_WAY;
	while (at) {
		struct node *next = at->count ? at->to[--at->count] : NULL;

		if (!next) {
			at->colour = DONE;
			at = at->from;
		} else if (next->colour == ON_THE_WAY) {
			finder_add_cycle(f, at, next);
		} else if (next->colour == NEW) {
			next->from = at;
			next->colour = ON_THE_WAY;
			at = next;
		}
	}
}

static struct node *graph_node(struct map *nodes, struct str id)
{
	void **at = map_put(nodes, id);

	if (!*at) {
		struct node *n = arena_new(nodes->mem, struct node);

		n->id = id;
		*at = n;
	}
	return *at;
}

static void node_add_target(struct arena *mem, struct node *from, struct node *to)
{
	from->to = arena_room(mem, from->to, from->count, sizeof *from->to);
	from->to[from->count++] = to;
}

static void finder_add_kind(struct finder *f, const struct edge_row *edges)
{
	struct map nodes = { .mem = f->mem };

	for (const struct edge_row *e = edges; e; e = e->next)
		if (str_eq(e->kind, f->kind)) {
			struct node *from = graph_node(&nodes, e->from),
				    *to = graph_node(&nodes, e->to);

			node_add_target(f->mem, from, to);
		}
	for (size_t i = 0; i < nodes.count; i++) {
		struct node *n = nodes.entry[i].value;

		if (n->colour == NEW)
			finder_visit(f, n);
	}
}

struct cycle *graph_cycles(struct arena *mem, const struct edge_row *edges)
{
	struct cycle *out = NULL;
	struct finder f = { .mem = mem, .tail = &out, .room = CYCLE_IDS_MOST };

	f.kind = str_of(names_word(&edge_kinds, EDGE_BLOCKS));
	finder_add_kind(&f, edges);
	f.kind = str_of(names_word(&edge_kinds, EDGE_PARENT));
	finder_add_kind(&f, edges);
	return out;
}

/* --- edges that lead to a cycle --- */

/*
 * A bead without edges leads to no cycle, so it is taken away with the edges to it, again and
 * again. What is left of a graph without cycles is nothing. Beads are indexes of `ids`.
 */
struct peeler {
	const struct str *ids;
	size_t beads;
	struct edge_numbers *edges;
	size_t count;
	uint32_t *edges_from; /* per bead: how many of its edges are left */
	uint32_t *first;      /* per bead: where its part of `sources` begins */
	uint32_t *sources;    /* the beads with an edge to it */
};

static void peeler_sort(struct arena *mem, struct peeler *p)
{
	p->edges_from = arena_array(mem, p->beads, sizeof *p->edges_from);
	p->first = arena_array(mem, p->beads + 2, sizeof *p->first);
	p->sources = arena_array(mem, p->count, sizeof *p->sources);
	for (size_t i = 0; i < p->count; i++) {
		p->edges_from[p->edges[i].from]++;
		p->first[p->edges[i].to + 2]++;
	}
	for (size_t i = 0; i < p->beads; i++)
		p->first[i + 2] += p->first[i + 1];
	for (size_t i = 0; i < p->count; i++)
		p->sources[p->first[p->edges[i].to + 1]++] = p->edges[i].from;
}

static void peeler_run(struct arena *mem, struct peeler *p)
{
	uint32_t *bare = arena_array(mem, p->beads, sizeof *bare);
	size_t count = 0;

	for (uint32_t i = 0; i < p->beads; i++)
		if (!p->edges_from[i])
			bare[count++] = i;
	while (count) {
		uint32_t bead = bare[--count];

		for (uint32_t i = p->first[bead]; i < p->first[bead + 1]; i++)
			if (!--p->edges_from[p->sources[i]])
				bare[count++] = p->sources[i];
	}
}

/* Appends the edges that are left: those to beads that are left. */
static void peeler_add_rest(struct arena *mem, const struct peeler *p, enum edge_kind kind,
			    struct edge_row ***tail)
{
	for (size_t i = 0; i < p->count; i++) {
		struct edge_row *row;

		if (!p->edges_from[p->edges[i].to])
			continue;
		row = arena_new(mem, struct edge_row);
		row->kind = str_of(names_word(&edge_kinds, kind));
		row->from = p->ids[p->edges[i].from];
		row->to = p->ids[p->edges[i].to];
		**tail = row;
		*tail = &row->next;
	}
}

static enum err graph_add_leading(struct call *c, struct cache *cache, struct peeler p,
				  enum edge_kind kind, struct edge_row ***tail)
{
	struct call part = call_part(c);
	enum err e = query_edge_numbers(&part, cache, kind, p.ids, p.beads, &p.edges, &p.count);

	if (!e && p.count) {
		peeler_sort(&part.mem, &p);
		peeler_run(&part.mem, &p);
		peeler_add_rest(&c->mem, &p, kind, tail);
	}
	return call_part_end(c, &part, e);
}

bool graph_has_cycle(struct edge_numbers *edges, size_t count, size_t beads)
{
	struct peeler p = { .beads = beads, .edges = edges, .count = count };
	struct arena mem = { 0 };
	bool left = false;

	peeler_sort(&mem, &p);
	peeler_run(&mem, &p);
	for (size_t i = 0; i < beads && !left; i++)
		left = p.edges_from[i];
	arena_release(&mem);
	return left;
}

enum err graph_cycles_of(struct call *c, struct cache *cache, struct cycle **out)
{
	struct edge_row *edges = NULL, **tail = &edges;
	struct peeler p = { 0 };
	struct str *ids;
	enum err e = query_all_ids(c, cache, &ids, &p.beads);

	p.ids = ids;
	if (!e && !(e = graph_add_leading(c, cache, p, EDGE_BLOCKS, &tail)))
		e = graph_add_leading(c, cache, p, EDGE_PARENT, &tail);
	*out = e ? NULL : graph_cycles(&c->mem, edges);
	return e;
}

/* --- beads in cycles --- */

enum err graph_ancestors(struct call *c, struct cache *cache, struct map *seen,
			 struct edge_row **edges)
{
	for (size_t i = 0; i < seen->count; i++) {
		struct str *to, from = seen->entry[i].key;
		size_t count;
		enum err e = query_targets(c, cache, from, EDGE_PARENT, &to, &count);

		if (e)
			return e;
		for (size_t k = 0; k < count; k++) {
			struct edge_row *row = arena_new(&c->mem, struct edge_row);

			*row = (struct edge_row){ .from = from, .to = to[k], .next = *edges };
			*edges = row;
			map_put(seen, to[k]);
		}
	}
	return ERR_OK;
}

/* Tarjan's strongly connected components, without recursion, because chains can be long. */
struct graph_walk {
	struct arena *mem;
	struct node **stack; /* nodes whose component is not known yet */
	size_t count, most;
	size_t visited;
	struct str *ids; /* the ids in cycles */
	size_t found;
};

static void walk_enter(struct graph_walk *w, struct node *n, struct node *from)
{
	n->order = n->lowest = ++w->visited;
	n->from = from;
	n->colour = ON_THE_WAY;
	w->stack = arena_stack(w->mem, w->stack, w->count, &w->most, sizeof *w->stack);
	w->stack[w->count++] = n;
}

/* The nodes on the stack above `n`, and `n`, are one component. */
static void walk_take_component(struct graph_walk *w, const struct node *n)
{
	size_t first = w->count;
	bool cycle;

	do
		w->stack[--first]->colour = DONE;
	while (w->stack[first] != n);
	cycle = w->count - first > 1 || n->own;
	for (size_t i = first; cycle && i < w->count; i++) {
		w->ids = arena_room(w->mem, w->ids, w->found, sizeof *w->ids);
		w->ids[w->found++] = w->stack[i]->id;
	}
	w->count = first;
}

static void walk_from(struct graph_walk *w, struct node *start)
{
	struct node *at = start;

	walk_enter(w, at, NULL);
	while (at) {
		struct node *next = at->next < at->count ? at->to[at->next++] : NULL;

		if (next && next->colour == NEW) {
			walk_enter(w, next, at);
			at = next;
		} else if (next) {
			at->own = at->own || next == at;
			if (next->colour == ON_THE_WAY && next->order < at->lowest)
				at->lowest = next->order;
		} else {
			struct node *from = at->from;

			if (at->lowest == at->order)
				walk_take_component(w, at);
			else if (from && at->lowest < from->lowest)
				from->lowest = at->lowest;
			at = from;
		}
	}
}

struct str *graph_cycle_members(struct arena *mem, const struct edge_row *edges, size_t *count)
{
	struct map nodes = { .mem = mem };
	struct graph_walk w = { .mem = mem };

	for (const struct edge_row *e = edges; e; e = e->next)
		node_add_target(mem, graph_node(&nodes, e->from), graph_node(&nodes, e->to));
	for (size_t i = 0; i < nodes.count; i++) {
		struct node *n = nodes.entry[i].value;

		if (n->colour == NEW)
			walk_from(&w, n);
	}
	*count = w.found;
	return w.ids;
}

/* --- trees --- */

struct climber {
	struct call *c;
	struct beads *b;
	struct map seen;
	int64_t deepest;
	struct branch **tail;
};

static void climber_add(struct climber *w, struct branch twig)
{
	struct branch *b = arena_new(&w->c->mem, struct branch);

	*b = twig;
	*w->tail = b;
	w->tail = &b->next;
}

static enum err climber_climb(struct climber *w, const struct bead_row *at, enum side side,
			      int64_t depth)
{
	struct link *link;
	enum err e = ERR_OK;

	if (depth > w->deepest)
		return ERR_OK;
	if ((e = query_links(w->c, &w->b->cache, at->id, side, false, &link)))
		return e;
	for (; !e && link; link = link->next) {
		bool again = map_find(&w->seen, link->bead->id) != NULL;

		climber_add(w, (struct branch){ .bead = link->bead,
						.kind = link->kind,
						.under = at->id,
						.inward = side == SIDE_IN,
						.again = again,
						.depth = depth });
		map_put(&w->seen, link->bead->id);
		if (!again)
			e = climber_climb(w, link->bead, side, depth + 1);
	}
	return e;
}

enum err graph_tree(struct call *c, struct beads *b, struct bead_row *root, bool down, bool up,
		    int64_t deepest, struct branch **out)
{
	struct climber w = { .c = c, .b = b, .deepest = deepest, .tail = out };
	enum err e = ERR_OK;

	*out = NULL;
	climber_add(&w, (struct branch){ .bead = root });
	for (int side = SIDE_OUT; !e && side <= SIDE_IN; side++) {
		if (!(side == SIDE_OUT ? down : up))
			continue;
		w.seen = (struct map){ .mem = &c->mem };
		map_put(&w.seen, root->id);
		e = climber_climb(&w, root, (enum side)side, 1);
	}
	return e;
}
