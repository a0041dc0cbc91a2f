/* The commands of `bd`. */
#include <stdlib.h>
#include <unistd.h>

#include "base/system/path.h"
#include "ops/ops.h"
#include "store/git/git_config.h"
#include "store/place.h"
#include "surface/cli/bead_edit.h"
#include "surface/cli/face.h"
#include "surface/upstream/compat.h"
#include "surface/upstream/dialect.h"
#include "surface/view/bd_view.h"
#include "surface/view/work_view.h"

#define AT(member) offsetof(struct globals, member)

#define IGNORED(name)                                                        \
	{                                                                    \
		name, &kind_bool, AT(ignored), FIELD_HIDDEN,                 \
			.help = "accepted for compatibility, without effect" \
	}
#define IGNORED_TEXT(name)                                                   \
	{                                                                    \
		name, &kind_str, AT(ignored_text), FIELD_HIDDEN,             \
			.help = "accepted for compatibility, without effect" \
	}

static const struct field globals[] = {
	{ "as", &kind_str, AT(actor), .also = "actor agent", .arg = "NAME",
	  .help = "your name as an agent or a person" },
	{ "dir", &kind_path, AT(dir), .letter = 'C', .min = 1,
	  .help = "folder of the repository (default: the current one)" },
	{ "request_id", &kind_str, AT(request_id), .arg = "ID",
	  .help = "id of the write; a repeat with the same id has no second effect" },
	{ "json", &kind_bool, AT(json), .help = "print JSON" },
	{ "silent", &kind_bool, AT(silent), .help = "print only ids" },
	{ "quiet", &kind_bool, AT(quiet), .letter = 'q', .help = "print only the result" },
	{ "version", &kind_bool, AT(version), .letter = 'V', .help = "print the version" },
	{ "help", &kind_bool, AT(help), .letter = 'h', .help = "show this help" },
	{ "all", &kind_bool, AT(all), FIELD_HIDDEN, .help = "with help: list every command" },
	IGNORED("no_daemon"),
	IGNORED("no_auto_flush"),
	IGNORED("no_auto_import"),
	IGNORED("allow_stale"),
	IGNORED("sandbox"),
	IGNORED("no_db"),
	{ "verbose", &kind_bool, AT(ignored), FIELD_HIDDEN, .letter = 'v',
	  .help = "accepted for compatibility, without effect" },
	IGNORED_TEXT("dolt_auto_commit"),
	IGNORED_TEXT("lock_timeout"),
	IGNORED_TEXT("db"),
	{ 0 },
};

/* A command for users of upstream bd. */
#define COMPAT(words, operation, ...) { words, &op_##operation, __VA_ARGS__ },
#define HIDDEN                        (COMMAND_ALIAS | COMMAND_COMPAT)
#define LOOSE                         (HIDDEN | COMMAND_LOOSE)
#define GROUP                         .group = "For users of upstream bd"

/* The members of a bead that a table row shows. */
#define ROW                                                                      \
	"id,title,status,priority,type,assignee,assignee_expires,parent,labels," \
	"created_at,blocked_by_count"

