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

/* --- children --- */

struct children_body {
	struct str id;
	struct shape_body shape;
};

static const struct field children_fields[] = {
	ID_FIELD(struct children_body, id),
	SHAPE_FIELDS(struct children_body, shape),
	{ 0 },
};

static enum err run_children(struct call *c, struct stores *s, const void *body,
			     struct json *reply)
{
	const struct children_body *in = body;
	struct shape shape = shape_of(c, &in->shape);
	struct bead_filter filter = { 0 };
	struct bead_row *row;
	enum err e = find_bead(c, s->beads, in->id, &row);

	if (e)
		return e;
	filter.parent = row->id;
	if (!(e = query_each(c, &s->beads->cache, &filter, &row)))
		public_encode_all(reply, row, &shape);
	return e;
}

const struct op op_bead_children = {
	.name = "bead children",
	.help = "List the parts of a bead, closed ones too",
	.flags = BEAD_READ,
	.body_size = sizeof(struct children_body),
	.fields = children_fields,
	.reply = &beads_reply,
	.run = run_children,
};

/* --- stale --- */

struct stale_body {
	struct list statuses;
	struct shape_body shape;
	int64_t days, limit;
};

static const struct field stale_fields[] = {
	{ "days", &kind_int, offsetof(struct stale_body, days), .letter = 'd', .min = 1,
	  .max = 36500, .preset = "30", .help = "for so many days" },
	{ "status", &kind_word, offsetof(struct stale_body, statuses),
	  FIELD_LIST | FIELD_COMMAS, .letter = 's', .words = &bead_statuses,
	  .help = "in one of these states" },
	{ "limit", &kind_int, offsetof(struct stale_body, limit), .letter = 'n', .min = 0,
	  .preset = "50", .help = "at most so many; 0: all" },
	SHAPE_FIELDS(struct stale_body, shape),
	{ 0 },
};

static enum err run_stale(struct call *c, struct stores *s, const void *body,
			  struct json *reply)
{
	const struct stale_body *in = body;
	struct shape shape = shape_of(c, &in->shape);
	struct filter_body which = { FILTER_NONE, .statuses = in->statuses };
	struct bead_filter filter;
	struct bead_row *row;
	enum err e = filter_of(c, s->beads, &which, false, &filter);

	filter.updated_before = c->now_ms - in->days * 24 * 3600 * 1000;
	filter.sort = SORT_UPDATED;
	filter.reverse = true;
	filter.limit = in->limit;
	if (!e && !(e = query_each(c, &s->beads->cache, &filter, &row)))
		public_encode_all(reply, row, &shape);
	return e;
}

const struct op op_bead_stale = {
	.name = "bead stale",
	.help = "List beads that nobody has touched for long, the longest first",
	.flags = BEAD_READ,
	.body_size = sizeof(struct stale_body),
	.fields = stale_fields,
	.reply = &beads_reply,
	.run = run_stale,
};
