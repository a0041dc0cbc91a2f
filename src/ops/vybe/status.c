#include <unistd.h>

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "hosts/hooks.h"
#include "ops/ops.h"
#include "ops/vybe/vybe_ops.h"
#include "store/place.h"

/* vybe status succeeds even if nothing can be opened, and says why. */

struct body {
	bool check;
};

static const struct field fields[] = {
	{ "check", &kind_bool, offsetof(struct body, check), .help = "exit with 1 on problems" },
	{ 0 },
};

static const struct prop props[] = {
	{ "db:object hooks:object counts:object agent_state:object? diagnostics:object[]", NULL },
	{ 0 },
};

static void vybe_status_diagnose(struct call *c, struct json *list, const char *what)
{
	json_object(list);
	json_put_str(list, "level", STR("error"));
	json_put_str(list, "code", str_of(err_code(c->code, DIALECT_VYBE)));
	json_put_str(list, "message",
		     arena_fmt(&c->mem, "%s: " STR_FMT, what, STR_ARG(c->message)));
	json_put_str(list, "suggested_action", call_next_step(c));
	json_end(list);
	call_forgive(c);
}

static void count_tasks(struct call *c, struct continuity *k, struct json *reply,
			struct json *problems)
{
	int64_t count[TASK_STATUSES] = { 0 }, total = 0;
	struct beads *b;
	enum err e = continuity_tasks(c, k, &b);

	if (!e)
		e = task_count(c, b, count);
	if (e)
		vybe_status_diagnose(c, problems, "the tasks cannot be read");
	for (int i = 0; i < TASK_STATUSES; i++)
		total += count[i];
	json_put_object(reply, "tasks");
	json_put_int(reply, "total", total);
	for (int i = 0; i < TASK_STATUSES; i++)
		json_put_int(reply, names_word(&task_statuses, i), count[i]);
	json_end(reply);
}

/* The hosts with our hooks in the user's or the project's file. */
static void put_hooks(struct call *c, struct json *reply)
{
	struct str root = { 0 };

	if (place_new(c, STR(".bb"), &root))
		root = c->dir;
	call_forgive(c);
	json_put_object(reply, "hooks");
	for (int i = 0; i < HOST_COUNT; i++)
		json_put_bool(reply, names_word(&hosts, i),
			      hooks_there(c, (enum host_id)i, HOST_USER, root) ||
				      hooks_there(c, (enum host_id)i, HOST_PROJECT, root));
	json_end(reply);
}

static void put_agent(struct call *c, struct continuity *k, struct json *reply)
{
	struct vybe_agent a = { .agent = c->actor, .project = STR("") };

	if (!call_named(c) || vybe_agent_find(c, &k->db, &a)) {
		call_forgive(c);
		return;
	}
	json_put_object(reply, "agent_state");
	json_put_str(reply, "agent_name", c->actor);
	json_put_int(reply, "last_seen_event_id", a.cursor);
	json_put_str(reply, "focus_task_id", a.focus.p ? a.focus : STR(""));
	json_put_int(reply, "version", a.seen_ms); /* changes with every write */
	json_put_moment(reply, "last_active_at", a.seen_ms);
	json_end(reply);
}

/* The first write creates a database that --db-path names: could it? */
static enum err vybe_status_creatable(struct call *c, const struct continuity *k)
{
	struct str folder = path_parent(k->path);

	if (!c->store.p || file_exists(&c->mem, k->path))
		return ERR_OK;
	while (!file_exists(&c->mem, folder) && folder.n > 1)
		folder = path_parent(folder);
	if (file_is_dir(&c->mem, folder) && !access(arena_cstr(&c->mem, folder), W_OK))
		return ERR_OK;
	call_fail(c, ERR_INTERNAL_ERROR, "'" STR_FMT "' is not a folder that you can write to",
		  STR_ARG(folder));
	return call_step(c, "Pass a file in another folder with --db-path.");
}

static enum err vybe_status_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	const struct body *in = body;
	struct json problems = json_new(&c->mem);
	struct continuity k;
	struct vybe_counts counts = { 0 };
	bool well;
	off_t size;

	(void)s;
	json_array(&problems);
	well = !continuity_open(c, VYBE_READ, &k) && !vybe_status_creatable(c, &k);
	if (!well)
		vybe_status_diagnose(c, &problems, "the store cannot be opened");
	else if (!(well = !vybe_count(c, &k.db, &counts)))
		vybe_status_diagnose(c, &problems, "the store cannot be read");
	size = k.path.p ? file_size(&c->mem, k.path) : -1;
	json_object(reply);
	json_put_object(reply, "db");
	json_put_str(reply, "path", k.path);
	json_put_str(reply, "source", k.source);
	json_put_bool(reply, "ok", well);
	json_put_int(reply, "size_bytes", size > 0 ? size : 0);
	json_end(reply);
	put_hooks(c, reply);
	json_put_object(reply, "counts");
	count_tasks(c, &k, reply, &problems);
	json_put_int(reply, "events", counts.events);
	json_put_int(reply, "memory", counts.memory);
	json_put_int(reply, "artifacts", counts.artifacts);
	json_put_int(reply, "agents", counts.agents);
	json_put_int(reply, "projects", counts.projects);
	json_end(reply);
	if (well)
		put_agent(c, &k, reply);
	continuity_close(&k);
	json_end(&problems);
	json_put_raw(reply, "diagnostics", json_text(&problems));
	json_end(reply);
	if (in->check && !str_is(json_text(&problems), "[]")) {
		call_fail(c, ERR_INTERNAL_ERROR, "the store has problems");
		return call_detail(c, json_text(reply));
	}
	return ERR_OK;
}

const struct op op_vybe_status = {
	.name = "vybe status",
	.help = "Show the state of the store and its counts",
	.flags = OP_READER | OP_NAMES,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "status", props },
	.run = vybe_status_run,
};

static const struct prop upgrade_props[] = { { "version message commands[]", NULL }, { 0 } };

static enum err vybe_status_run_upgrade(struct call *c, struct stores *s, const void *body,
					struct json *reply)
{
	(void)c, (void)s, (void)body;
	json_object(reply);
	json_put_str(reply, "version", STR(ABACUS_VERSION));
	json_put_str(reply, "message",
		     STR("Nothing was changed. To upgrade, fetch the source and run its "
			 "quickstart. The store needs no migration."));
	json_put_array(reply, "commands");
	json_str(reply, STR("git pull"));
	json_str(reply, STR("./quickstart --no-tour"));
	json_end(reply);
	json_end(reply);
	return ERR_OK;
}

const struct op op_vybe_upgrade = {
	.name = "vybe upgrade",
	.help = "Show the installed version and how to upgrade it",
	.reply = &(const struct prop){ "upgrade", upgrade_props },
	.run = vybe_status_run_upgrade,
};
