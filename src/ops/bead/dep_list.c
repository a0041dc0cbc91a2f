#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct bead_dep_list_list_body {
	struct str id;
	int kind, direction;
};

static const struct field list_fields[] = {
	ID_FIELD(struct bead_dep_list_list_body, id),
	{ "kind", &kind_word, offsetof(struct bead_dep_list_list_body, kind), .also = "type",
	  .letter = 't', .words = &edge_kinds, .help = "kind of dependency" },
	{ "direction", &kind_word, offsetof(struct bead_dep_list_list_body, direction),
	  .words = &directions, .preset = "down",
	  .help = "direction: down (its dependencies) or up (its dependents)" },
	{ 0 },
};

/* Each bead's text is read and freed by itself: only the reply has all of them. */
static enum err put_link(struct call *c, struct beads *b, const struct link *link, enum side side,
			 struct json *reply)
{
	struct shape shape = { .brief = c->terse };
	struct call part = call_part(c);
	struct json one = json_new(&part.mem);
	struct bead_row *row = link->bead;
	enum err e = shape.brief ? ERR_OK : cache_find_bead(&part, &b->cache, row->id, &row);

	if (!e && row) {
		json_object(&one);
		public_put(&one, row, &shape);
		json_put_str(&one, "dependency_type", link->kind);
		json_put_str(&one, "direction", str_of(names_word(&directions, side)));
		json_end(&one);
		json_raw(reply, json_text(&one));
	}
	return call_part_end(c, &part, e);
}

static enum err put_side(struct call *c, struct beads *b, const struct bead_dep_list_list_body *in,
			 struct str id, enum side side, struct json *reply)
{
	struct link *link;
	enum err e = query_links(c, &b->cache, id, side, false, &link);

	for (; !e && link; link = link->next)
		if (in->kind < 0 || str_is(link->kind, names_word(&edge_kinds, in->kind)))
			e = put_link(c, b, link, side, reply);
	return e;
}

static enum err bead_dep_list_run_list(struct call *c, struct stores *s, const void *body,
				       struct json *reply)
{
	const struct bead_dep_list_list_body *in = body;
	struct bead_row *row;
	enum err e = find_bead(c, s->beads, in->id, &row);

	json_array(reply);
	if (!e && in->direction != 1)
		e = put_side(c, s->beads, in, row->id, SIDE_OUT, reply);
	if (!e && in->direction != 0)
		e = put_side(c, s->beads, in, row->id, SIDE_IN, reply);
	json_end(reply);
	return e;
}

const struct op op_bead_dep_list = {
	.name = "bead dep list",
	.help = "List a bead's dependencies or dependents",
	.flags = BEAD_READ,
	OP_BODY(struct bead_dep_list_list_body, list_fields),
	.reply = &beads_reply,
	.run = bead_dep_list_run_list,
};
