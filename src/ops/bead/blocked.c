#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct filter_body filter;
	struct shape_body shape;
	int64_t limit;
	int sort;
	bool reverse;
};

static const struct field fields[] = {
	FILTER_FIELDS(struct body, filter, SHOW_CLOSED),
	PAGE_FIELDS(struct body, limit, sort, reverse),
	SHAPE_FIELDS(struct body, shape),
	{ 0 },
};

struct bead_blocked_list {
	struct json *reply;
	struct arena scratch;
	struct shape shape;
	int64_t count;
};

static void bead_blocked_put(const struct bead_row *row, const struct shape *shape,
			     struct json *reply)
{
	struct str rest = row->waits, id;

	json_object(reply);
	public_put(reply, row, shape);
	if (!shape_names(shape, "blocked_by_count"))
		json_put_int(reply, "blocked_by_count", row->blockers);
	json_put_array(reply, "blocked_by");
	while (str_next(&rest, ',', &id))
		json_str(reply, id);
	json_end(reply);
	json_end(reply);
}

static bool bead_blocked_add(void *arg, const struct bead_row *row)
{
	struct bead_blocked_list *list = arg;
	struct json one;

	arena_reset(&list->scratch);
	one = json_new(&list->scratch);
	bead_blocked_put(row, &list->shape, &one);
	json_raw(list->reply, json_text(&one));
	list->count++;
	return true;
}

/* Writes each bead as it is read, so that a long list needs no memory. */
static enum err bead_blocked_run(struct call *c, struct stores *s, const void *body,
				 struct json *reply)
{
	const struct body *in = body;
	struct bead_blocked_list list = { .reply = reply, .shape = shape_of(c, &in->shape) };
	struct bead_filter filter;
	struct bead_row *none;
	enum err e = filter_of(c, s->beads, &in->filter, true, &filter);

	filter.lean = shape_lean(&list.shape);
	filter.blocked = true;
	filter.limit = in->limit;
	filter.sort = (enum bead_sort)in->sort;
	filter.reverse = in->reverse;
	filter.visit = bead_blocked_add;
	filter.arg = &list;
	if (e)
		return e;
	json_array(reply);
	e = query_each(c, &s->beads->cache, &filter, &none);
	json_end(reply);
	arena_release(&list.scratch);
	return e ? e : count_all(c, s->beads, &filter, list.count);
}

const struct op op_bead_blocked = {
	.name = "bead blocked",
	.help = "List blocked beads and their blockers",
	.flags = BEAD_READ,
	OP_BODY(struct body, fields),
	.reply = &beads_reply,
	.run = bead_blocked_run,
};
