#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct stale_body {
	struct list statuses;
	struct shape_body shape;
	int64_t days, limit;
};

static const struct field stale_fields[] = {
	{ "days", &kind_span, offsetof(struct stale_body, days), .letter = 'd',
	  .unit = 24 * 3600 * 1000, .min = 1, .max = 36500, .preset = "30",
	  .help = "minimum time without an update, such as 2w; a bare number is days" },
	{ "status", &kind_word, offsetof(struct stale_body, statuses), FIELD_LIST | FIELD_COMMAS,
	  .letter = 's', .words = &bead_statuses, .help = "statuses to include" },
	{ "limit", &kind_int, offsetof(struct stale_body, limit), .role = ROLE_LIMIT, .letter = 'n',
	  .min = 0, .preset = "50", .help = "maximum number of results; 0 shows all" },
	SHAPE_FIELDS(struct stale_body, shape),
	{ 0 },
};

static enum err bead_stale_run_stale(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	const struct stale_body *in = body;
	struct shape shape = shape_of(c, &in->shape);
	struct filter_body which = { FILTER_NONE, .statuses = in->statuses };
	struct bead_filter filter;
	int64_t count;
	enum err e = filter_of(c, s->beads, &which, false, &filter);

	filter.updated_before = (struct bound){ true, c->now_ms - in->days * 24 * 3600 * 1000 };
	filter.sort = SORT_UPDATED;
	filter.reverse = true;
	filter.limit = in->limit;
	return e ? e : public_encode_all(c, &s->beads->cache, filter, &shape, reply, &count);
}

const struct op op_bead_stale = {
	.name = "bead stale",
	.help = "List beads without recent updates, stalest first",
	.flags = BEAD_READ,
	OP_BODY(struct stale_body, stale_fields),
	.reply = &beads_reply,
	.run = bead_stale_run_stale,
};
