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

static const struct prop held_props[] = {
	{ "id", PROP_STR, 0, NULL },
	{ "title", PROP_STR, 0, NULL },
	{ "lease_ends_at", PROP_STR, PROP_NULL, NULL },
	{ 0 },
};

static const struct prop agent_props[] = {
	{ "agent_id", PROP_STR, 0, NULL },
	{ "machine", PROP_STR, PROP_OPTIONAL, NULL },
	{ "registered", PROP_BOOL, 0, NULL },
	{ "role", PROP_STR, PROP_NULL, NULL },
	{ "liveness", PROP_STR, PROP_NULL, NULL },
	{ "stuck", PROP_OBJECT, PROP_NULL, stuck_props },
	{ "last_seen_at", PROP_STR, PROP_NULL, NULL },
	{ "status", PROP_STR, PROP_NULL, NULL },
	{ "task", PROP_STR, PROP_NULL, NULL },
	{ "blockers", PROP_STR, PROP_NULL, NULL },
	{ "beads", PROP_OBJECT, PROP_LIST, held_props },
	{ "scopes", PROP_STR, PROP_LIST, NULL },
	{ "unread", PROP_INT, 0, NULL },
	{ "to_accept", PROP_INT, 0, NULL },
	{ "last_act", PROP_OBJECT, PROP_NULL, NULL },
	{ 0 },
};

static const struct prop attention_props[] = {
	{ "kind", PROP_STR, 0, NULL },
	{ "agent_id", PROP_STR, PROP_NULL, NULL },
	{ "bead_id", PROP_STR, PROP_NULL, NULL },
	{ "scope", PROP_STR, PROP_NULL, NULL },
	{ "since", PROP_STR, PROP_NULL, NULL },
	{ "text", PROP_STR, 0, NULL },
	{ "command", PROP_STR, 0, NULL },
	{ 0 },
};

static const struct prop bead_props[] = {
	{ "id", PROP_STR, 0, NULL },
	{ "title", PROP_STR, 0, NULL },
	{ "status", PROP_STR, 0, NULL },
	{ "type", PROP_STR, 0, NULL },
	{ "priority", PROP_INT, 0, NULL },
	{ "assignee", PROP_STR, PROP_NULL, NULL },
	{ "owner_liveness", PROP_STR, PROP_NULL, NULL },
	{ "lease_ends_at", PROP_STR, PROP_NULL, NULL },
	{ "created_at", PROP_STR, 0, NULL },
	{ "updated_at", PROP_STR, 0, NULL },
	{ "open_children", PROP_INT, 0, NULL },
	{ "blocked_by", PROP_STR, PROP_LIST, NULL },
	{ 0 },
};

static const struct prop sync_props[] = {
	{ "tried_at", PROP_STR, PROP_NULL, NULL },  { "succeeded_at", PROP_STR, PROP_NULL, NULL },
	{ "pushed_at", PROP_STR, PROP_NULL, NULL }, { "failures", PROP_INT, 0, NULL },
	{ "message", PROP_STR, PROP_NULL, NULL },   { 0 },
};

static const struct prop props[] = {
	{ "at", PROP_STR, 0, NULL },
	{ "agents_total", PROP_INT, 0, NULL },
	{ "agents_active", PROP_INT, 0, NULL },
	{ "agents", PROP_OBJECT, PROP_LIST, agent_props },
	{ "attention", PROP_OBJECT, PROP_LIST, attention_props },
	{ "attention_total", PROP_INT, 0, NULL },
	{ "in_progress_total", PROP_INT, 0, NULL },
	{ "in_progress", PROP_OBJECT, PROP_LIST, bead_props },
	{ "ready_total", PROP_INT, 0, NULL },
	{ "ready", PROP_OBJECT, PROP_LIST, bead_props },
	{ "blocked_total", PROP_INT, 0, NULL },
	{ "blocked", PROP_OBJECT, PROP_LIST, bead_props },
	{ "sync", PROP_OBJECT, PROP_NULL, sync_props },
	{ 0 },
};

static enum err project_status_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;

	(void)s;
	return project_status_encode(c, (size_t)in->limit, reply);
}

static const char *const examples[] = { "abacus status", "abacus status --limit 20", NULL };

const struct op op_project_status = {
	.name = "status",
	.help = "Show agents, what needs attention, and open work on one screen",
	.more = "Lists the agents with their beads and reserved files, then what needs attention "
		"(failed syncs, lost claims, requests for input, stuck agents, expired claims and "
		"reservations, incursions, unacknowledged messages), then the beads in progress, ready "
		"and blocked, and the last sync. The totals of beads are counted up to 501. Stores "
		"that do not exist are left out.",
	.examples = examples,
	.flags = OP_LOST,
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &(const struct prop){ "status", PROP_OBJECT, 0, props },
	.run = project_status_run,
};
