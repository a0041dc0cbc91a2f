#include <stdlib.h>
#include <unistd.h>

#include "base/system/path.h"
#include "ops/ops.h"
#include "store/git/git_config.h"
#include "store/place.h"
#include "surface/cli/face.h"
#include "surface/view/bd_view.h"

#define AT(member) offsetof(struct globals, member)

#define IGNORED(name)                                                                      \
	{                                                                                  \
		name, &kind_bool, AT(ignored), FIELD_HIDDEN, .help = "has no meaning here" \
	}
#define IGNORED_TEXT(name)                                                                     \
	{                                                                                      \
		name, &kind_str, AT(ignored_text), FIELD_HIDDEN, .help = "has no meaning here" \
	}

static const struct field globals[] = {
	{ "as", &kind_str, AT(actor), .also = "actor agent", .arg = "NAME",
	  .help = "your name as an agent or a person" },
	{ "dir", &kind_path, AT(dir), .letter = 'C', .min = 1,
	  .help = "a folder of the repository, instead of this one" },
	{ "request_id", &kind_str, AT(request_id), .arg = "ID",
	  .help = "repeat a write safely: same id, one effect" },
	{ "json", &kind_bool, AT(json), .help = "print JSON" },
	{ "silent", &kind_bool, AT(silent), .help = "print only ids" },
	{ "quiet", &kind_bool, AT(quiet), .letter = 'q', .help = "print only what was asked for" },
	{ "version", &kind_bool, AT(version), .letter = 'V', .help = "print the version" },
	{ "help", &kind_bool, AT(help), .letter = 'h', .help = "explain" },
	IGNORED("no_daemon"),
	IGNORED("no_auto_flush"),
	IGNORED("no_auto_import"),
	IGNORED("allow_stale"),
	IGNORED("sandbox"),
	IGNORED("no_db"),
	IGNORED_TEXT("lock_timeout"),
	IGNORED_TEXT("db"),
	{ 0 },
};

/* The members of a bead that a row of a table shows. */
#define ROW "id,title,status,priority,type,assignee,assignee_expires,parent"

