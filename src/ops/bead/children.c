#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct children_body {
	struct str id;
	struct shape_body shape;
};

static const struct field children_fields[] = {
	ID_FIELD(struct children_body, id),
	SHAPE_FIELDS(struct children_body, shape),
	{ 0 },
};

static enum err bead_children_run_children(struct call *c, struct stores *s, const void *body,
					   struct json *reply)
{
	const struct children_body *in = body;
	struct shape shape = shape_of(c, &in->shape);
	struct bead_filter filter = { 0 };
	struct bead_row *row;
	int64_t count;
	enum err e = find_bead(c, s->beads, in->id, &row);

	if (e)
		return e;
	filter.parent = row->id;
	return public_encode_all(c, &s->beads->cache, filter, &shape, reply, &count);
}

const struct op op_bead_children = {
	.name = "bead children",
	.help = "List a bead's children, including closed ones",
	.flags = BEAD_READ,
	OP_BODY(struct children_body, children_fields),
	.reply = &beads_reply,
	.run = bead_children_run_children,
};