static const struct command commands[] = {
	{ "create", &op_bead_create, .view = bd_view_created, .group = "Work" },
	{ "new", &op_bead_create, .view = bd_view_created, .flags = COMMAND_ALIAS },
	{ "q", &op_bead_create, .flags = COMMAND_ALIAS | COMMAND_IDS | COMMAND_JOINS },
	{ "update", &op_bead_update, .view = bd_view_updated },
	{ "edit", &op_bead_edit, .start = bead_edit_start },
	{ "show", &op_bead_show, .view = bd_view_show },
	{ "view", &op_bead_show, .view = bd_view_show, .flags = COMMAND_ALIAS },
	{ "list", &op_bead_list, .view = bd_view_list, .flags = COMMAND_LONG, .fields = ROW },
	{ "ls", &op_bead_list, .view = bd_view_list, .flags = COMMAND_LONG | COMMAND_ALIAS,
	  .fields = ROW },
	{ "search", &op_bead_search, .view = bd_view_list, .flags = COMMAND_LONG | COMMAND_JOINS,
	  .fields = ROW },
	{ "ready", &op_bead_ready, .view = bd_view_ready, .flags = COMMAND_LONG,
	  .fields = ROW ",container,open_children" },
	{ "why", &op_bead_why, .view = bd_view_why },
	{ "touches", &op_bead_touches, .view = work_view_touches },
	{ "conflicts", &op_bead_conflicts, .view = work_view_conflicts },
	{ "defer", &op_bead_defer, .view = bd_view_deferred },
	{ "undefer", &op_bead_undefer, .view = bd_view_updated },
	{ "claim", &op_bead_claim, .view = bd_view_claimed },
	{ "renew", &op_bead_renew, .view = bd_view_claimed },
	{ "unclaim", &op_bead_unclaim, .view = bd_view_updated },
	{ "reclaim", &op_bead_reclaim, .view = bd_view_reclaimed },
	{ "close", &op_bead_close, .view = bd_view_closed },
	{ "done", &op_bead_close, .view = bd_view_closed, .flags = COMMAND_ALIAS },
	{ "reopen", &op_bead_reopen, .view = bd_view_reopened },
	{ "delete", &op_bead_delete, .view = bd_view_deleted, .flags = COMMAND_PREVIEWS },
	{ "undelete", &op_bead_undelete, .view = bd_view_restored },
	{ "undo", &op_bead_undo, .view = bd_view_undo, .flags = COMMAND_PREVIEWS },
	{ "deleted", &op_bead_deleted, .view = bd_view_tombstones, .flags = COMMAND_LONG },
	{ "comment", &op_bead_comment, .view = bd_view_comment },
	{ "comments add", &op_bead_comment, .view = bd_view_comment, .flags = COMMAND_ALIAS },
	{ "comments", &op_bead_comments, .view = bd_view_comments },
	{ "label add", &op_bead_label_add, .view = bd_view_updated },
	{ "label remove", &op_bead_label_remove, .view = bd_view_updated },
	{ "label list", &op_bead_label_list, .view = bd_view_labels },
	{ "label list-all", &op_bead_label_list_all, .view = bd_view_all_labels },
	{ "count", &op_bead_count, .view = bd_view_count },
	{ "stale", &op_bead_stale, .view = bd_view_list, .flags = COMMAND_LONG, .fields = ROW },
	{ "dep add", &op_bead_dep_add, .view = bd_view_edge, .group = "Dependencies" },
	{ "dep remove", &op_bead_dep_remove, .view = bd_view_edges },
	{ "dep rm", &op_bead_dep_remove, .view = bd_view_edges, .flags = COMMAND_ALIAS },
	{ "dep list", &op_bead_dep_list, .view = bd_view_links },
	{ "dep tree", &op_bead_dep_tree, .view = bd_view_tree },
	{ "dep cycles", &op_bead_dep_cycles, .view = bd_view_cycles },
	{ "blocked", &op_bead_blocked, .view = bd_view_blocked, .flags = COMMAND_LONG,
	  .fields = ROW },
	{ "children", &op_bead_children, .view = bd_view_list, .flags = COMMAND_LONG,
	  .fields = ROW },
	{ "epic status", &op_bead_epic_status, .view = bd_view_epics, .flags = COMMAND_LONG },
	{ "epic close-eligible", &op_bead_epic_close_eligible, .view = bd_view_epics },
	{ "graph", &op_bead_graph, .view = bd_view_graph },
	{ "sync", &op_bead_sync, .view = bd_view_sync, .group = "Sync and history" },
	{ "dolt push", &op_bead_sync, .view = bd_view_sync, .flags = COMMAND_ALIAS },
	{ "dolt pull", &op_bead_sync, .view = bd_view_sync, .flags = COMMAND_ALIAS },
	{ "dolt commit", &op_bead_sync, .view = bd_view_sync, .flags = COMMAND_ALIAS },
	{ "export", &op_bead_export, .view = bd_view_export, .flags = COMMAND_TEXT },
	{ "import", &op_bead_import, .view = bd_view_import, .flags = COMMAND_CHECKS },
	{ "status", &op_bead_status, .view = bd_view_status },
	{ "stats", &op_bead_status, .view = bd_view_status, .flags = COMMAND_ALIAS },
	{ "commits", &op_bead_commits, .view = bd_view_commits },
	{ "history", &op_bead_history, .view = bd_view_history },
	{ "blame", &op_bead_blame, .view = bd_view_blame },
	{ "diff", &op_bead_diff, .view = bd_view_diff },
	{ "trend", &op_bead_trend, .view = bd_view_trend },
	{ "init", &op_bead_init, .view = bd_view_init, .group = "Set-up and upkeep" },
	{ "config get", &op_bead_config_get, .view = bd_view_setting },
	{ "config set", &op_bead_config_set, .view = bd_view_setting },
	{ "config unset", &op_bead_config_unset, .view = bd_view_setting },
	{ "config list", &op_bead_config_list, .view = bd_view_settings },
	{ "where", &op_bead_where, .view = bd_view_where },
	{ "info", &op_bead_info, .view = bd_view_info },
	{ "doctor", &op_bead_doctor, .view = bd_view_doctor, .flags = COMMAND_CHECKS },
	{ "validate", &op_bead_validate, .view = bd_view_validate, .flags = COMMAND_CHECKS },
	{ "repair", &op_bead_repair, .view = bd_view_repair },
	{ "version", &op_bead_version, .view = bd_view_version },
#include "surface/upstream/compat.def"
	{ 0 },
};

