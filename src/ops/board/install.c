/*
 * abacus install and bb install: add an MCP server to a host's file with --write, or remove it with
 * --remove. Otherwise they only show the difference.
 */
#include "base/system/file.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "hosts/host.h"
#include "hosts/installer.h"
#include "hosts/sandbox.h"
#include "op/op.h"
#include "ops/ops.h"
#include "store/place.h"

struct body {
	int host;
	bool write, remove, user, project, print, all, sandbox;
	struct str agent;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "host", &kind_word, AT(host), FIELD_PLACE, .arg = "HOST", .words = &hosts,
	  .help = "host (default: show all)" },
	{ "write", &kind_bool, AT(write),
	  .help = "add the server to the host's configuration "
		  "file" },
	{ "remove", &kind_bool, AT(remove),
	  .help = "remove the server from the host's "
		  "configuration file" },
	{ "print", &kind_bool, AT(print),
	  .help = "print the configuration without writing it "
		  "(default)" },
	{ "all", &kind_bool, AT(all),
	  .help = "every host that is found here: its program is on PATH, or it has files in the "
		  "project or in your home directory" },
	{ "project", &kind_bool, AT(project), .help = "use the project's file (default)" },
	{ "user", &kind_bool, AT(user), .help = "use the user's file" },
	{ "sandbox", &kind_bool, AT(sandbox),
	  .help = "also let the sandbox of Codex write to the stores of this project, with --user" },
	{ "agent", &kind_agent, AT(agent), .help = "fixed agent name of the server" },
	{ 0 },
};

static const struct prop props[] = {
	{ "host path|null result backup|null command|null snippet|null diff?", NULL },
	{ 0 },
};

/* The result of the installation for one host. */
struct outcome {
	const char *result;
	struct str path, snippet, diff;
	struct sandbox_roots roots; /* to allow, or to forbid again */
	struct install_outcome done;
};

struct ours {
	enum host_id host;
	const struct host_server *server;
	const struct sandbox_roots *roots;
};

static enum err board_install_add(struct call *c, struct str text, const void *arg, struct str *out)
{
	const struct ours *o = arg;

	enum err e = host_add(c, o->host, text, o->server, out);

	return e || !o->roots->count ? e : sandbox_allow(c, *out, o->roots, out);
}

static enum err board_install_drop(struct call *c, struct str text, const void *arg,
				   struct str *out)
{
	const struct ours *o = arg;

	enum err e = host_drop(c, o->host, text, o->server, out);

	return e || !o->roots->count ? e : sandbox_forbid(c, *out, o->roots, out);
}

static enum err board_install_no_file(struct call *c, enum host_id host, enum host_scope scope,
				      const struct host_server *server)
{
	call_fail(c, ERR_INVALID_INPUT,
		  "%s has no configuration file that other programs may "
		  "write",
		  names_word(&hosts, (int)host));
	return call_step(c, "Run its own command: " STR_FMT,
			 STR_ARG(host_command(c, host, scope, server)));
}

/* What the edit would change. An error means that the file cannot be edited. */
static enum err board_install_diff(struct call *c, const struct install_edit *edit, bool drop,
				   struct outcome *o)
{
	struct str old, text;
	enum err e = file_read_regular(c, o->path, &old);

	if (!e)
		e = drop && !old.p ? ERR_OK :
				     (drop ? edit->drop : edit->add)(c, old, edit->arg, &text);
	if (e)
		return install_left_alone(c, o->path, e);
	if (drop && !old.p)
		text = old;
	o->diff = install_diff(&c->mem, old, text);
	o->result = !o->diff.n ? "unchanged" : drop ? "remove from" : "add to";
	return ERR_OK;
}

static enum err board_install_act(struct call *c, const struct body *in, enum host_id host,
				  const struct host_server *server, struct outcome *o)
{
	struct ours ours = { host, server, &o->roots };
	struct install_edit edit = { board_install_add, board_install_drop, &ours };
	enum err e;

	if (in->all &&
	    (!o->path.p || (e = board_install_diff(c, &edit, in->remove, o)) || in->print))
		return o->path.p ? e : ERR_OK;
	if (!in->write && !in->remove)
		return o->path.p ? board_install_add(c, STR_NONE, &ours, &o->snippet) : ERR_OK;
	if (!o->path.p)
		return board_install_no_file(c, host, in->user ? HOST_USER : HOST_PROJECT, server);
	e = in->write ? install_add(c, o->path, &edit, &o->done) :
			install_drop(c, o->path, &edit, &o->done);
	o->result = !o->done.changed ? "unchanged" : in->write ? "added to" : "removed from";
	return e;
}

/* The MCP server to install: the board alone, or everything. */
struct offer {
	const char *name, *command;
	bool sole; /* no other program has that name */
};

static enum err not_on_path(struct call *c, const char *program)
{
	call_fail(c, ERR_NOT_FOUND,
		  "'%s' is neither on PATH nor beside this program, so hosts could not find it",
		  program);
	return call_step(c, "Install abacus again, or add the folder of '%s' to PATH.", program);
}

/* The paths are those of this machine, so they belong into the user's file. */
static enum err board_install_roots(struct call *c, const struct body *in, enum host_id host,
				    struct str root, struct sandbox_roots *out)
{
	enum err e;

	if (host != HOST_CODEX || !in->user || (!in->sandbox && !in->remove))
		return ERR_OK;
	if (!(e = sandbox_roots(c, root, in->remove, out)) && in->sandbox && !out->count)
		call_warn(c, "the stores of this project are in the workspace, where the sandbox "
			     "of Codex allows writes");
	return e;
}

