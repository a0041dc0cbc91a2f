#include "base/text/json.h"
#include "live/conversation.h"
#include "live/overview.h"
#include "op/op.h"
#include "ops/agent/agent_ops.h"
#include "ops/ops.h"

/* The page's operations: the overview of all agents, and one bead with its whole conversation. */

struct sessions_body {
	struct overview_ask ask;
	struct list ids;
};

static const struct field sessions_fields[] = {
	{ "all", &kind_bool, offsetof(struct sessions_body, ask.all),
	  .help = "show closed beads too" },
	{ "brief", &kind_bool, offsetof(struct sessions_body, ask.brief),
	  .help = "show only agents, reservations and incursions" },
	{ "ids", &kind_str, offsetof(struct sessions_body, ids), FIELD_LIST | FIELD_COMMAS,
	  .arg = "ID", .most = 500, .help = "bead ids to show, without the mail about them" },
	{ 0 },
};

static const struct prop act_props[] = {
	{ "at", PROP_STR, 0, NULL },
	{ "by", PROP_STR, PROP_NULL, NULL },
	{ "what", PROP_STR, 0, NULL },
	{ 0 },
};

#define TASK_PROPS                                                               \
	{ "status", PROP_STR, PROP_OPTIONAL, NULL },                             \
		{ "priority", PROP_INT, PROP_OPTIONAL, NULL },                   \
		{ "type", PROP_STR, PROP_OPTIONAL, NULL },                       \
		{ "assignee", PROP_STR, PROP_OPTIONAL | PROP_NULL, NULL },       \
		{ "owner_liveness", PROP_STR, PROP_OPTIONAL | PROP_NULL, NULL }, \
		{ "lease_ends_at", PROP_STR, PROP_OPTIONAL | PROP_NULL, NULL },  \
		{ "parent", PROP_STR, PROP_OPTIONAL | PROP_NULL, NULL },         \
		{ "blockers", PROP_INT, PROP_OPTIONAL, NULL },                   \
		{ "open_children", PROP_INT, PROP_OPTIONAL, NULL },              \
		{ "free_from", PROP_STR, PROP_OPTIONAL | PROP_NULL, NULL },      \
		{ "waits_for", PROP_STR, PROP_OPTIONAL | PROP_NULL, NULL },      \
		{ "created_at", PROP_STR, PROP_OPTIONAL, NULL },                 \
		{ "updated_at", PROP_STR, PROP_OPTIONAL, NULL },                 \
		{ "unread", PROP_INT, PROP_OPTIONAL, NULL },                     \
		{ "to_accept", PROP_INT, PROP_OPTIONAL, NULL },                  \
		{ "labels", PROP_STR, PROP_OPTIONAL | PROP_LIST, NULL },         \
	{                                                                        \
		"last_act", PROP_OBJECT, PROP_OPTIONAL, act_props                \
	}

static const struct prop task_props[] = {
	{ "id", PROP_STR, 0, NULL },
	{ "title", PROP_STR, 0, NULL },
	TASK_PROPS,
	{ 0 },
};

static const struct prop session_props[] = {
	{ "id", PROP_STR, PROP_NULL, NULL },
	{ "title", PROP_STR, 0, NULL },
	TASK_PROPS,
	{ "total", PROP_INT, 0, NULL },
	{ "closed", PROP_INT, 0, NULL },
	{ "tasks", PROP_OBJECT, PROP_LIST, task_props },
	{ 0 },
};

static const struct prop agent_props[] = {
	{ "agent_id", PROP_STR, 0, NULL },
	{ "display_name", PROP_STR, 0, NULL },
	{ "role", PROP_STR, 0, NULL },
	{ "status", PROP_STR, 0, NULL },
	{ "last_seen_at", PROP_STR, 0, NULL },
	{ "liveness", PROP_STR, 0, NULL },
	{ "stuck", PROP_OBJECT, PROP_NULL, stuck_props },
	{ "unread", PROP_INT, 0, NULL },
	{ "to_accept", PROP_INT, 0, NULL },
	{ "machine", PROP_STR, PROP_OPTIONAL, NULL },
	{ 0 },
};

