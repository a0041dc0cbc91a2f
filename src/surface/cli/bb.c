#include "ops/ops.h"
#include "surface/cli/face.h"
#include "surface/mcp/mcp.h"
#include "surface/view/bb_view.h"

#define AT(member) offsetof(struct globals, member)

static const struct field globals[] = {
	{ "as", &kind_str, AT(actor), .also = "actor agent", .arg = "NAME",
	  .help = "your name as an agent or a person" },
	{ "dir", &kind_path, AT(dir), .min = 1, .help = "the project, instead of looking for it" },
	{ "request_id", &kind_str, AT(request_id), .arg = "ID",
	  .help = "repeat a write safely: same id, one effect" },
	{ "json", &kind_bool, AT(json), .help = "print JSON" },
	{ "quiet", &kind_bool, AT(quiet), .letter = 'q', .help = "print only what was asked for" },
	{ "mcp", &kind_bool, AT(mcp), .help = "the same as the command mcp" },
	{ "version", &kind_bool, AT(version), .help = "print the version" },
	{ "help", &kind_bool, AT(help), .letter = 'h', .help = "explain" },
	{ 0 },
};

#define AGENT(words, op, view, flags)                                         \
	{                                                                     \
		words, &op_##op, view, NULL, COMMAND_ENVELOPE | (flags), NULL \
	}

static const struct command commands[] = {
	{ "init", &op_board_init, bb_view_init, NULL, 0, NULL },
	{ "install", &op_board_install, bb_view_install, NULL, 0, NULL },
	{ "destroy", &op_board_destroy, bb_view_destroy, NULL, COMMAND_CONFIRM, NULL },
	{ "status", &op_board_status, bb_view_agents, NULL, 0, NULL },
	{ "status set", &op_board_status_set, bb_view_status_set, NULL, 0, NULL },
	{ "status get", &op_board_status_get, bb_view_agent, NULL, 0, NULL },
	{ "status clear", &op_board_status_clear, bb_view_status_clear, NULL, 0, NULL },
	{ "log", &op_board_log, bb_view_log, NULL, 0, NULL },
	{ "post", &op_board_post, bb_view_post, NULL, 0, NULL },
	{ "message", &op_board_message, bb_view_thread, NULL, 0, NULL },
	{ "artifacts", &op_board_artifacts, bb_view_artifacts, NULL, 0, NULL },
	{ "artifact add", &op_board_artifact_add, bb_view_artifact_add, NULL, 0, NULL },
	{ "artifact show", &op_board_artifact_show, bb_view_artifact, NULL, 0, NULL },
	{ "refs", &op_board_refs, bb_view_refs, NULL, 0, NULL },
	{ "clear", &op_board_clear, bb_view_clear, NULL, COMMAND_CONFIRM | COMMAND_ASKS, NULL },
	{ "export", &op_board_export, NULL, NULL, 0, NULL },
	{ "summary", &op_board_summary, bb_view_summary, NULL, 0, NULL },
	AGENT("agent register", agent_register, bb_view_registered, 0),
	AGENT("agent init", agent_init, bb_view_session, 0),
	AGENT("agent list", agent_list, bb_view_registry, 0),
	AGENT("agent show", agent_show, bb_view_registered, 0),
	AGENT("agent heartbeat", agent_heartbeat, bb_view_registered, 0),
	AGENT("agent activity-lease", agent_heartbeat, bb_view_registered, COMMAND_ALIAS),
	AGENT("agent send", agent_send, bb_view_sent, 0),
	AGENT("agent inbox", agent_inbox, bb_view_inbox, 0),
	AGENT("agent read", agent_read, bb_view_mail, 0),
	AGENT("agent ack", agent_ack, bb_view_mail, 0),
	AGENT("agent reserve", agent_reserve, bb_view_reserved, 0),
	AGENT("agent release", agent_release, bb_view_reservation, 0),
	AGENT("agent status", agent_status, bb_view_agent_status, 0),
	AGENT("agent wait", agent_wait, bb_view_waited, COMMAND_CHECKS),
	AGENT("agent guard", agent_guard, bb_view_guard, COMMAND_VERDICT),
	AGENT("agent guard install", agent_guard_install, bb_view_hooks, 0),
	AGENT("agent guard uninstall", agent_guard_uninstall, bb_view_hooks, 0),
	AGENT("agent events", agent_events, bb_view_events, 0),
	{ "mcp", &op_mcp, NULL, mcp_start, 0, NULL },
	{ 0 },
};

static const char *const actor_variables[] = { "BB_AGENT_ID", NULL };

static const char *const environment[] = {
	"BB_AGENT_ID",
	"your name, without --as; before ABACUS_AGENT",
	"ABACUS_AGENT",
	"your name on every face; then BD_ACTOR, VYBE_AGENT",
	"BB_DIR",
	"the project's folder, without --dir",
	"BB_AGENT_STALE_MINUTES",
	"idle minutes until an agent is stale (default 15)",
	"ABACUS_NOW",
	"the current time (RFC 3339 or ms), for tests",
	"NO_COLOR",
	"turn off colour",
	NULL,
};

const struct face face_bb = {
	.name = "bb",
	.about = "a blackboard for the agents and people of one project",
	.more = "Agents post messages, say what they are doing and register the files they made; "
		"everybody in the project sees it. The board is one SQLite database in the folder "
		".bb; no server runs.",
	.globals = globals,
	.commands = commands,
	.default_actor = "human",
	.environment = environment,
	.actor_variables = actor_variables,
	.dir_variable = "BB_DIR",
};
