#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"
#include "store/db/bead_tally.h"

struct bead_labels_list_body {
	struct str id;
};

static const struct field list_fields[] = {
	ID_FIELD(struct bead_labels_list_body, id),
	{ 0 },
};

static enum err bead_labels_run_list(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	const struct bead_labels_list_body *in = body;
	struct bead_row *row;
	struct str *label;
	struct edit edit;
	size_t count;
	enum err e;

	if ((e = find_bead(c, s->beads, in->id, &row)) || (e = edit_begin(c, s->beads, row, &edit)))
		return e;
	label = bead_labels(&c->mem, &edit.now, &count);
	json_strs(reply, label, count);
	return ERR_OK;
}

const struct op op_bead_label_list = {
	.name = "bead label list",
	.help = "Show the labels of a bead",
	.flags = BEAD_READ,
	OP_BODY(struct bead_labels_list_body, list_fields),
	.reply = &(const struct prop){ "labels[]", NULL },
	.run = bead_labels_run_list,
};

static const struct prop all_props[] = { { "label count:int", NULL }, { 0 } };

static enum err bead_labels_run_all(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	struct tally *t;
	enum err e = tally_labels(c, &s->beads->cache, &t);

	(void)body;
	json_array(reply);
	for (; !e && t; t = t->next) {
		json_object(reply);
		json_put_str(reply, "label", t->key);
		json_put_int(reply, "count", t->count);
		json_end(reply);
	}
	json_end(reply);
	return e;
}

const struct op op_bead_label_list_all = {
	.name = "bead label list-all",
	.help = "List all labels with their counts",
	.flags = BEAD_READ,
	.reply = &(const struct prop){ "labels[]", all_props },
	.run = bead_labels_run_all,
};
