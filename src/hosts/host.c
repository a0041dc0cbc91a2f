#include "hosts/host.h"

#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/toml.h"
#include "base/text/value.h"
#include "hosts/jsonc.h"

static const char *const words[] = {
#define HOST(NAME, word, ...) #word,
#include "hosts/hosts.def"
#undef HOST
};
const struct names hosts = { words, HOST_COUNT, NULL };

const struct host *host_row(enum host_id host)
{
	static const struct host rows[] = {
#define HOST(NAME, word, ...) { __VA_ARGS__ },
#include "hosts/hosts.def"
#undef HOST
	};

	return &rows[host];
}

struct str host_file(struct call *c, enum host_id host, enum host_scope scope, struct str root)
{
	const struct host *h = host_row(host);
	const char *const *file = scope == HOST_USER ? h->mcp.user : h->mcp.project;
	struct str dir = scope == HOST_USER ? path_home() : root, path;

	for (const char *const *f = file; *f; f++) {
		path = path_join(&c->mem, dir, str_of(*f));
		if (file_exists(&c->mem, path))
			return path;
	}
	return *file ? path_join(&c->mem, dir, str_of(*file)) : STR_NONE;
}

/* The folder of the file if it has one of its own, else the file, unless several hosts read it. */
static bool host_left(struct call *c, struct str dir, const char *file)
{
	struct str name = file ? str_of(file) : STR_NONE, folder = path_parent(name);

	if (!name.p || !dir.p || str_is(name, ".mcp.json"))
		return false;
	return file_exists(&c->mem,
			   path_join(&c->mem, dir, str_has(name, STR("/")) ? folder : name));
}

bool host_found(struct call *c, enum host_id host, struct str root)
{
	const struct host *h = host_row(host);
	struct str program = str_of(h->program ? h->program : names_word(&hosts, (int)host)),
		   home = path_home();

	if (spawn_find(&c->mem, program).p || host_left(c, root, h->hooks.project) ||
	    host_left(c, home, h->hooks.user))
		return true;
	for (const char *const *f = h->mcp.project; *f; f++)
		if (host_left(c, root, *f))
			return true;
	for (const char *const *f = h->mcp.user; *f; f++)
		if (host_left(c, home, *f))
			return true;
	return false;
}

static void put_args(struct json *j, const struct host_server *server)
{
	json_str(j, STR("mcp"));
	if (server->agent.p) {
		json_str(j, STR("--agent"));
		json_str(j, server->agent);
	}
}

/* For a host whose command takes the entry with its name in it. */
static struct str whole_entry(struct call *c, const struct host_server *server)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, "name", server->name);
	json_put_str(&j, "command", server->command);
	json_put_array(&j, "args");
	put_args(&j, server);
	json_end(&j);
	json_end(&j);
	return json_text(&j);
}

struct str host_command(struct call *c, enum host_id host, enum host_scope scope,
			const struct host_server *server)
{
	const struct host *h = host_row(host);
	struct str agent = STR("");

	if (!h->mcp.add)
		return STR_NONE;
	if (h->mcp.whole)
		return arena_fmt(&c->mem, "%s " STR_FMT, h->mcp.add,
				 STR_ARG(spawn_word(&c->mem, whole_entry(c, server))));
	if (server->agent.p)
		agent = arena_fmt(&c->mem, " --agent " STR_FMT,
				  STR_ARG(spawn_word(&c->mem, server->agent)));
	return arena_fmt(&c->mem, "%s %s" STR_FMT " %s" STR_FMT " mcp" STR_FMT, h->mcp.add,
			 !h->mcp.scopes        ? "" :
			 scope == HOST_PROJECT ? "--scope project " :
						 "--scope user ",
			 STR_ARG(server->name), h->mcp.dashes ? "-- " : "",
			 STR_ARG(spawn_word(&c->mem, server->command)), STR_ARG(agent));
}

static struct str host_entry(struct call *c, enum mcp_shape shape, const struct host_server *server)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	if (shape == MCP_LOCAL) {
		json_put_str(&j, "type", STR("local"));
		json_put_array(&j, "command");
		json_str(&j, server->command);
		put_args(&j, server);
		json_end(&j);
		json_put_bool(&j, "enabled", true);
	} else {
		if (shape != MCP_PLAIN)
			json_put_str(&j, "type", STR("stdio"));
		json_put_str(&j, "command", server->command);
		json_put_array(&j, "args");
		put_args(&j, server);
		json_end(&j);
		if (shape == MCP_LOADED)
			json_put_bool(&j, "alwaysLoad", true);
	}
	json_end(&j);
	return json_text(&j);
}

