/* The commands of `abacus`, and the views of those that only it has. */
#include "ops/ops.h"
#include "surface/cli/face.h"
#include "surface/cli/follow.h"
#include "surface/cli/on.h"
#include "surface/cli/pipe.h"
#include "surface/cli/run.h"
#include "surface/cli/top.h"
#include "surface/docs/docs.h"
#include "surface/mcp/mcp.h"
#include "surface/service/service.h"
#include "surface/view/bb_view.h"
#include "surface/view/log_view.h"
#include "surface/view/machines_view.h"
#include "surface/view/session_view.h"
#include "surface/view/status_view.h"
#include "surface/view/view.h"
#include "surface/view/work_view.h"

#define AT(member) offsetof(struct globals, member)

static const struct field globals[] = {
	{ "as", &kind_str, AT(actor), .also = "actor agent", .arg = "NAME",
	  .help = "your name as an agent or a person" },
	{ "dir", &kind_path, AT(dir), .min = 1,
	  .help = "the project's folder (default: found "
		  "from the current one)" },
	{ "json", &kind_bool, AT(json), .help = "print JSON" },
	{ "version", &kind_bool, AT(version), .help = "print the version" },
	{ "help", &kind_bool, AT(help), .letter = 'h', .help = "show this help" },
	{ 0 },
};

static void view_project(struct view *v, const struct value *data)
{
	const struct value *beads = value_find(data, "beads"), *board = value_find(data, "board"),
			   *agents = value_find(data, "agents");

	view_say(v, beads, "Beads:  {store} ({result}, ids begin with '{prefix}-')");
	view_say(v, board, "Board:  {project_dir}/.bb ({result})");
	view_say(v, agents, "Agents: {path} ({result})");
	view_line(v, "No file of yours was changed.\n\nFor the agents that work here, add this "
		     "to AGENTS.md:\n");
	view_lines(v, view_whole(value_find(data, "agents_md")));
	view_line(v,
		  "Next:\n  abacus install HOST --write  add the tools to a host, such as claude\n"
		  "  bb agent guard install       make Git enforce reservations");
}

static void view_stores(struct view *v, const struct value *data)
{
	VALUE_EACH(one, data) {
		struct str path = value_str(one, "path");

		view_line(v, STR_FMT ": " STR_FMT, STR_ARG(value_str(one, "store")),
			  STR_ARG(path.p ? path : STR("none")));
		view_say(v, one, "  {why}");
	}
}

static void view_moved(struct view *v, const struct value *data)
{
	bool moved = str_is(value_str(data, "result"), "moved");

	view_line(v, "The store is %s in " STR_FMT, moved ? "now" : "already",
		  STR_ARG(value_str(data, "store")));
}

static void view_files(struct view *v, const struct value *data)
{
	const struct value *files = value_find(data, "files"),
			   *commits = value_find(data, "commits");

	VALUE_EACH(item, files)
		view_line(v, STR_FMT, STR_ARG(item->text));
	if (value_find(data, "more")->yes)
		view_line(v, "There are more files; these are the first %zu.", files->count);
	for (size_t i = 0; i < commits->count; i++) {
		const struct value *one = &commits->item[i], *own = value_find(one, "files");

		view_paint(v, PAINT_YELLOW, str_head(value_str(one, "commit"), 10));
		view_line(v, "  " STR_FMT "  " STR_FMT " (%zu %s)",
			  STR_ARG(value_str(one, "author")), STR_ARG(value_str(one, "summary")),
			  own->count, own->count == 1 ? "file" : "files");
	}
}

static void view_findings(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "Nothing found.");
	VALUE_EACH(one, data) {
		struct str bead = value_str(one, "bead_id"), by = value_str(one, "by"),
			   key = value_str(one, "key"), name = bead.p ? bead : key;

		view_line(v, STR_FMT "  " STR_FMT "%s" STR_FMT "%s" STR_FMT,
			  STR_ARG(value_str(one, "kind")), STR_ARG(name), name.n ? "  " : "",
			  STR_ARG(by), by.n ? ": " : "", STR_ARG(value_str(one, "text")));
	}
}