static const struct command commands[] = {
	{ "init", &op_bead_init, bd_view_init, NULL, 0, NULL },
	{ "create", &op_bead_create, bd_view_created, NULL, 0, NULL },
	{ "new", &op_bead_create, bd_view_created, NULL, COMMAND_ALIAS, NULL },
	{ "q", &op_bead_create, NULL, NULL, COMMAND_ALIAS | COMMAND_IDS, NULL },
	{ "update", &op_bead_update, bd_view_updated, NULL, 0, NULL },
	{ "show", &op_bead_show, bd_view_show, NULL, 0, NULL },
	{ "view", &op_bead_show, bd_view_show, NULL, COMMAND_ALIAS, NULL },
	{ "list", &op_bead_list, bd_view_list, NULL, 0, ROW },
	{ "ls", &op_bead_list, bd_view_list, NULL, COMMAND_ALIAS, ROW },
	{ "search", &op_bead_search, bd_view_list, NULL, 0, ROW },
	{ "ready", &op_bead_ready, bd_view_ready, NULL, 0, ROW ",container,open_children" },
	{ "why", &op_bead_why, bd_view_why, NULL, 0, NULL },
	{ "claim", &op_bead_claim, bd_view_claimed, NULL, 0, NULL },
	{ "renew", &op_bead_renew, bd_view_claimed, NULL, 0, NULL },
	{ "unclaim", &op_bead_unclaim, bd_view_updated, NULL, 0, NULL },
	{ "reclaim", &op_bead_reclaim, bd_view_reclaimed, NULL, 0, NULL },
	{ "close", &op_bead_close, bd_view_closed, NULL, 0, NULL },
	{ "done", &op_bead_close, bd_view_closed, NULL, COMMAND_ALIAS, NULL },
	{ "reopen", &op_bead_reopen, bd_view_updated, NULL, 0, NULL },
	{ "delete", &op_bead_delete, bd_view_deleted, NULL, COMMAND_PREVIEWS, NULL },
	{ "undelete", &op_bead_undelete, bd_view_updated, NULL, 0, NULL },
	{ "deleted", &op_bead_deleted, bd_view_tombstones, NULL, 0, NULL },
	{ "dep add", &op_bead_dep_add, bd_view_edge, NULL, 0, NULL },
	{ "dep remove", &op_bead_dep_remove, bd_view_edges, NULL, 0, NULL },
	{ "dep rm", &op_bead_dep_remove, bd_view_edges, NULL, COMMAND_ALIAS, NULL },
	{ "dep list", &op_bead_dep_list, bd_view_links, NULL, 0, NULL },
	{ "dep tree", &op_bead_dep_tree, bd_view_tree, NULL, 0, NULL },
	{ "dep cycles", &op_bead_dep_cycles, bd_view_cycles, NULL, 0, NULL },
	{ "blocked", &op_bead_blocked, bd_view_blocked, NULL, 0, ROW },
	{ "children", &op_bead_children, bd_view_list, NULL, 0, ROW },
	{ "comment", &op_bead_comment, bd_view_comment, NULL, 0, NULL },
	{ "comments add", &op_bead_comment, bd_view_comment, NULL, COMMAND_ALIAS, NULL },
	{ "comments", &op_bead_comments, bd_view_comments, NULL, 0, NULL },
	{ "label add", &op_bead_label_add, bd_view_updated, NULL, 0, NULL },
	{ "label remove", &op_bead_label_remove, bd_view_updated, NULL, 0, NULL },
	{ "label list", &op_bead_label_list, bd_view_labels, NULL, 0, NULL },
	{ "label list-all", &op_bead_label_list_all, bd_view_all_labels, NULL, 0, NULL },
	{ "status", &op_bead_status, bd_view_status, NULL, 0, NULL },
	{ "stats", &op_bead_status, bd_view_status, NULL, COMMAND_ALIAS, NULL },
	{ "sync", &op_bead_sync, bd_view_sync, NULL, 0, NULL },
	{ "dolt push", &op_bead_sync, bd_view_sync, NULL, COMMAND_ALIAS, NULL },
	{ "dolt pull", &op_bead_sync, bd_view_sync, NULL, COMMAND_ALIAS, NULL },
	{ "dolt commit", &op_bead_sync, bd_view_sync, NULL, COMMAND_ALIAS, NULL },
	{ "history", &op_bead_history, bd_view_history, NULL, 0, NULL },
	{ "commits", &op_bead_commits, bd_view_commits, NULL, 0, NULL },
	{ "blame", &op_bead_blame, bd_view_blame, NULL, 0, NULL },
	{ "diff", &op_bead_diff, bd_view_diff, NULL, 0, NULL },
	{ "count", &op_bead_count, bd_view_count, NULL, 0, NULL },
	{ "stale", &op_bead_stale, bd_view_list, NULL, 0, ROW },
	{ "epic status", &op_bead_epic_status, bd_view_epics, NULL, 0, NULL },
	{ "epic close-eligible", &op_bead_epic_close_eligible, bd_view_epics, NULL, 0, NULL },
	{ "graph", &op_bead_graph, bd_view_graph, NULL, 0, NULL },
	{ "validate", &op_bead_validate, bd_view_validate, NULL, COMMAND_CHECKS, NULL },
	{ "repair", &op_bead_repair, bd_view_repair, NULL, 0, NULL },
	{ "doctor", &op_bead_doctor, bd_view_doctor, NULL, COMMAND_CHECKS, NULL },
	{ "where", &op_bead_where, bd_view_where, NULL, 0, NULL },
	{ "info", &op_bead_info, bd_view_info, NULL, 0, NULL },
	{ "version", &op_bead_version, bd_view_version, NULL, 0, NULL },
	{ "config get", &op_bead_config_get, bd_view_setting, NULL, 0, NULL },
	{ "config set", &op_bead_config_set, bd_view_setting, NULL, 0, NULL },
	{ "config unset", &op_bead_config_unset, bd_view_setting, NULL, 0, NULL },
	{ "config list", &op_bead_config_list, bd_view_settings, NULL, 0, NULL },
	{ 0 },
};

static const char *const environment[] = {
	"BD_ACTOR",
	"your name, without --as; then BEADS_ACTOR",
	"ABACUS_AGENT",
	"your name on every face; then BB_AGENT_ID, VYBE_AGENT",
	"BEADS_DIR",
	"a folder of the repository, without --dir",
	"ABACUS_NOW",
	"the current time (RFC 3339 or ms), for tests",
	"ABACUS_AUTOSYNC",
	"0 turns off background sync, for tests and CI",
	"BD_TOMBSTONE_TTL_MS",
	"how long deletions are remembered (at least 7 days)",
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
	.about = "work items that agents and people share through Git",
	.more = "A bead is a task, a bug, a feature: it has a state, waits for others, is claimed "
		"by one agent at a time and closed when it is done. Beads live in the Git "
		"directory; no server runs.",
	.globals = globals,
	.commands = commands,
	.environment = environment,
	.dialect = DIALECT_BEADS,
	.actor_variables = actor_variables,
	.actor = bd_actor,
	.dir_variable = "BEADS_DIR",
};
