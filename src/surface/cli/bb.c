#include "ops/ops.h"
#include "surface/cli/face.h"
#include "surface/mcp/mcp.h"
#include "surface/view/bb_view.h"

#define AT(member) offsetof(struct globals, member)

static const struct field globals[] = {
	{ "as", &kind_str, AT(actor), .also = "actor agent", .arg = "NAME",
	  .help = "your name as an agent or a person" },
	{ "dir", &kind_path, AT(dir), .min = 1,
	  .help = "the project's folder (default: found "
		  "from the current one)" },
	{ "request_id", &kind_str, AT(request_id), .arg = "ID",
	  .help = "id of the write; a repeat with the same id has no second effect" },
	{ "json", &kind_bool, AT(json), .help = "print JSON" },
	{ "quiet", &kind_bool, AT(quiet), .letter = 'q', .help = "print only the result" },
	{ "mcp", &kind_bool, AT(mcp), .help = "same as the command mcp" },
	{ "version", &kind_bool, AT(version), .help = "print the version" },
	{ "help", &kind_bool, AT(help), .letter = 'h', .help = "show this help" },
	{ 0 },
};

#define AGENT(words, id, shown, more)                                              \
	{                                                                          \
		words, &op_##id, .view = shown, .flags = COMMAND_ENVELOPE | (more) \
	}

static const struct command commands[] = {
	{ "post", &op_board_post, .view = bb_view_post, .group = "Board" },
	{ "log", &op_board_log, .view = bb_view_log },
	{ "message", &op_board_message, .view = bb_view_thread },
	{ "status", &op_board_status, .view = bb_view_agents },
	{ "status set", &op_board_status_set, .view = bb_view_status_set },
	{ "status get", &op_board_status_get, .view = bb_view_agent },
	{ "status clear", &op_board_status_clear, .view = bb_view_status_clear },
	{ "artifacts", &op_board_artifacts, .view = bb_view_artifacts },
	{ "artifact add", &op_board_artifact_add, .view = bb_view_artifact_add },
	{ "artifact show", &op_board_artifact_show, .view = bb_view_artifact },
	{ "artifact-add", &op_board_artifact_add, .view = bb_view_artifact_add,
	  .flags = COMMAND_ALIAS },
	{ "artifact-show", &op_board_artifact_show, .view = bb_view_artifact,
	  .flags = COMMAND_ALIAS },
	{ "refs", &op_board_refs, .view = bb_view_refs },
	{ "summary", &op_board_summary, .view = bb_view_summary },
	{ "agent register", &op_agent_register, .view = bb_view_register, .flags = COMMAND_ENVELOPE,
	  .group = "Agents, mail and reservations" },
	AGENT("agent init", agent_init, bb_view_session, 0),
	AGENT("agent list", agent_list, bb_view_registry, 0),
	AGENT("agent show", agent_show, bb_view_registered, 0),
	AGENT("agent heartbeat", agent_heartbeat, bb_view_registered, 0),
	AGENT("agent activity-lease", agent_heartbeat, bb_view_registered, COMMAND_ALIAS),
	AGENT("agent send", agent_send, bb_view_sent, 0),
	AGENT("agent inbox", agent_inbox, bb_view_inbox, 0),
	AGENT("agent read", agent_read, bb_view_read, 0),
	AGENT("agent ack", agent_ack, bb_view_acked, 0),
	AGENT("agent wait", agent_wait, bb_view_waited, COMMAND_CHECKS),
	AGENT("agent reserve", agent_reserve, bb_view_reserved, 0),
	AGENT("agent release", agent_release, bb_view_reservation, 0),
	AGENT("agent status", agent_status, bb_view_agent_status, 0),
	AGENT("agent guard", agent_guard, bb_view_guard, COMMAND_VERDICT),
	AGENT("agent guard install", agent_guard_install, bb_view_hooks, 0),
	AGENT("agent guard uninstall", agent_guard_uninstall, bb_view_hooks, 0),
	AGENT("agent events", agent_events, bb_view_events, 0),
	{ "init", &op_board_init, .view = bb_view_init, .group = "Set-up and upkeep" },
	{ "install", &op_board_install, .view = bb_view_install },
	{ "mcp", &op_mcp, .start = mcp_start },
	{ "export", .op = &op_board_export },
	{ "clear", &op_board_clear, .view = bb_view_clear,
	  .flags = COMMAND_CONFIRM | COMMAND_ASKS },
	{ "destroy", &op_board_destroy, .view = bb_view_destroy, .flags = COMMAND_CONFIRM },
	{ 0 },
};

static const char *const actor_variables[] = { "BB_AGENT_ID", NULL };

static const char *const environment[] = {
	"BB_AGENT_ID",
	"your name, if --as is not given",
	"ABACUS_AGENT",
	"the same, for all programs; if BB_AGENT_ID is unset",
	"BB_DIR",
	"the project's folder, if --dir is not given",
	"BB_AGENT_STALE_MINUTES",
	"idle minutes until an agent is stale (default 15)",
	"ABACUS_NOW",
	"the current time (RFC 3339 or ms), for tests",
	"COLUMNS",
	"width of the output (default: the terminal's, else 80)",
	"NO_COLOR",
	"turn off colour",
	NULL,
};

const struct face face_bb = {
	.name = "bb",
	.about = "a message board, mail and file reservations for agents",
	.more = "Agents post messages, report their status and register files; everybody in the "
		"project sees them. The board is one SQLite database in the folder .bb; it needs "
		"no server.",
	.globals = globals,
	.commands = commands,
	.default_actor = "human",
	.environment = environment,
	.actor_variables = actor_variables,
	.dir_variable = "BB_DIR",
};
