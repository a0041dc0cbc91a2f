#include "surface/cli/vybe.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "ops/ops.h"
#include "surface/cli/face.h"
#include "surface/cli/out.h"
#include "surface/view/view.h"
#include "surface/view/vybe_view.h"

#define AT(member) offsetof(struct globals, member)

static const struct field globals[] = {
	{ "agent", &kind_str, AT(actor), .letter = 'a', .also = "as actor", .arg = "NAME",
	  .help = "your name as an agent" },
	{ "request_id", &kind_str, AT(request_id), .arg = "ID",
	  .help = "id of the write; a repeat with the same id has no second effect (generated on a terminal)" },
	{ "json", &kind_bool, AT(json),
	  .help = "print JSON (default, unless standard output is a terminal)" },
	{ "db_path", &kind_path, AT(store), .min = 1,
	  .help = "database to use instead of the project's" },
	{ "version", &kind_bool, AT(version), .help = "print the version" },
	{ "help", &kind_bool, AT(help), .letter = 'h', .help = "show this help" },
	{ 0 },
};

/* --- the envelope --- */

/* Formats JSON with one member per line, for people. */
static struct str vybe_pretty(struct arena *mem, struct str json)
{
	struct buf b = { .mem = mem };
	size_t depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < json.n; i++) {
		char ch = json.p[i];
		bool empty = i + 1 < json.n && (json.p[i + 1] == ']' || json.p[i + 1] == '}');

		if (quoted) {
			buf_char(&b, ch);
			if (ch == '\\' && i + 1 < json.n)
				buf_char(&b, json.p[++i]);
			quoted = ch != '"';
			continue;
		}
		quoted = ch == '"';
		if ((ch == ']' || ch == '}') && json.p[i - 1] != '[' && json.p[i - 1] != '{') {
			buf_char(&b, '\n');
			buf_pad(&b, ' ', 2 * --depth);
		} else if (ch == ']' || ch == '}') {
			depth--;
		}
		buf_char(&b, ch);
		if (ch == '[' || ch == '{') {
			depth++;
			if (!empty) {
				buf_char(&b, '\n');
				buf_pad(&b, ' ', 2 * depth);
			}
		} else if (ch == ',') {
			buf_char(&b, '\n');
			buf_pad(&b, ' ', 2 * depth);
		} else if (ch == ':') {
			buf_char(&b, ' ');
		}
	}
	return buf_str(&b);
}

bool vybe_indents(void)
{
	const char *wanted = getenv("VYBE_PRETTY_JSON");

	return wanted && !strcmp(wanted, "1");
}

struct str vybe_envelope(struct call *c, struct str data)
{
	struct json j = json_new(&c->mem);
	struct str text;

	json_object(&j);
	json_put_str(&j, "schema_version", STR("v1"));
	json_put_bool(&j, "success", c->code == ERR_OK);
	if (c->code) {
		json_put_str(&j, "error", c->message);
		json_put_str(&j, "error_code", str_of(err_code(c->code, DIALECT_VYBE)));
		json_put_raw(&j, "error_context", c->details.p ? c->details : STR("{}"));
		json_put_str(&j, "suggested_action", call_next_step(c));
	} else {
		json_put_raw(&j, "data", data);
		if (c->replayed)
			json_put_bool(&j, "replayed", true);
	}
	if (c->minted)
		json_put_str(&j, "request_id", c->request_id);
	json_end(&j);
	buf_char(&j.out, '\n');
	text = json_text(&j);
	return vybe_indents() ? vybe_pretty(&c->mem, text) : text;
}

/* --- listing commands --- */

static bool vybe_begins(const char *words, struct str head)
{
	struct str s = str_of(words);

	return !head.n || (str_starts(s, head) && s.n > head.n && s.p[head.n] == ' ');
}

/* Lists the first words of the commands that begin with `head`, sorted, without duplicates. */
static void put_names(struct json *j, struct str head)
{
	struct str *words = NULL;
	size_t count = 0;

	for (const struct command *cmd = face_vybe.commands; cmd->words; cmd++) {
		struct str rest = str_of(cmd->words);

		if ((cmd->flags & COMMAND_ALIAS) || !vybe_begins(cmd->words, head))
			continue;
		words = arena_room(j->out.mem, words, count, sizeof *words);
		str_next(&rest, ' ', &words[count++]);
	}
	str_sort(words, count);
	json_put_array(j, "commands");
	for (size_t i = 0; i < count; i++)
		if (!i || !str_eq(words[i], words[i - 1]))
			json_str(j, words[i]);
	json_end(j);
}