static const struct prop shown_reservation_props[] = {
	{ "reservation_id", PROP_STR, 0, NULL }, { "scope", PROP_STR, 0, NULL },
	{ "path", PROP_STR, 0, NULL },           { "agent_id", PROP_STR, 0, NULL },
	{ "bead_id", PROP_STR, 0, NULL },        { "owner_liveness", PROP_STR, PROP_NULL, NULL },
	{ "created_at", PROP_STR, 0, NULL },     { "expires_at", PROP_STR, 0, NULL },
	{ "epoch", PROP_INT, 0, NULL },          { "expired", PROP_BOOL, 0, NULL },
	{ "stale", PROP_BOOL, 0, NULL },         { 0 },
};

static const struct prop sessions_props[] = {
	{ "at", PROP_STR, 0, NULL },
	{ "sessions", PROP_OBJECT, PROP_LIST | PROP_OPTIONAL, session_props },
	{ "tasks", PROP_OBJECT, PROP_LIST | PROP_OPTIONAL, task_props },
	{ "agents", PROP_OBJECT, PROP_LIST | PROP_OPTIONAL, agent_props },
	{ "stuck", PROP_OBJECT, PROP_LIST | PROP_OPTIONAL, stuck_props },
	{ "reservations", PROP_OBJECT, PROP_LIST | PROP_OPTIONAL, shown_reservation_props },
	{ "incursions", PROP_OBJECT, PROP_LIST | PROP_OPTIONAL, NULL },
	{ 0 },
};

static enum err project_session_run_sessions(struct call *c, struct stores *s, const void *body,
					     struct json *reply)
{
	const struct sessions_body *in = body;

	struct overview_ask ask = in->ask;

	(void)s;
	ask.ids = in->ids.item;
	ask.id_count = in->ids.n;
	return overview_encode(c, &ask, reply);
}

const struct op op_sessions = {
	.name = "sessions",
	.help = "Show epics, tasks, agents and reservations",
	.body_size = sizeof(struct sessions_body),
	.fields = sessions_fields,
	.reply = &(const struct prop){ "sessions", PROP_OBJECT, 0, sessions_props },
	.run = project_session_run_sessions,
};

struct conversation_body {
	struct str bead;
};

static const struct field conversation_fields[] = {
	{ "bead", &kind_bead, offsetof(struct conversation_body, bead),
	  FIELD_REQUIRED | FIELD_PLACE, .help = "bead id" },
	{ 0 },
};

static const struct prop item_props[] = {
	{ "kind", PROP_STR, 0, NULL },
	{ "at", PROP_STR, 0, NULL },
	{ "by", PROP_STR, PROP_NULL, NULL },
	{ 0 },
};

static const struct prop conversation_props[] = {
	{ "bead", PROP_OBJECT, PROP_NULL, NULL },
	{ "items", PROP_OBJECT, PROP_LIST, item_props },
	{ 0 },
};

static enum err project_session_run_conversation(struct call *c, struct stores *s, const void *body,
						 struct json *reply)
{
	const struct conversation_body *in = body;

	(void)s;
	return conversation_encode(c, in->bead, reply);
}

static const char *const conversation_examples[] = { "abacus conversation a1b2", NULL };

const struct op op_conversation = {
	.name = "conversation",
	.help = "Show everything about a bead in one thread",
	.more = "Shows changes, comments, mail, protocol events, posts, artifacts and continuity "
		"events, oldest first.",
	.examples = conversation_examples,
	.body_size = sizeof(struct conversation_body),
	.fields = conversation_fields,
	.reply = &(const struct prop){ "conversation", PROP_OBJECT, 0, conversation_props },
	.run = project_session_run_conversation,
};
