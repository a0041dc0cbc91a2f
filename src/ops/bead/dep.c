/*
 * bd dep add and bd dep remove. An edge can be removed even if one of its beads is deleted or
 * unknown, so removing looks up edges, not beads.
 */
#include "base/moment.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct str from, to;
	struct guard guard;
	int kind;
};

#define AT(member) offsetof(struct body, member)

#define END_FIELDS                                                      \
	{ "from",      &kind_bead,                                      \
	  AT(from),    FIELD_PLACE | FIELD_REQUIRED,                    \
	  .arg = "ID", .help = "bead that depends on the other" },      \
	{                                                               \
		"to", &kind_bead, AT(to), FIELD_PLACE | FIELD_REQUIRED, \
			.arg = "ON", .help = "bead that it depends on"  \
	}

static const struct field add_fields[] = {
	END_FIELDS,
	{ "kind", &kind_word, AT(kind), .also = "type", .letter = 't', .words = &edge_kinds,
	  .preset = "blocks", .help = "kind of dependency" },
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static const struct field remove_fields[] = {
	END_FIELDS,
	{ "kind", &kind_word, AT(kind), .also = "type", .letter = 't', .words = &edge_kinds,
	  .help = "kind of dependency (default: all between the two beads)" },
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static const struct prop edge_props[] = {
	{ "from to kind created_at? created_by? status?", NULL },
	{ 0 },
};
static const struct prop edge_reply = { "dependency", edge_props };
static const struct prop edges_reply = { "dependencies[]", edge_props };

static enum err bead_dep_begin(struct call *c, struct beads *b, const struct body *in,
			       struct edit *edit, struct bead_row **to)
{
	struct bead_row *from;
	enum err e;

	if ((e = find_bead(c, b, in->from, &from)) || (e = find_bead(c, b, in->to, to)) ||
	    (e = edit_begin(c, b, from, edit)))
		return e;
	return edit_guard(edit, &in->guard);
}

static void bead_dep_put_edge(struct json *j, const struct edge *e)
{
	json_object(j);
	json_put_str(j, "from", e->from);
	json_put_str(j, "to", e->to);
	json_put_str(j, "kind", e->kind);
	json_put_str(j, "created_at", moment_format(j->out.mem, e->created.at.ms));
	json_put_str(j, "created_by", e->created.by);
}

/* Decodes an edge of the cache. */
static bool bead_dep_read_edge(struct call *c, struct str line, struct edge *out)
{
	const struct value *v = line.p ? value_read(&c->mem, line) : NULL;
	struct str why;

	return v && edge_decode(&c->mem, v, out, &why);
}

static enum err bead_dep_run_add(struct call *c, struct stores *s, const void *body,
				 struct json *reply)
{
	const struct body *in = body;
	struct str kind = str_of(names_word(&edge_kinds, in->kind)), line;
	struct state *change = state_new(&c->mem);
	struct bead_row *to;
	struct edit edit;
	struct edge edge;
	enum err e;

	if ((e = bead_dep_begin(c, s->beads, in, &edit, &to)) ||
	    (e = edit_depend(&edit, change, to, kind, true)))
		return e;
	edit_end(&edit, change);
	if ((e = beads_put(c, s->beads, change)) ||
	    (e = cache_find_edge(c, &s->beads->cache, edit.row->id, to->id, kind, &line)))
		return e;
	if (!bead_dep_read_edge(c, line, &edge))
		return call_fail(c, ERR_DAMAGED, "the cache contains an invalid dependency");
	bead_dep_put_edge(reply, &edge);
	json_put_str(reply, "status", STR("added"));
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_dep_add = {
	.name = "bead dep add",
	.help = "Add a dependency",
	.more = "The first bead depends on the second. With 'blocks', the second blocks the "
		"first; with 'parent', the second is the parent of the first. Cycles of these "
		"two kinds are refused.",
	.examples = "bd dep add bd-a1b2 bd-c3d4\n"
		    "bd dep add bd-a1b2 bd-e5f6 --kind discovered-from",
	.flags = BEAD_WRITE | OP_IDEMPOTENT,
	OP_BODY(struct body, add_fields),
	.reply = &edge_reply,
	.run = bead_dep_run_add,
};

/* Edges to deleted or unknown beads can be removed as well. */
static enum err bead_dep_whole_id(struct call *c, struct beads *b, struct str text, struct str *out)
{
	struct bead_row *row;
	struct edge_row *edges;
	enum err e = cache_edges_of(c, &b->cache, text, &edges);

	*out = text;
	if (e || edges)
		return e;
	if (!(e = find_bead(c, b, text, &row)))
		*out = row->id;
	return e;
}

static bool bead_dep_is_meant(const struct edge_row *row, struct str from, struct str to, int kind)
{
	return row->active && str_eq(row->from, from) && str_eq(row->to, to) &&
	       (kind < 0 || str_is(row->kind, names_word(&edge_kinds, kind)));
}

/* Deletes the edges between two beads, and lists them. */
static enum err bead_dep_cut(struct call *c, struct beads *b, const struct edge_row *row,
			     struct state *change, struct json *reply, size_t *count)
{
	*count = 0;

	for (; row; row = row->next) {
		struct edge edge;

		if (!bead_dep_read_edge(c, row->line, &edge))
			continue;
		edge.life = beads_mark_after(c, b, edge.life);
		edge.deleted = true;
		if (!stamp_valid(edge.life.at))
			return edit_edge_at_the_end(c, b, &edge);
		state_put_edge(change, &edge);
		bead_dep_put_edge(reply, &edge);
		json_put_str(reply, "status", STR("removed"));
		json_end(reply);
		++*count;
	}
	return ERR_OK;
}

/* A deleted bead is named by its lineage, too, because another clone may use its id for another
 * bead. */
static enum err bead_dep_put_deleted_end(struct call *c, struct beads *b, struct str id,
					 struct state *change)
{
	const struct value *bead;
	struct bead end = { .id = id };
	struct str line;
	enum err e = cache_find_tombstone(c, &b->cache, id, &line);

	bead = !e && line.p ? value_find(value_read(&c->mem, line), "bead") : NULL;
	end.created.by = value_str(bead, "created_by");
	if (bead && stamp_decode(value_find(bead, "created_at"), &end.created.at))
		state_put_bead(change, &end);
	return e;
}

/* Puts both ends, by their lineage if it is known; the guard applies to the first. */
static enum err bead_dep_put_end(struct call *c, struct beads *b, struct str id,
				 const struct guard *guard, struct state *change)
{
	struct bead_row *row;
	struct edit edit;
	enum err e = cache_find_bead(c, &b->cache, id, &row);

	if (e || !row)
		return e ? e : bead_dep_put_deleted_end(c, b, id, change);
	if ((e = edit_begin(c, b, row, &edit)) || (guard && (e = edit_guard(&edit, guard))))
		return e;
	state_put_bead(change, &edit.change);
	if (guard)
		edit_end(&edit, change);
	return ERR_OK;
}

static enum err bead_dep_edges_between(struct call *c, struct beads *b, const struct body *in,
				       struct str *from, struct str *to, struct edge_row **out)
{
	struct edge_row *row;
	enum err e;

	*out = NULL;
	if ((e = bead_dep_whole_id(c, b, in->from, from)) ||
	    (e = bead_dep_whole_id(c, b, in->to, to)) ||
	    (e = cache_edges_of(c, &b->cache, *from, &row)))
		return e;
	for (struct edge_row *next; row; row = next) {
		next = row->next;
		if (!bead_dep_is_meant(row, *from, *to, in->kind))
			continue;
		row->next = NULL;
		*out = row;
		out = &row->next;
	}
	return ERR_OK;
}

static enum err bead_dep_missing(struct call *c, struct str from, struct str to)
{
	call_fail(c, ERR_NOT_FOUND, "'" STR_FMT "' does not depend on '" STR_FMT "'", STR_ARG(from),
		  STR_ARG(to));
	return call_step(c, "Run 'bd dep list " STR_FMT "' to see its dependencies.",
			 STR_ARG(spawn_word(&c->mem, from)));
}

static enum err bead_dep_run_remove(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct body *in = body;
	struct beads *b = s->beads;
	struct state *change = state_new(&c->mem);
	struct edge_row *rows;
	struct str from, to;
	size_t removed;
	enum err e;

	if ((e = bead_dep_edges_between(c, b, in, &from, &to, &rows)) ||
	    (e = bead_dep_put_end(c, b, from, &in->guard, change)) ||
	    (e = bead_dep_put_end(c, b, to, NULL, change)))
		return e;
	json_array(reply);
	e = bead_dep_cut(c, b, rows, change, reply, &removed);
	json_end(reply);
	if (!e && !removed)
		return bead_dep_missing(c, from, to);
	return e ? e : beads_put(c, b, change);
}

const struct op op_bead_dep_remove = {
	.name = "bead dep remove",
	.help = "Remove dependencies",
	.flags = BEAD_WRITE,
	OP_BODY(struct body, remove_fields),
	.reply = &edges_reply,
	.run = bead_dep_run_remove,
};
