#include "base/text/json.h"
#include "live/activity.h"
#include "op/op.h"
#include "ops/ops.h"

/* abacus log: what agents and people did, from all stores, in one order. */

struct body {
	int64_t since, until, limit;
	int kind;
	struct str agent, bead;
	bool follow, exact;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "follow", &kind_bool, AT(follow), FIELD_CLI | FIELD_LOOK, .role = ROLE_FOLLOW,
	  .letter = 'f', .help = "wait for new activity and print it; Ctrl-C ends" },
	{ "since", &kind_moment, AT(since), .arg = "TIME",
	  .help = "only activity since then: 30m, 2d, or 2026-01-31T12:00:00Z" },
	{ "until", &kind_moment, AT(until), .arg = "TIME", .help = "only activity until then" },
	{ "kind", &kind_word, AT(kind), .words = &act_kinds, .help = "only activity of this kind" },
	{ "agent", &kind_str, AT(agent), .arg = "NAME", .min = 1, .max = 200,
	  .help = "only activity of this agent, and messages to it" },
	{ "bead", &kind_bead, AT(bead), .arg = "ID", .help = "only activity about this bead" },
	{ "limit", &kind_int, AT(limit), .role = ROLE_LIMIT, .letter = 'n', .min = 1, .max = 10000,
	  .preset = "30", .help = "maximum number of lines" },
	{ "long", &kind_bool, AT(exact), FIELD_CLI | FIELD_LOOK, .role = ROLE_LONG,
	  .help = "print exact times, and whole lines" },
	{ 0 },
};

static const struct prop act_props[] = {
	{ "id at kind what by|null bead_id|null title|null to[] category|null text|null", NULL },
	{ 0 },
};

static enum err project_log_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	const struct body *in = body;
	struct activity_ask ask = { .agent = in->agent,
				    .bead = in->bead,
				    .since_ms = in->since,
				    .until_ms = in->until == ABSENT ? 0 : in->until,
				    .kinds = in->kind < 0 ? 0 : 1U << in->kind,
				    .limit = (size_t)in->limit };
	struct act **acts;
	size_t count;
	enum err e = activity_read(c, &ask, &acts, &count);

	(void)s;
	if (e)
		return e;
	json_array(reply);
	for (size_t i = 0; i < count; i++)
		act_encode(reply, acts[i]);
	json_end(reply);
	return ERR_OK;
}

const struct op op_project_log = {
	.name = "log",
	.help = "Show recent activity, newest last",
	.more = "Lists changes of beads, comments, mail, posts, statuses, artifacts and "
		"reservations in one order. With -f, waits for new activity and prints it, with "
		"the time of day in UTC; with --json, one object per line.",
	.examples = "abacus log\n"
		    "abacus log -f\n"
		    "abacus log --since 2h --agent amber-otter\n"
		    "abacus log --bead a1b2 --json",
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "activity[]", act_props },
	.run = project_log_run,
};