static int print_index(struct call *c, struct str words)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	if (!words.n) {
		json_put_str(&j, "version", STR(ABACUS_VERSION));
		put_names(&j, words);
		json_put_str(&j, "schema_hint", STR("vybe schema commands"));
	} else {
		json_put_str(&j, "namespace", words);
		json_put_array(&j, "subcommands");
		for (const struct command *cmd = face_vybe.commands; cmd->words; cmd++) {
			if (!vybe_begins(cmd->words, words))
				continue;
			json_object(&j);
			json_put_str(&j, "name", str_of(cmd->words + words.n + 1));
			json_put_str(&j, "description", str_of(cmd->op->help));
			json_end(&j);
		}
		json_end(&j);
	}
	json_end(&j);
	return out_json(&c->mem, vybe_envelope(c, json_text(&j)), 0);
}

static int vybe_print_version(struct call *c)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, "version", STR(ABACUS_VERSION));
	json_end(&j);
	return out_json(&c->mem, vybe_envelope(c, json_text(&j)), 0);
}

static void put_command(struct json *j, const struct command *cmd)
{
	const struct op *op = cmd->op;
	bool once = (op->flags & OP_VYBE) && (op->flags & OP_WRITE);

	json_object(j);
	json_put_str(j, "command", arena_fmt(j->out.mem, "%s %s", face_vybe.name, cmd->words));
	json_put_str(j, "description", str_of(op->help));
	json_key(j, STR("args_schema"));
	op_args_schema(j, op);
	json_put_bool(j, "mutates", op_may_write(op));
	json_put_bool(j, "requires_request_id", once);
	json_end(j);
}

static int schema_start(struct call *c, const struct request *r)
{
	struct json j = json_new(&c->mem);

	(void)r;
	json_object(&j);
	json_put_array(&j, "commands");
	for (const struct command *cmd = face_vybe.commands; cmd->words; cmd++)
		if (!(cmd->flags & COMMAND_ALIAS))
			put_command(&j, cmd);
	json_end(&j);
	json_end(&j);
	return out_json(&c->mem, vybe_envelope(c, json_text(&j)), 0);
}

enum { INPUT_MOST = 16 << 20 };

/* Reads the host's input, up to a limit no host would reach. */
static struct str read_input(struct call *c)
{
	enum { CHUNK = 64 * 1024 };
	struct buf b = { .mem = &c->mem };
	ssize_t got;

	do {
		got = file_some(STDIN_FILENO, buf_room(&b, CHUNK), CHUNK);
		b.n += got > 0 ? (size_t)got : 0;
	} while (got > 0 && b.n < INPUT_MOST);
	return buf_str(&b);
}

/* Always exits with 0, so that a failing hook never stops the host. */
static int handle_start(struct call *c, const struct request *r)
{
	struct json reply = json_new(&c->mem);
	struct request full = *r;
	struct str answer;

	c->request_id = STR_NONE;
	if (request_set_role(c, &full, ROLE_INPUT, read_input(c)) || request_run(c, &full, &reply))
		return 0;
	answer = value_str(value_read(&c->mem, json_text(&reply)), "answer");
	if (answer.p)
		out_text(&c->mem, arena_fmt(&c->mem, STR_FMT "\n", STR_ARG(answer)), 0);
	return 0;
}

static const struct op op_schema_commands = {
	.name = "vybe schema commands",
	.help = "List all commands with the schemas of their arguments",
};
static const struct op op_help = { .name = "vybe help", .help = "Show this help" };

#define TASK(words, id, shown)                                         \
	{                                                              \
		"task " words, .op = &op_vybe_task_##id, .view = shown \
	}
#define MEMORY(words, id, shown)                                           \
	{                                                                  \
		"memory " words, .op = &op_vybe_memory_##id, .view = shown \
	}

/* A hook command that the original vybe wrote into Claude's settings. The event is in the input. */
#define ORIGINAL(word)                                                                      \
	{                                                                                   \
		"hook " word, &op_vybe_hook_handle, .start = handle_start,                  \
						    .flags = COMMAND_ALIAS | COMMAND_SILENT \
	}

