#include "base/json.h"
#include "ops/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct filter_body filter;
	struct shape_body shape;
	int64_t limit;
	int sort;
	bool reverse;
};

static const struct field fields[] = {
	FILTER_FIELDS(struct body, filter),
	PAGE_FIELDS(struct body, limit, sort, reverse),
	SHAPE_FIELDS(struct body, shape),
	{ 0 },
};

static enum err put(struct call *c, struct beads *b, const struct bead_row *row,
		    const struct shape *shape, struct json *reply)
{
	struct str *ids;
	size_t count;
	enum err e = query_blockers(c, &b->cache, row->id, &ids, &count);

	json_object(reply);
	public_put(reply, row, shape);
	json_put_int(reply, "blocked_by_count", row->blockers);
	json_put_array(reply, "blocked_by");
	for (size_t i = 0; i < count; i++)
		json_str(reply, ids[i]);
	json_end(reply);
	json_end(reply);
	return e;
}

static enum err run(struct call *c, struct stores *s, const void *body,
		    struct json *reply)
{
	const struct body *in = body;
	struct shape shape = shape_of(c, &in->shape);
	struct bead_filter filter;
	struct bead_row *row;
	enum err e = filter_of(c, s->beads, &in->filter, true, &filter);

	filter.lean = shape_lean(&shape);
	filter.blocked = true;
	filter.limit = in->limit;
	filter.sort = (enum bead_sort)in->sort;
	filter.reverse = in->reverse;
	if (e || (e = query_each(c, &s->beads->cache, &filter, &row)))
		return e;
	json_array(reply);
	for (; !e && row; row = row->next)
		e = put(c, s->beads, row, &shape, reply);
	json_end(reply);
	return e;
}

const struct op op_bead_blocked = {
	.name = "bead blocked",
	.help = "List beads that wait for others, and for which",
	.flags = BEAD_READ,
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &beads_reply,
	.run = run,
};
