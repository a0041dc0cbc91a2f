#include "base/json.h"
#include "ops/bead_ops.h"
#include "ops/ops.h"

/* On a command line the label comes last: "bd label add ID... LABEL". */
struct body {
	struct list words, ids;
	struct guard guard;
	struct str label;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "words", &kind_line, AT(words), FIELD_LIST | FIELD_PLACE | FIELD_CLI,
	  .arg = "ID… LABEL", .min = 1, .max = MAX_WORD, .most = MAX_IDS,
	  .help = "which beads, and then the label" },
	{ "ids", &kind_bead, AT(ids), FIELD_LIST | FIELD_WIRE | FIELD_REQUIRED,
	  .most = MAX_IDS, .help = "which beads" },
	{ "label", &kind_line, AT(label), FIELD_WIRE | FIELD_REQUIRED, .min = 1,
	  .max = MAX_WORD, .help = "the label" },
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

struct plan {
	struct str labels; /* with commas between them */
	bool add;
};

static bool listed(struct str labels, struct str one)
{
	struct str label;

	while (str_next(&labels, ',', &label))
		if (str_eq(str_trim(label), one))
			return true;
	return false;
}

static enum err step(struct edit *e, struct state *change, const void *body)
{
	const struct plan *plan = body;
	size_t have, n = 0;
	struct str *now = bead_labels(&e->c->mem, &e->now, &have), rest = plan->labels,
		   label;
	struct str *out = arena_array(&e->c->mem, have + plan->labels.n + 1, sizeof *out);

	(void)change;
	for (size_t i = 0; i < have; i++)
		if (!listed(plan->labels, now[i]))
			out[n++] = now[i];
	while (plan->add && str_next(&rest, ',', &label))
		if (str_trim(label).n)
			out[n++] = str_trim(label);
	edit_labels(e, out, n);
	return ERR_OK;
}

static enum err run(struct call *c, struct stores *s, const struct body *in, bool add,
		    struct json *reply)
{
	const struct str *words = in->words.item;
	struct list ids = in->ids;
	struct plan plan = { in->label, add };

	if (!c->wire) {
		if (in->words.n < 2) {
			call_fail(c, ERR_USAGE, "a bead and a label are needed");
			return call_step(c, "Usage: bd label %s ID… LABEL",
					 add ? "add" : "remove");
		}
		ids = in->words;
		plan.labels = words[--ids.n];
	}
	return edit_and_reply(c, s->beads, &ids, &in->guard, step, &plan, reply);
}

static enum err run_add(struct call *c, struct stores *s, const void *body,
			struct json *reply)
{
	return run(c, s, body, true, reply);
}

static enum err run_remove(struct call *c, struct stores *s, const void *body,
			   struct json *reply)
{
	return run(c, s, body, false, reply);
}

const struct op op_bead_label_add = {
	.name = "bead label add",
	.help = "Put a label on beads",
	.flags = BEAD_WRITE | OP_IDEMPOTENT,
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &beads_reply,
	.run = run_add,
};

const struct op op_bead_label_remove = {
	.name = "bead label remove",
	.help = "Take a label off beads",
	.flags = BEAD_WRITE | OP_IDEMPOTENT,
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &beads_reply,
	.run = run_remove,
};

/* --- what labels there are --- */

struct list_body {
	struct str id;
};

static const struct field list_fields[] = {
	ID_FIELD(struct list_body, id),
	{ 0 },
};

static enum err run_list(struct call *c, struct stores *s, const void *body,
			 struct json *reply)
{
	const struct list_body *in = body;
	struct bead_row *row;
	struct str *label;
	struct edit edit;
	size_t count;
	enum err e;

	if ((e = find_bead(c, s->beads, in->id, &row)) ||
	    (e = edit_begin(c, s->beads, row, &edit)))
		return e;
	label = bead_labels(&c->mem, &edit.now, &count);
	json_array(reply);
	for (size_t i = 0; i < count; i++)
		json_str(reply, label[i]);
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_label_list = {
	.name = "bead label list",
	.help = "Show the labels of a bead",
	.flags = BEAD_READ,
	.body_size = sizeof(struct list_body),
	.fields = list_fields,
	.reply = &(const struct prop){ "labels", PROP_STR, PROP_LIST, NULL },
	.run = run_list,
};

static const struct prop all_props[] = {
	{ "label", PROP_STR, 0, NULL },
	{ "count", PROP_INT, 0, NULL },
	{ 0 },
};

static enum err run_all(struct call *c, struct stores *s, const void *body,
			struct json *reply)
{
	struct tally *t;
	enum err e = query_labels(c, &s->beads->cache, &t);

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
	.help = "List all labels in use, and how often",
	.flags = BEAD_READ,
	.reply = &(const struct prop){ "labels", PROP_OBJECT, PROP_LIST, all_props },
	.run = run_all,
};