static void view_whoami(struct view *v, const struct value *data)
{
	const struct value *claims = value_find(data, "claims"),
			   *reserved = value_find(data, "reservations");
	int64_t mail = value_count(data, "unread_mail"),
		accept = value_count(data, "mail_to_accept"),
		posts = value_count(data, "unread_posts");
	struct str role = value_str(data, "role"), before = value_str(data, "renamed_from");

	view_line(v, STR_FMT " (from " STR_FMT ")%s" STR_FMT "%s" STR_FMT,
		  STR_ARG(value_str(data, "actor")), STR_ARG(value_str(data, "source")),
		  role.p ? ", registered as " : ", not registered", STR_ARG(role),
		  role.p ? ", " : "", STR_ARG(value_str(data, "liveness")));
	if (before.p)
		view_line(v,
			  "  renamed from " STR_FMT
			  ", which an agent on another machine registered before you",
			  STR_ARG(before));
	VALUE_EACH(one, claims)
		view_say(v, one, "  works on {id}: {title}");
	VALUE_EACH(one, reserved)
		view_say(v, one, "  reserved {scope} for {bead_id}, ends {expires_at~}");
	if (mail || accept)
		view_line(v, "  %lld unread message%s, %lld to acknowledge: bb agent inbox",
			  (long long)mail, mail == 1 ? "" : "s", (long long)accept);
	if (posts)
		view_line(v, "  %lld unread post%s: bb log --unread", (long long)posts,
			  posts == 1 ? "" : "s");
}

static void view_doctor(struct view *v, const struct value *data)
{
	const struct value *checks = value_find(data, "checks");

	for (size_t i = 0; checks && i < checks->count; i++) {
		const struct value *one = &checks->item[i], *lost = value_find(one, "lost");
		struct str file = value_str(one, "file"), fix = value_str(one, "fix"),
			   kept = value_str(one, "kept");

		view_line(v, STR_FMT " " STR_FMT ": " STR_FMT, STR_ARG(value_str(one, "status")),
			  STR_ARG(file.p ? file : value_str(one, "store")),
			  STR_ARG(value_str(one, "message")));
		VALUE_EACH(item, lost)
			view_line(v, "   lost: " STR_FMT, STR_ARG(item->text));
		if (kept.p)
			view_line(v, "   the damaged file is kept as " STR_FMT, STR_ARG(kept));
		if (fix.p)
			view_line(v, "   → " STR_FMT, STR_ARG(fix));
	}
	if (!checks || !checks->count)
		view_line(v, "There are no stores here. 'abacus init' makes them.");
}

static const struct command commands[] = {
	{ "work", &op_project_work, .view = work_view_current, .group = "Work" },
	{ "work done", &op_project_work_done, .view = work_view_current },
	{ "work stop", &op_project_work_stop, .view = work_view_current },
	{ "run", &op_run, .start = run_start },
	{ "on", &op_project_on, .view = work_view_rules, .follow = on_follow },
	{ "slots", &op_project_slots, .view = work_view_slots },
	{ "slots set", &op_project_slots_set, .view = work_view_slots },
	{ "work trailer", &op_project_work_trailer, .flags = COMMAND_ALIAS | COMMAND_SILENT },
	{ "status", &op_project_status, .view = view_status, .group = "Overview" },
	{ "conversation", &op_conversation, .view = view_conversation },
	{ "sessions", &op_sessions, .view = view_sessions },
	{ "log", &op_project_log, .view = view_activity, .follow = follow_log },
	{ "search", &op_project_search, .view = view_findings },
	{ "files", &op_project_files, .view = view_files },
	{ "top", &op_top, .start = top_start },
	{ "open", &op_open, .view = view_open },
	{ "whoami", &op_project_whoami, .view = view_whoami },
	{ "init", &op_project_init, .view = view_project, .group = "Set-up and upkeep" },
	{ "install", &op_project_install, .view = bb_view_install },
	{ "where", &op_project_where, .view = view_stores },
	{ "move-store", &op_move_store, .view = view_moved },
	{ "doctor", &op_project_doctor, .view = view_doctor, .flags = COMMAND_CHECKS },
	{ "share on", &op_share_on, .view = view_share, .group = "Other machines" },
	{ "share off", &op_share_off, .view = view_share },
	{ "share status", &op_share_status, .view = view_share },
	{ "machines", &op_machines_list, .view = view_machines },
	{ "machines rename", &op_machines_rename, .view = view_machine },
	{ "machines forget", &op_machines_forget, .view = view_machine_forgotten },
	{ "machines trust", &op_machines_trust, .view = view_machine_trusted },
	{ "mcp", &op_abacus_mcp, .start = abacus_mcp_start, .group = "For programs" },
	{ "serve", &op_serve, .start = serve_start },
	{ "pipe", &op_pipe, .start = pipe_start },
	{ "schema", .op = &op_schema },
	{ "completion", &op_completion, .start = completion_start },
	{ "man", &op_man, .start = man_start },
	{ "docs", &op_docs, .start = docs_start },
	{ 0 },
};

const struct face face_abacus = {
	.name = "abacus",
	.about = "shared work for agents and people; 'abacus bd …' equals 'bd …'",
	.more = "The one program behind all the others: it sets up a project, serves it to agents' "
		"hosts, and prints schemas, completion scripts and manuals.",
	.globals = globals,
	.commands = commands,
	.actor = bd_actor,
};
