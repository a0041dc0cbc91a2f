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
	{ "tasks", &kind_int, offsetof(struct sessions_body, ask.most), .letter = 'n', .min = 0,
	  .preset = "50", .help = "maximum number of tasks of each epic; 0 shows all" },
	{ "ids", &kind_str, offsetof(struct sessions_body, ids), FIELD_LIST | FIELD_COMMAS,
	  .arg = "ID", .most = 500, .help = "bead ids to show, without the mail about them" },
	{ "limit", &kind_int, offsetof(struct sessions_body, ask.limit), .min = 1, .max = 5000,
	  .help = "number of beads on a page of all beads, without the mail about them" },
	{ "after", &kind_str, offsetof(struct sessions_body, ask.after), .arg = "PLACE",
	  .help = "'next' of the page before" },
	{ "mail", &kind_bool, offsetof(struct sessions_body, ask.mail),
	  .help = "show only how many messages about each bead are unread and unacked" },
	{ 0 },
};

static const struct prop act_props[] = { { "at by|null what", NULL }, { 0 } };

#define TASK_MEMBERS                                                                         \
	"title status? priority:int? type? assignee|null? owner_liveness|null? "             \
	"lease_ends_at|null? parent|null? blockers:int? open_children:int? free_from|null? " \
	"waits_for|null? created_at? updated_at? unread:int? to_accept:int? labels[]?"

static const struct prop task_props[] = {
	{ "id " TASK_MEMBERS, NULL },
	{ "last_act?", act_props },
	{ 0 },
};

static const struct prop session_props[] = {
	{ "id|null " TASK_MEMBERS, NULL },
	{ "last_act?", act_props },
	{ "total:int closed:int more:int", NULL },
	{ "tasks[]", task_props },
	{ 0 },
};

static const struct prop agent_props[] = {
	{ "agent_id display_name role status last_seen_at liveness", NULL },
	{ "stuck|null", stuck_props },
	{ "unread:int to_accept:int machine?", NULL },
	{ 0 },
};

static const struct prop shown_reservation_props[] = {
	{ "reservation_id scope path agent_id bead_id owner_liveness|null created_at", NULL },
	{ "expires_at epoch:int expired:bool stale:bool", NULL },
	{ 0 },
};

static const struct prop bead_mail_props[] = {
	{ "bead_id unread:int to_accept:int", NULL },
	{ "last_act", act_props },
	{ 0 },
};

static const struct prop sessions_props[] = {
	{ "at", NULL },
	{ "sessions[]?", session_props },
	{ "tasks[]?", task_props },
	{ "next|null?", NULL },
	{ "mail[]?", bead_mail_props },
	{ "agents[]?", agent_props },
	{ "stuck[]?", stuck_props },
	{ "reservations[]?", shown_reservation_props },
	{ "incursions:object[]?", NULL },
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
	OP_BODY(struct sessions_body, sessions_fields),
	.reply = &(const struct prop){ "sessions", sessions_props },
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

static const struct prop item_props[] = { { "kind at by|null", NULL }, { 0 } };

static const struct prop conversation_props[] = {
	{ "bead:object|null", NULL },
	{ "items[]", item_props },
	{ 0 },
};

static enum err project_session_run_conversation(struct call *c, struct stores *s, const void *body,
						 struct json *reply)
{
	const struct conversation_body *in = body;

	(void)s;
	return conversation_encode(c, in->bead, reply);
}

const struct op op_conversation = {
	.name = "conversation",
	.help = "Show everything about a bead in one thread",
	.more = "Shows changes, comments, mail, protocol events, posts, artifacts and continuity "
		"events, oldest first.",
	.examples = "abacus conversation a1b2",
	OP_BODY(struct conversation_body, conversation_fields),
	.reply = &(const struct prop){ "conversation", conversation_props },
	.run = project_session_run_conversation,
};
