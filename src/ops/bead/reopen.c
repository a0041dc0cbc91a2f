#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct list ids;
	struct guard guard;
	struct str reason;
	int status;
};

static const struct names to = NAMES_OF("open", "in_progress");

static const struct field fields[] = {
	IDS_FIELD(struct body, ids),
	{ "reason", &kind_str, offsetof(struct body, reason), .letter = 'r', .min = 1,
	  .max = MAX_TEXT, .help = "reason, added as a comment" },
	{ "status", &kind_word, offsetof(struct body, status), .letter = 's', .words = &to,
	  .preset = "open", .help = "new status" },
	FORCE_FIELD(struct body, guard, "reopen despite another agent's claim"),
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static enum err bead_reopen_step(struct edit *e, struct state *change, const void *body)
{
	const struct body *in = body;
	enum err err;

	(void)change;
	if (bead_status(&e->now) != BEAD_CLOSED)
		return ERR_OK;
	if ((err = edit_reopen(e, in->status)))
		return err;
	if (in->reason.p)
		edit_note(e, in->reason);
	return ERR_OK;
}

static enum err bead_reopen_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	const struct body *in = body;

	return edit_and_reply(c, s->beads, &in->ids, &in->guard, bead_reopen_step, body, reply);
}

const struct op op_bead_reopen = {
	.name = "bead reopen",
	.help = "Reopen closed beads",
	.examples = "bd reopen bd-a1b2",
	.flags = BEAD_WRITE | OP_IDEMPOTENT,
	OP_BODY(struct body, fields),
	.reply = &beads_reply,
	.run = bead_reopen_run,
};
