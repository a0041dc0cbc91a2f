#include "beads/claim.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct list ids;
	struct guard guard;
	int64_t lease, timeout;
	int exclusive;
};

static const struct field claim_fields[] = {
	IDS_FIELD(struct body, ids),
	{ "lease", &kind_duration, offsetof(struct body, lease),
	  .help = "lease duration (default: the setting claim.lease, 1h)" },
	EXCLUSIVE_FIELDS(struct body, exclusive, timeout, 0),
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static const struct field lease_fields[] = {
	IDS_FIELD(struct body, ids),
	{ "lease", &kind_duration, offsetof(struct body, lease),
	  .help = "lease duration (default: the setting claim.lease, 1h)" },
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static const struct field fields[] = {
	IDS_FIELD(struct body, ids),
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static const char *const claim_examples[] = {
	"bd claim bd-a1b2 --lease 30m --json",
	"bd claim bd-a1b2 --exclusive",
	"bd renew bd-a1b2",
	NULL,
};

typedef enum err claim_act(struct edit *e, int64_t lease_ms);

static enum err with_lease(struct edit *e, const struct body *in, claim_act *act)
{
	int64_t lease;
	enum err err = lease_of(e->c, e->b, in->lease, &lease);

	return err ? err : act(e, lease);
}

static enum err bead_claim_take(struct edit *e, struct state *change, const void *body)
{
	(void)change;
	return with_lease(e, body, claim_take);
}

static enum err bead_claim_renew(struct edit *e, struct state *change, const void *body)
{
	(void)change;
	return with_lease(e, body, claim_renew);
}

static enum err bead_claim_release(struct edit *e, struct state *change, const void *body)
{
	(void)change, (void)body;
	return claim_release(e);
}

static enum err bead_claim_run_claim(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	const struct body *in = body;

	return edit_and_reply(c, s->beads, &in->ids, &in->guard, bead_claim_take, body, reply);
}

static enum err bead_claim_run_renew(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	const struct body *in = body;

	return edit_and_reply(c, s->beads, &in->ids, &in->guard, bead_claim_renew, body, reply);
}

static enum err bead_claim_run_unclaim(struct call *c, struct stores *s, const void *body,
				       struct json *reply)
{
	const struct body *in = body;

	return edit_and_reply(c, s->beads, &in->ids, &in->guard, bead_claim_release, body, reply);
}

const struct op op_bead_claim = {
	.name = "bead claim",
	.help = "Claim beads for exclusive work until the lease ends",
	.more = "The reply contains the epoch of the claim. Pass it as --epoch with later "
		"writes: they are refused once another agent has claimed the bead. Without "
		"--exclusive, agents in two clones may claim one bead at the same time: when the "
		"clones sync, the later claim wins, and the other agent is told. With --exclusive, "
		"the remote decides before the command returns: the claim counts only once the "
		"remote has it, and `durability` is `remote`. 'bd config set claim.exclusive true' "
		"makes that the default.",
	.examples = claim_examples,
	.flags = BEAD_WRITE | OP_CLAIMS,
	.body_size = sizeof(struct body),
	.fields = claim_fields,
	.reply = &beads_reply,
	.run = bead_claim_run_claim,
};

const struct op op_bead_renew = {
	.name = "bead renew",
	.help = "Extend the lease on claimed beads",
	.more = "The epoch of the claim stays the same.",
	.flags = BEAD_WRITE,
	.body_size = sizeof(struct body),
	.fields = lease_fields,
	.reply = &beads_reply,
	.run = bead_claim_run_renew,
};

const struct op op_bead_unclaim = {
	.name = "bead unclaim",
	.help = "Release claimed beads; they are open again",
	.flags = BEAD_WRITE,
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &beads_reply,
	.run = bead_claim_run_unclaim,
};
