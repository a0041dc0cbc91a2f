#include "base/backup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "board/host.h"
#include "ops/op.h"
#include "ops/ops.h"
#include "store/place.h"

struct body {
	int host;
	bool write, remove, user, project, print;
	struct str agent;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "host", &kind_word, AT(host), FIELD_PLACE, .arg = "HOST", .words = &hosts,
	  .help = "the agent's host; all of them if it is not given" },
	{ "write", &kind_bool, AT(write), .help = "add the server to the host's file" },
	{ "remove", &kind_bool, AT(remove), .help = "take it out again" },
	{ "print", &kind_bool, AT(print), .help = "only show it; this is the default" },
	{ "project", &kind_bool, AT(project),
	  .help = "in the project's file; the default" },
	{ "user", &kind_bool, AT(user), .help = "in the user's own file" },
	{ "agent", &kind_agent, AT(agent), .help = "serve this agent only" },
	{ 0 },
};

static const struct prop props[] = {
	{ "host", PROP_STR, 0, NULL },
	{ "path", PROP_STR, PROP_NULL, NULL },
	{ "result", PROP_STR, 0, NULL },
	{ "backup", PROP_STR, PROP_NULL, NULL },
	{ "command", PROP_STR, PROP_NULL, NULL },
	{ "snippet", PROP_STR, PROP_NULL, NULL },
	{ 0 },
};

static const char *const examples[] = {
	"bb install",
	"bb install claude --write",
	"bb install codex --user --write --agent codex-01",
	"bb install claude --remove",
	NULL,
};

/* What was done for one host. */
struct outcome {
	const char *result;
	struct str path, backup, snippet;
};

static enum err replace(struct call *c, struct str old, struct str text,
			struct outcome *o)
{
	enum err e;

	if (old.p && str_eq(old, text)) {
		o->result = "unchanged";
		return ERR_OK;
	}
	if (old.p && (e = backup_put(c, o->path, old, &o->backup)))
		return e;
	if ((e = file_make_dir(c, path_parent(o->path), 0755)))
		return e;
	return file_replace(c, o->path, text, 0644);
}

static enum err add(struct call *c, enum host_id host, const struct host_server *server,
		    struct outcome *o)
{
	struct str old, text;
	enum err e = file_read(c, o->path, &old);

	o->result = "added to";
	if (e || (e = host_add(c, host, old, server, &text)))
		return e;
	return replace(c, old, text, o);
}

/* Did the file look like this before us: without our entry, and like now with it? */
static bool was(struct call *c, enum host_id host, const struct host_server *server,
		struct str before, struct str now)
{
	struct call probe = { .now_ms = c->now_ms };
	struct str with, without;
	bool yes = !host_add(&probe, host, before, server, &with) && str_eq(with, now) &&
		   (!before.p || (!host_drop(&probe, host, before, server, &without) &&
				  str_eq(without, before)));

	call_release(&probe);
	return yes;
}

/*
 * What we made is undone to the byte while it is still as we left it: the copy is
 * put back, or, if there was nothing before, the file goes. Else the entry is cut out.
 */
static enum err undo(struct call *c, enum host_id host, const struct host_server *server,
		     struct outcome *o)
{
	struct str now, before, copy, text;
	enum err e;

	o->result = "unchanged";
	if ((e = file_read(c, o->path, &now)) || !now.p ||
	    (e = backup_find(c, o->path, &copy, &before)))
		return e;
	if ((e = host_drop(c, host, now, server, &text)) || str_eq(now, text))
		return e;
	o->result = "removed from";
	if (!was(c, host, server, before, now))
		return replace(c, now, text, o);
	if (!before.p)
		return path_is_link(&c->mem, o->path) ? replace(c, now, text, o) :
							file_remove(c, o->path);
	e = file_replace(c, o->path, before, 0644);
	return e ? e : file_remove(c, copy);
}

static enum err no_file(struct call *c, enum host_id host, enum host_scope scope,
			const struct host_server *server)
{
	call_fail(c, ERR_INVALID_INPUT, "%s has no file for this that others may write",
		  names_word(&hosts, (int)host));
	return call_step(c, "Its own command does it: " STR_FMT,
			 STR_ARG(host_command(c, host, scope, server)));
}

static enum err act(struct call *c, const struct body *in, enum host_id host,
		    const struct host_server *server, struct outcome *o)
{
	enum err e;

	if (!in->write && !in->remove)
		return o->path.p ?
			       host_add(c, host, (struct str){ 0 }, server, &o->snippet) :
			       ERR_OK;
	if (!o->path.p)
		return no_file(c, host, in->user ? HOST_USER : HOST_PROJECT, server);
	e = in->write ? add(c, host, server, o) : undo(c, host, server, o);
	if (e == ERR_INVALID_INPUT) {
		struct str step = c->step;

		call_fail(c, e, "'" STR_FMT "' was left alone: " STR_FMT,
			  STR_ARG(o->path), STR_ARG(c->message));
		c->step = step;
	}
	return e;
}

static enum err one(struct call *c, const struct body *in, enum host_id host,
		    struct str root, struct json *reply)
{
	struct host_server server = { STR("blackboard"), STR("bb"), in->agent };
	enum host_scope scope = in->user ? HOST_USER : HOST_PROJECT;
	struct outcome o = { .result = "add to" };
	enum err e;

	o.path = host_file(c, host, scope, root);
	if (!o.path.p)
		o.result = "use its own command";
	if ((e = act(c, in, host, &server, &o)))
		return e;
	json_object(reply);
	json_put_str(reply, "host", str_of(names_word(&hosts, (int)host)));
	json_put_str(reply, "path", o.path);
	json_put_str(reply, "result", str_of(o.result));
	json_put_str(reply, "backup", o.backup);
	json_put_str(reply, "command", host_command(c, host, scope, &server));
	json_put_str(reply, "snippet", o.snippet);
	json_end(reply);
	return ERR_OK;
}

static enum err run(struct call *c, struct stores *s, const void *body,
		    struct json *reply)
{
	const struct body *in = body;
	struct str root;
	enum err e;

	(void)s;
	if (in->write + in->remove + in->print > 1)
		return call_fail(c, ERR_USAGE,
				 "--write, --remove and --print exclude each other");
	if (in->user && in->project)
		return call_fail(c, ERR_USAGE, "--user and --project exclude each other");
	if ((in->write || in->remove) && in->host < 0)
		return call_fail(c, ERR_USAGE,
				 "name the host whose file is to be changed");
	if ((e = place_new(c, STR(".bb"), &root)))
		return e;
	json_array(reply);
	for (int host = 0; host < HOST_COUNT; host++)
		if ((in->host < 0 || in->host == host) &&
		    (e = one(c, in, host, root, reply)))
			return e;
	json_end(reply);
	return ERR_OK;
}

const struct op op_board_install = {
	.name = "board install",
	.help = "Show how to give an agent's host the board, or do it",
	.more = "Prints what to add to the host's file. With --write it adds it there: "
		"every "
		"other byte stays, the old file is kept beside it, and a file that "
		"cannot be "
		"understood is left alone.",
	.examples = examples,
	.flags = OP_WRITE | OP_IDEMPOTENT,
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &(const struct prop){ "hosts", PROP_OBJECT, PROP_LIST, props },
	.run = run,
};