/* JSON's strings and arrays are valid TOML. */
static struct str toml_body(struct call *c, const struct host_server *server)
{
	struct json command = json_new(&c->mem), args = json_new(&c->mem);

	json_str(&command, server->command);
	json_array(&args);
	put_args(&args, server);
	json_end(&args);
	return arena_fmt(&c->mem, "command = " STR_FMT "\nargs = " STR_FMT "\n",
			 STR_ARG(json_text(&command)), STR_ARG(json_text(&args)));
}

static struct str toml_header(struct call *c, enum host_id host, const struct host_server *server)
{
	return arena_fmt(&c->mem, "%s." STR_FMT, host_row(host)->mcp.key, STR_ARG(server->name));
}

static bool host_is_program(struct str path)
{
	struct str name = path_name(path);

	return str_is(name, "bb") || str_is(name, "abacus");
}

/* Our entries are recognised by the program and its first argument. */
static bool host_ours(const struct value *v)
{
	const struct value *command = value_find(v, "command"), *args = value_find(v, "args");
	const struct value *first =
		args && args->type == VALUE_ARRAY && args->count ? &args->item[0] : NULL;

	if (command && command->type == VALUE_ARRAY && command->count > 1) {
		first = &command->item[1];
		command = &command->item[0];
	}
	return command && command->type == VALUE_STRING && host_is_program(command->text) &&
	       first && str_is(first->text, "mcp");
}

static enum err not_ours(struct call *c, struct str name)
{
	call_fail(c, ERR_INVALID_INPUT, "it has a server '" STR_FMT "' of another program",
		  STR_ARG(name));
	return call_step(c, "Rename that entry, then run the command again.");
}

/*
 * The name of our entry in the file; absent: there is none. An entry under our own name comes
 * first: a file that came with the repository must not keep another program under that name by
 * having an entry of ours under another one.
 */
static enum err find_ours(struct call *c, const struct host *h, struct str text,
			  const struct host_server *server, bool add, struct str *name)
{
	const struct value *root, *servers;
	enum err e = jsonc_parse(c, text, &root);

	*name = STR_NONE;
	if (e)
		return e;
	servers = value_find(root, h->mcp.key);
	for (size_t i = 0; servers && servers->type == VALUE_OBJECT && i < servers->count; i++) {
		const struct value *v = &servers->item[i];
		bool named = str_eq(v->key, server->name);

		if (named && !host_ours(v) && !(add && server->sole))
			return not_ours(c, server->name);
		if (named || (host_ours(v) && !name->p))
			*name = v->key;
	}
	return ERR_OK;
}

/* The text in the single or double quotes at the start. */
static struct str host_unquoted(struct str value)
{
	struct str rest = str_skip(value, 1), text;

	str_next(&rest, value.p[0], &text);
	return text;
}

/* The line `command = …` says whether a table is ours. */
static bool ours_in_toml(struct str body)
{
	struct str line, key;

	while (str_next(&body, '\n', &line)) {
		str_next(&line, '=', &key);
		line = str_trim(line);
		if (str_is(str_trim(key), "command") && line.n > 2)
			return host_is_program(host_unquoted(line));
	}
	return false;
}

static enum err edit_toml(struct call *c, enum host_id host, struct str text,
			  const struct host_server *server, bool add, struct str *out)
{
	struct str header = toml_header(c, host, server), body;
	enum err e = toml_find(c, text, header, &body);

	if (e)
		return e;
	if (body.p && !ours_in_toml(body) && !(add && server->sole))
		return not_ours(c, server->name);
	return add ? toml_put(c, text, header, toml_body(c, server), out) :
		     toml_remove(c, text, header, out);
}

static enum err host_edit(struct call *c, enum host_id host, struct str text,
			  const struct host_server *server, bool add, struct str *out)
{
	const struct host *h = host_row(host);
	const char *path[] = { h->mcp.key, NULL, NULL };
	struct str name;
	enum err e;

	if (h->mcp.shape == MCP_TOML)
		return edit_toml(c, host, text, server, add, out);
	if ((e = find_ours(c, h, text, server, add, &name)))
		return e;
	path[1] = arena_cstr(&c->mem, name.p ? name : server->name);
	return add ? jsonc_put(c, text, path, host_entry(c, h->mcp.shape, server), out) :
		     jsonc_remove(c, text, path, out);
}

enum err host_add(struct call *c, enum host_id host, struct str text,
		  const struct host_server *server, struct str *out)
{
	return host_edit(c, host, text, server, true, out);
}

enum err host_drop(struct call *c, enum host_id host, struct str text,
		   const struct host_server *server, struct str *out)
{
	return host_edit(c, host, text, server, false, out);
}
