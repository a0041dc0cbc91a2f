#include "base/moment.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct list ids;
	struct guard guard;
	int64_t until;
};

static const struct field defer_fields[] = {
	IDS_FIELD(struct body, ids),
	{ "until", &kind_later, offsetof(struct body, until),
	  .help = "time from which it is ready again (default: until 'bd undefer')" },
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static const struct field undefer_fields[] = {
	IDS_FIELD(struct body, ids),
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static enum err bead_defer_step(struct edit *e, struct state *change, const void *body)
{
	const struct body *in = body;
	struct str until = { 0 };

	(void)change;
	if (bead_status(&e->now) == BEAD_CLOSED)
		return call_fail(e->c, ERR_CLOSED, "'" STR_FMT "' is closed", STR_ARG(e->row->id));
	if (in->until != ABSENT && in->until)
		until = moment_format(&e->c->mem, in->until);
	edit_text(e, MEMBER_DEFER_UNTIL, until);
	edit_text(e, MEMBER_ORIGINAL_STATUS, STR("deferred"));
	return ERR_OK;
}

static enum err bead_undefer_step(struct edit *e, struct state *change, const void *body)
{
	(void)change;
	(void)body;
	edit_set(e, MEMBER_DEFER_UNTIL, STR_NONE);
	if (str_is(bead_member(&e->now, MEMBER_ORIGINAL_STATUS), "\"deferred\""))
		edit_set(e, MEMBER_ORIGINAL_STATUS, STR_NONE);
	return ERR_OK;
}

static enum err bead_defer_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	const struct body *in = body;

	return edit_and_reply(c, s->beads, &in->ids, &in->guard, bead_defer_step, body, reply);
}

static enum err bead_undefer_run(struct call *c, struct stores *s, const void *body,
				 struct json *reply)
{
	const struct body *in = body;

	return edit_and_reply(c, s->beads, &in->ids, &in->guard, bead_undefer_step, body, reply);
}

const struct op op_bead_defer = {
	.name = "bead defer",
	.help = "Postpone beads: they are not ready before a time",
	.examples = "bd defer bd-a1b2 --until 2026-12-01\n"
		    "bd defer bd-a1b2 --until 2d",
	.flags = BEAD_WRITE,
	OP_BODY(struct body, defer_fields),
	.reply = &beads_reply,
	.run = bead_defer_run,
};

const struct op op_bead_undefer = {
	.name = "bead undefer",
	.help = "Make deferred beads ready again",
	.flags = BEAD_WRITE,
	OP_BODY(struct body, undefer_fields),
	.reply = &beads_reply,
	.run = bead_undefer_run,
};