static const struct command commands[] = {
	{ "resume", &op_vybe_resume, .view = vybe_view_resume, .group = "Continuity" },
	{ "push", &op_vybe_push, .view = vybe_view_push },
	MEMORY("set", set, vybe_view_memory_set),
	MEMORY("get", get, vybe_view_memory),
	MEMORY("list", list, vybe_view_memories),
	MEMORY("delete", delete, vybe_view_memory_deleted),
	MEMORY("pin", pin, vybe_view_memory_pinned),
	MEMORY("gc", gc, vybe_view_collected),
	{ "events list", &op_vybe_events, .view = vybe_view_events },
	{ "events", &op_vybe_events, .view = vybe_view_events, .flags = COMMAND_ALIAS },
	{ "artifacts list", &op_vybe_artifacts, .view = vybe_view_artifacts },
	{ "artifacts", &op_vybe_artifacts, .view = vybe_view_artifacts, .flags = COMMAND_ALIAS },
	{ "task create", &op_vybe_task_create, .view = vybe_view_changed, .group = "Tasks" },
	TASK("begin", begin, vybe_view_changed),
	TASK("get", get, vybe_view_task),
	TASK("list", list, vybe_view_tasks),
	TASK("set-status", set_status, vybe_view_changed),
	TASK("set-priority", set_priority, vybe_view_changed),
	TASK("complete", complete, vybe_view_changed),
	TASK("add-dep", add_dep, vybe_view_message),
	TASK("remove-dep", remove_dep, vybe_view_message),
	TASK("delete", delete, vybe_view_deleted),
	{ "hook install", &op_vybe_hook_install, .view = vybe_view_hooks, .group = "Hosts" },
	{ "hook uninstall", &op_vybe_hook_uninstall, .view = vybe_view_hooks },
	{ "hook handle", &op_vybe_hook_handle, .start = handle_start,
	  .flags = COMMAND_ALIAS | COMMAND_SILENT },
	ORIGINAL("session-start"),
	ORIGINAL("session-end"),
	ORIGINAL("prompt"),
	ORIGINAL("tool-success"),
	ORIGINAL("tool-failure"),
	ORIGINAL("checkpoint"),
	ORIGINAL("task-completed"),
	ORIGINAL("subagent-start"),
	ORIGINAL("subagent-stop"),
	ORIGINAL("stop"),
	ORIGINAL("retrospective"),
	ORIGINAL("retrospective-bg"),
	{ "loop", &op_vybe_loop, .view = vybe_view_loop },
	{ "loop stats", &op_vybe_loop_stats, .view = vybe_view_loops },
	{ "status", &op_vybe_status, .view = vybe_view_status, .group = "Upkeep" },
	{ "schema commands", &op_schema_commands, .start = schema_start },
	{ "schema", &op_schema_commands, .start = schema_start, .flags = COMMAND_ALIAS },
	{ "upgrade", &op_vybe_upgrade, .view = vybe_view_upgrade },
	{ "help", .op = &op_help },
	{ 0 },
};

static const char *const actor_variables[] = { "VYBE_AGENT", NULL };

static const char *const environment[] = {
	"VYBE_AGENT",
	"your name, if --agent is not given",
	"ABACUS_AGENT",
	"the same, for all programs; if VYBE_AGENT is unset",
	"VYBE_REQUEST_ID",
	"the request id, if --request-id is not given",
	"VYBE_DB_PATH",
	"the database, if --db-path is not given",
	"VYBE_PRETTY_JSON",
	"set to 1 to print indented JSON",
	"ABACUS_NOW",
	"the current time (RFC 3339 or ms), for tests",
	NULL,
};

const struct face face_vybe = {
	.name = "vybe",
	.about = "tasks, events and memory that survive a session",
	.more = "Tasks are the beads of the repository; events, memory and each agent's cursor "
		"are stored beside them. Every write has a request id: a repeat with the "
		"same id has no second effect and gets the same reply. Replies are JSON on standard output; on a "
		"terminal they are text for people, and a missing request id is generated.",
	.globals = globals,
	.commands = commands,
	.environment = environment,
	.dialect = DIALECT_VYBE,
	.actor_variables = actor_variables,
	.request_variable = "VYBE_REQUEST_ID",
	.store_variable = "VYBE_DB_PATH",
	.index = print_index,
	.version = vybe_print_version,
};
