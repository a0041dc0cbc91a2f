#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

/* On a command line the label comes last: "bd label add ID... LABEL". */
struct body {
	struct list words, ids;
	struct guard guard;
	struct str label;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "words", &kind_line, AT(words), FIELD_LIST | FIELD_PLACE | FIELD_CLI, .arg = "ID… LABEL",
	  .min = 1, .max = MAX_WORD, .most = MAX_IDS, .help = "bead ids, followed by the label" },
	{ "ids", &kind_bead, AT(ids), FIELD_LIST | FIELD_WIRE | FIELD_REQUIRED, .most = MAX_IDS,
	  .help = "bead ids" },
	{ "label", &kind_line, AT(label), FIELD_WIRE | FIELD_REQUIRED, .min = 1, .max = MAX_WORD,
	  .help = "label" },
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

struct plan {
	struct str labels; /* separated by commas */
	bool add;
};

static bool bead_label_listed(struct str labels, struct str one)
{
	struct str label;

	while (str_next(&labels, ',', &label))
		if (str_eq(str_trim(label), one))
			return true;
	return false;
}

static enum err bead_label_step(struct edit *e, struct state *change, const void *body)
{
	const struct plan *plan = body;
	size_t have, n = 0;
	struct str *now = bead_labels(&e->c->mem, &e->now, &have), rest = plan->labels, label;
	struct str *out = arena_array(&e->c->mem, have + plan->labels.n + 1, sizeof *out);

	(void)change;
	for (size_t i = 0; i < have; i++)
		if (!bead_label_listed(plan->labels, now[i]))
			out[n++] = now[i];
	while (plan->add && str_next(&rest, ',', &label))
		if (str_trim(label).n)
			out[n++] = str_trim(label);
	edit_labels(e, out, n);
	return ERR_OK;
}

static enum err bead_label_run(struct call *c, struct stores *s, const struct body *in, bool add,
			       struct json *reply)
{
	const struct str *words = in->words.item;
	struct list ids = in->ids;
	struct plan plan = { in->label, add };

	if (!c->wire) {
		if (in->words.n < 2) {
			call_fail(c, ERR_USAGE, "a bead id and a label are required");
			return call_step(c, "Usage: bd label %s ID… LABEL", add ? "add" : "remove");
		}
		ids = in->words;
		plan.labels = words[--ids.n];
	}
	return edit_and_reply(c, s->beads, &ids, &in->guard, bead_label_step, &plan, reply);
}

static enum err bead_label_run_add(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	return bead_label_run(c, s, body, true, reply);
}

static enum err bead_label_run_remove(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	return bead_label_run(c, s, body, false, reply);
}

const struct op op_bead_label_add = {
	.name = "bead label add",
	.help = "Add a label to beads",
	.examples = "bd label add bd-a1b2 urgent",
	.flags = BEAD_WRITE | OP_IDEMPOTENT,
	OP_BODY(struct body, fields),
	.reply = &beads_reply,
	.run = bead_label_run_add,
};

const struct op op_bead_label_remove = {
	.name = "bead label remove",
	.help = "Remove a label from beads",
	.examples = "bd label remove bd-a1b2 urgent",
	.flags = BEAD_WRITE | OP_IDEMPOTENT,
	OP_BODY(struct body, fields),
	.reply = &beads_reply,
	.run = bead_label_run_remove,
};
