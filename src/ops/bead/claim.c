#include "beads/claim.h"
#include "agents/stuck.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct list ids;
	struct guard guard;
	int64_t lease, timeout;
	int exclusive;
	bool takeover;
};

static const struct field claim_fields[] = {
	IDS_FIELD(struct body, ids),
	{ "lease", &kind_duration, offsetof(struct body, lease),
	  .help = "lease duration (default: the setting claim.lease, 1h)" },
	{ "takeover_stuck", &kind_bool, offsetof(struct body, takeover),
	  .help = "take the claim of an agent that is stuck" },
	EXCLUSIVE_FIELDS(struct body, exclusive, timeout, 0),
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static const struct field lease_fields[] = {
	IDS_FIELD(struct body, ids),
	{ "lease", &kind_duration, offsetof(struct body, lease),
	  .help = "lease duration (default: the setting claim.lease, 1h)" },
	EXCLUSIVE_FIELDS(struct body, exclusive, timeout, 0),
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static const struct field fields[] = {
	IDS_FIELD(struct body, ids),
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

typedef enum err claim_act(struct edit *e, int64_t lease_ms);

static enum err with_lease(struct edit *e, const struct body *in, claim_act *act)
{
	int64_t lease;
	enum err err = lease_of(e->c, e->b, in->lease, &lease);

	return err ? err : act(e, lease);
}

/* A claim, and the stuck agents that lose theirs by it. */
struct claim_taking {
	const struct body *in;
	struct stuck **from;
};

static struct str bead_claim_not_stuck(struct call *c, const struct stuck *s)
{
	if (!s->seen_ms)
		return STR("is not known to be stuck: no hook of its host has reported anything "
			   "here");
	if (s->waits_ms)
		return arena_fmt(&c->mem,
				 "is not stuck: it waits until %s for the reset of its host's rate "
				 "limit",
				 moment_format(&c->mem, s->waits_ms).p);
	return arena_fmt(&c->mem, "is not stuck: its last report came at %s",
			 moment_format(&c->mem, s->seen_ms).p);
}

static enum err bead_claim_take_over(struct edit *e, const struct claim_taking *t)
{
	struct stuck *from = arena_new(&e->c->mem, struct stuck);
	int64_t lease;
	bool is;
	enum err err = lease_of(e->c, e->b, t->in->lease, &lease);

	*from = (struct stuck){ .agent = bead_text(&e->c->mem, &e->now, MEMBER_ASSIGNEE),
				.bead = e->row->id,
				.epoch = bead_stamp(&e->now, MEMBER_ASSIGNEE_AT) };
	if (err || (err = stuck_holder(e->c, e->b->home, from, &is)))
		return err;
	if (!is)
		return claim_refuse_takeover(e, bead_claim_not_stuck(e->c, from));
	if ((err = claim_adopt(e, from->agent, lease)))
		return err;
	edit_note(e, arena_fmt(&e->c->mem, "Took over the claim of " STR_FMT ", which " STR_FMT,
			       STR_ARG(from->agent), STR_ARG(stuck_text(e->c, from))));
	from->next = *t->from;
	*t->from = from;
	return ERR_OK;
}

static enum err bead_claim_take(struct edit *e, struct state *change, const void *arg)
{
	const struct claim_taking *t = arg;

	(void)change;
	if (t->in->takeover && claim_is_anothers(e))
		return bead_claim_take_over(e, t);
	return with_lease(e, t->in, claim_take);
}

static void bead_claim_after(struct call *c, void *seen)
{
	for (const struct stuck *from = seen; from; from = from->next)
		stuck_succeed(c, from);
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
	struct stuck *from = NULL;
	struct claim_taking taking = { in, &from };
	enum err e =
		edit_and_reply(c, s->beads, &in->ids, &in->guard, bead_claim_take, &taking, reply);

	s->seen = from;
	return e;
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
		"makes that the default. With --takeover-stuck, a claim is taken from an agent whose "
		"hooks have reported nothing for the time of the setting stuck.after (10m), or the "
		"same failing call five times: it gets a new epoch, the reservations for the bead "
		"come with it, and the former holder is told by mail.",
	.examples = "bd claim bd-a1b2 --lease 30m --json\n"
		    "bd claim bd-a1b2 --exclusive\n"
		    "bd claim bd-a1b2 --takeover-stuck\n"
		    "bd renew bd-a1b2",
	.flags = BEAD_WRITE | OP_CLAIMS,
	OP_BODY(struct body, claim_fields),
	.reply = &beads_reply,
	.run = bead_claim_run_claim,
	.after = bead_claim_after,
};

const struct op op_bead_renew = {
	.name = "bead renew",
	.help = "Extend the lease on claimed beads",
	.more = "The epoch of the claim stays the same. With --exclusive, or the setting "
		"claim.exclusive, the remote has the new end before the command returns. Every other "
		"write by the holder extends the lease, too, and reaches the remote with the next "
		"sync.",
	.flags = BEAD_WRITE | OP_CLAIMS,
	OP_BODY(struct body, lease_fields),
	.reply = &beads_reply,
	.run = bead_claim_run_renew,
};

const struct op op_bead_unclaim = {
	.name = "bead unclaim",
	.help = "Release claimed beads; they are open again",
	.flags = BEAD_WRITE,
	OP_BODY(struct body, fields),
	.reply = &beads_reply,
	.run = bead_claim_run_unclaim,
};
