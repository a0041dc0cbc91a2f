#include "base/text/json.h"
#include "beads/graph.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct tree_body {
	struct str id;
	int direction, format;
	int64_t depth;
};

static const struct names formats = NAMES_OF("tree", "mermaid", "dot");

static const struct field tree_fields[] = {
	ID_FIELD(struct tree_body, id),
	{ "direction", &kind_word, offsetof(struct tree_body, direction), .words = &directions,
	  .preset = "down", .help = "direction: down (its dependencies) or up (its dependents)" },
	{ "depth", &kind_int, offsetof(struct tree_body, depth), .letter = 'd', .also = "max-depth",
	  .min = 1, .max = TREE_DEPTH, .preset = "50", .help = "maximum depth" },
	{ "format", &kind_word, offsetof(struct tree_body, format), FIELD_CLI, .role = ROLE_FORMAT,
	  .words = &formats, .preset = "tree", .help = "output format for people" },
	{ 0 },
};

static const struct prop node_props[] = {
	{ "id title status priority:int depth:int under|null kind|null direction|null", NULL },
	{ "again:bool", NULL },
	{ 0 },
};

static const struct prop tree_props[] = {
	{ "format", NULL },
	{ "nodes[]", node_props },
	{ 0 },
};

static enum err bead_dep_tree_run_tree(struct call *c, struct stores *s, const void *body,
				       struct json *reply)
{
	static const struct shape brief = { .brief = true };
	const struct tree_body *in = body;
	struct bead_row *row;
	struct branch *b = NULL;
	enum err e = find_bead(c, s->beads, in->id, &row);

	if (!e)
		e = graph_tree(c, s->beads, row, in->direction != 1, in->direction != 0, in->depth,
			       &b);
	json_object(reply);
	json_put_str(reply, "format", str_of(names_word(&formats, in->format)));
	json_put_array(reply, "nodes");
	for (; !e && b; b = b->next) {
		json_object(reply);
		public_put(reply, b->bead, &brief);
		json_put_int(reply, "depth", b->depth);
		json_put_str(reply, "under", b->under);
		json_put_str(reply, "kind", b->kind);
		json_put_str(reply, "direction",
			     b->depth ? str_of(names_word(&directions, b->inward)) : STR_NONE);
		json_put_bool(reply, "again", b->again);
		json_end(reply);
	}
	json_end(reply);
	json_end(reply);
	return e;
}

const struct op op_bead_dep_tree = {
	.name = "bead dep tree",
	.help = "Show a bead's dependencies as a tree",
	.flags = BEAD_READ,
	OP_BODY(struct tree_body, tree_fields),
	.reply = &(const struct prop){ "tree", tree_props },
	.run = bead_dep_tree_run_tree,
};