static const char *const environment[] = {
	"BD_ACTOR",
	"your name, if --as is not given (or BEADS_ACTOR)",
	"ABACUS_AGENT",
	"the same, for all programs; if BD_ACTOR is unset",
	"BEADS_DIR",
	"a folder of the repository, if --dir is not given",
	"ABACUS_NOW",
	"the current time (RFC 3339 or ms), for tests",
	"ABACUS_AUTOSYNC",
	"set to 0 to turn off background sync",
	"BD_JSON_DIALECT",
	"set to upstream to print JSON as upstream bd does",
	"BD_TOMBSTONE_TTL_MS",
	"ms for which deletions are kept (at least 7 days)",
	"VISUAL",
	"the editor of 'bd edit' (or EDITOR)",
	"COLUMNS",
	"width of the output (default: the terminal's, else 80)",
	"NO_COLOR",
	"turn off colour",
	NULL,
};

static struct str bd_login(struct call *c)
{
	const char *user = getenv("USER");
	char host[256] = "";

	gethostname(host, sizeof host - 1);
	return arena_fmt(&c->mem, "%s@%s", user && *user ? user : "user",
			 *host ? host : "localhost");
}

static const char *const actor_variables[] = { "BD_ACTOR", "BEADS_ACTOR", NULL };

struct str bd_actor(struct call *c)
{
	struct repository repo;
	struct str name = { 0 };

	if (place_repository(c, c->project.p ? path_resolve(&c->mem, c->dir, c->project) : c->dir,
			     &repo))
		repo = (struct repository){ 0 };
	git_config_user(c, repo.common, &name);
	c->actor_source = name.p ? ACTOR_GIT_USER : ACTOR_LOGIN;
	return name.p ? name : bd_login(c);
}

const struct face face_bd = {
	.name = "bd",
	.about = "track work items that merge through Git",
	.more = "A bead is a work item: a task, a bug, a feature. It has a status and "
		"dependencies, is claimed by one agent at a time, and is closed when it is done. "
		"Beads live in the Git directory; they need no server.",
	.globals = globals,
	.commands = commands,
	.environment = environment,
	.dialect = DIALECT_BEADS,
	.actor_variables = actor_variables,
	.actor = bd_actor,
	.dir_variable = "BEADS_DIR",
	.translates = dialect_is_upstream,
	.render = dialect_render,
};
