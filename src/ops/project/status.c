#include "base/text/json.h"
#include "live/project_status.h"
#include "op/op.h"
#include "ops/agent/agent_ops.h"
#include "ops/ops.h"

/* abacus status: the project on one screen. */

struct body {
	int64_t limit;
};

static const struct field fields[] = {
	{ "limit", &kind_int, offsetof(struct body, limit), .role = ROLE_LIMIT, .letter = 'n',
	  .min = 1, .max = 500, .preset = "8", .help = "maximum number of entries in each list" },
	{ 0 },
};

static const struct prop held_props[] = { { "id title lease_ends_at|null", NULL }, { 0 } };

static const struct prop agent_props[] = {
	{ "agent_id machine? registered:bool role|null liveness|null", NULL },
	{ "stuck|null", stuck_props },
	{ "last_seen_at|null status|null task|null blockers|null", NULL },
	{ "beads[]", held_props },
	{ "scopes[] unread:int to_accept:int last_act:object|null", NULL },
	{ 0 },
};

static const struct prop attention_props[] = {
	{ "kind agent_id|null bead_id|null scope|null message_id|null since|null text command",
	  NULL },
	{ 0 },
};

static const struct prop bead_props[] = {
	{ "id title status type priority:int assignee|null owner_liveness|null", NULL },
	{ "lease_ends_at|null created_at updated_at open_children:int blocked_by[]", NULL },
	{ 0 },
};

static const struct prop sync_props[] = {
	{ "tried_at|null succeeded_at|null pushed_at|null failures:int message|null", NULL },
	{ 0 },
};

static const struct prop props[] = {
	{ "at agents_total:int agents_active:int", NULL },
	{ "agents[]", agent_props },
	{ "attention[]", attention_props },
	{ "attention_total:int in_progress_total:int", NULL },
	{ "in_progress[]", bead_props },
	{ "ready_total:int", NULL },
	{ "ready[]", bead_props },
	{ "blocked_total:int", NULL },
	{ "blocked[]", bead_props },
	{ "sync|null", sync_props },
	{ 0 },
};

static enum err project_status_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;

	(void)s;
	return project_status_encode(c, (size_t)in->limit, reply);
}

const struct op op_project_status = {
	.name = "status",
	.help = "Show agents, what needs attention, and open work",
	.more = "Lists the agents with their beads and reserved files, then what needs attention "
		"(failed syncs, lost claims, requests for input, stuck agents, expired claims and "
		"reservations, incursions, unacknowledged messages), then the beads in progress, ready "
		"and blocked, and the last sync. The totals of beads are counted up to 501. Stores "
		"that do not exist are left out.",
	.examples = "abacus status\n"
		    "abacus status --limit 20",
	.flags = OP_LOST,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "status", props },
	.run = project_status_run,
};