static enum err board_install_one(struct call *c, const struct body *in, const struct offer *offer,
				  enum host_id host, struct str root, struct json *reply,
				  struct install_outcome *done)
{
	struct host_server server = { str_of(offer->name),
				      spawn_command(&c->mem, str_of(offer->command)), in->agent,
				      offer->sole };
	enum host_scope scope = in->user ? HOST_USER : HOST_PROJECT;
	struct outcome o = { .result = "add to" };
	enum err e;

	*done = o.done;
	if (!server.command.p)
		return not_on_path(c, offer->command);
	o.path = host_file(c, host, scope, root);
	if (!o.path.p)
		o.result = "use its own command";
	if (o.path.p && scope == HOST_PROJECT && (e = install_check(c, o.path, root)))
		return e;
	if ((e = board_install_roots(c, in, host, root, &o.roots)) ||
	    (e = board_install_act(c, in, host, &server, &o)))
		return e;
	*done = o.done;
	json_object(reply);
	json_put_str(reply, "host", str_of(names_word(&hosts, (int)host)));
	json_put_str(reply, "path", o.path);
	json_put_str(reply, "result", str_of(o.result));
	json_put_str(reply, "backup", o.done.backup);
	json_put_str(reply, "command", host_command(c, host, scope, &server));
	json_put_str(reply, "snippet", o.snippet);
	if (in->all)
		json_put_str(reply, "diff", o.diff);
	json_end(reply);
	return ERR_OK;
}

/* All or none: every file is tried before the first is written. */
static enum err board_install_found(struct call *c, const struct body *in,
				    const struct offer *offer, struct str root, struct json *reply)
{
	struct install_outcome done[HOST_COUNT] = { 0 };
	struct body look = *in;
	struct json tried = json_new(&c->mem);
	enum err e = ERR_OK;

	look.print = true;
	json_array(&tried);
	for (int host = 0; !e && host < HOST_COUNT; host++)
		if (host_found(c, host, root))
			e = board_install_one(c, &look, offer, host, root, &tried, &done[host]);
	json_end(&tried);
	if (e)
		return e;
	if (!in->write && !in->remove) {
		json_raw(reply, json_text(&tried));
		return ERR_OK;
	}
	json_array(reply);
	for (int host = 0; !e && host < HOST_COUNT; host++)
		if (host_found(c, host, root) &&
		    (e = board_install_one(c, in, offer, host, root, reply, &done[host])))
			for (int before = 0; before < host; before++)
				install_undo(c, &done[before]);
	json_end(reply);
	return e;
}

static enum err board_install_install(struct call *c, const struct body *in,
				      const struct offer *offer, struct json *reply)
{
	struct install_outcome done;
	struct str root;
	enum err e;

	if (in->all && in->host >= 0)
		return call_fail(c, ERR_USAGE, "HOST and --all can't be combined");

	if (in->write + in->remove + in->print > 1)
		return call_fail(c, ERR_USAGE, "--write, --remove and --print can't be combined");
	if (in->sandbox && (!in->user || in->host != HOST_CODEX))
		return call_fail(c, ERR_USAGE, "--sandbox is for codex, and requires --user");
	if (in->user && in->project)
		return call_fail(c, ERR_USAGE, "--user and --project can't be combined");
	if ((in->write || in->remove) && in->host < 0 && !in->all)
		return call_fail(c, ERR_USAGE,
				 "the name of a host, or --all, is required to change files");
	if ((e = place_new(c, STR(".bb"), &root)))
		return e;
	if (in->all)
		return board_install_found(c, in, offer, root, reply);
	json_array(reply);
	for (int host = 0; host < HOST_COUNT; host++)
		if ((in->host < 0 || in->host == host) &&
		    (e = board_install_one(c, in, offer, host, root, reply, &done)))
			return e;
	json_end(reply);
	return ERR_OK;
}

static enum err board_install_run(struct call *c, struct stores *s, const void *body,
				  struct json *reply)
{
	static const struct offer board = { "blackboard", "bb", false };

	(void)s;
	return board_install_install(c, body, &board, reply);
}

static enum err board_install_run_all(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	static const struct offer all = { "abacus", "abacus", true };

	(void)s;
	return board_install_install(c, body, &all, reply);
}

const struct op op_project_install = {
	.name = "install",
	.help = "Add the MCP server of all tools to a host",
	.more = "Like 'bb install', but for the server with beads, agents and continuity as well "
		"as the board. It replaces an existing entry of the board's server. --all shows "
		"what would change for each host that is found; with --write, all files are "
		"changed or none. --sandbox adds the folders of this project's stores that the "
		"sandbox of Codex protects to its writable_roots.",
	.examples = "abacus install claude --write\n"
		    "abacus install codex --user --write --agent codex-01\n"
		    "abacus install claude --remove\n"
		    "abacus install --all\n"
		    "abacus install --all --write\n"
		    "abacus install codex --sandbox --user --write",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_HOST,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "hosts[]", props },
	.run = board_install_run_all,
};

const struct op op_board_install = {
	.name = "board install",
	.help = "Add the MCP server of the board to a host",
	.more = "Prints what to add to the host's configuration file. With --write, adds it: "
		"every other byte stays the same, the old file is kept beside the new one, and a "
		"file that cannot be parsed is not changed.",
	.examples = "bb install\n"
		    "bb install claude --write\n"
		    "bb install codex --user --write --agent codex-01\n"
		    "bb install claude --remove",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_HOST,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "hosts[]", props },
	.run = board_install_run,
};
