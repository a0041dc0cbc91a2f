#include <stdlib.h>

#include "base/buf.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "hosts/handler.h"
#include "hosts/hooks.h"
#include "hosts/installer.h"
#include "hosts/tool_guard.h"
#include "ops/ops.h"
#include "ops/vybe/vybe_ops.h"
#include "store/place.h"

/* vybe hook install, uninstall; and vybe hook handle, which the hosts call. */

struct body {
	int host[HOST_COUNT]; /* 1, 0; -1: not set */
	bool project, user;
	int of;
	struct str input;
};

#define AT(member) offsetof(struct body, member)

static const struct field install_fields[] = {
#define HOST(NAME, word, ...) \
	{ #word, &kind_switch, AT(host[HOST_##NAME]), .help = "change the hooks of " #word },
#include "hosts/hosts.def"
#undef HOST
	{ "project", &kind_bool, AT(project),
	  .help = "use the project's file (default: the user's)" },
	{ "user", &kind_bool, AT(user), .help = "use the user's file (default)" },
	{ 0 },
};

static const struct field handle_fields[] = {
	{ "host", &kind_word, AT(of), .words = &hosts, .preset = "claude",
	  .help = "host that calls the hook" },
	{ "input", &kind_str, AT(input), .role = ROLE_INPUT, .help = "the host's input" },
	{ 0 },
};

static const struct prop install_props[] = { { "message", NULL }, { 0 } };

static const struct prop answer_props[] = { { "answer|null", NULL }, { 0 } };

/* The change of one host's file. */
struct hook_change {
	bool wanted;
	struct str path, before;
	struct install_outcome done;
};

static const char *hook_change_word(const struct hook_change *h, bool install)
{
	return !h->done.changed ? "unchanged" : install ? "installed" : "removed";
}

static void put_host(struct call *c, struct json *reply, enum host_id host,
		     const struct hook_change *h, bool install)
{
	struct str now;

	json_put_object(reply, names_word(&hosts, (int)host));
	json_put_str(reply, "path", h->path);
	if (host == HOST_CLAUDE && !file_read_regular(c, h->path, &now))
		hooks_changes(c, host, h->before, now, reply);
	json_put_str(reply, "status", str_of(hook_change_word(h, install)));
	json_put_str(reply, "backup", h->done.backup);
	json_end(reply);
}

static enum err vybe_hook_no_file(struct call *c, enum host_id host, bool project)
{
	call_fail(c, ERR_INVALID_INPUT, "%s does not read hooks from a file of the %s",
		  names_word(&hosts, (int)host), project ? "project" : "user");
	return call_step(c, "Run the command with%s --project.", project ? "out" : "");
}

/* The hosts that were named; by default Claude. */
static enum err choose_hosts(struct call *c, const struct body *in, bool wanted[HOST_COUNT])
{
	bool any = false;

	for (int i = 0; i < HOST_COUNT; i++) {
		wanted[i] = in->host[i] > 0;
		any = any || wanted[i];
	}
	if (any)
		return ERR_OK;
	wanted[HOST_CLAUDE] = in->host[HOST_CLAUDE] != 0;
	if (wanted[HOST_CLAUDE])
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "no host was named");
	return call_step(c, "Name a host, for example --codex.");
}

/*
 * A project's file is for everybody who works in it, so it calls the program by its name, and does
 * nothing where that is not installed. A user's file has the path.
 */
static struct str vybe_hook_program(struct call *c, bool project, bool install, struct str self)
{
	if (!project)
		return spawn_quoted(&c->mem, self);
	if (install && !spawn_find(&c->mem, STR("abacus")).p)
		call_warn(c, "'abacus' is not on PATH. The project's hooks call it by that name, "
			     "also in ~/.local/bin, and do nothing where it is not found.");
	return STR(SPAWN_ABSOLUTE_SCRIPT(
		"$PATH:$HOME/.local/bin") "command -v abacus >/dev/null || exit 0; abacus");
}

/* Finds the file of a host, and tries the edit without writing. */
static enum err vybe_hook_try(struct call *c, const struct hooks_entry *entry, bool project,
			      bool install, struct str root, struct hook_change *h)
{
	struct install_edit edit = hooks_edit(entry);
	struct str text;
	enum err e;

	if (!project && !path_home_known()) {
		call_fail(c, ERR_INVALID_INPUT, "HOME is not set to an absolute path");
		return call_step(c, "Set HOME, or pass --project.");
	}
	h->path = hooks_file(c, entry->host, project ? HOST_PROJECT : HOST_USER, root);
	if (!h->path.p)
		return vybe_hook_no_file(c, entry->host, project);
	if ((project && (e = install_check(c, h->path, root))) ||
	    (e = file_read_regular(c, h->path, &h->before)))
		return e;
	e = install     ? edit.add(c, h->before, edit.arg, &text) :
	    h->before.p ? edit.drop(c, h->before, edit.arg, &text) :
			  ERR_OK;
	return e ? install_left_alone(c, h->path, e) : ERR_OK;
}

static enum err vybe_hook_write(struct call *c, enum host_id host, struct str program, bool install,
				struct hook_change *h)
{
	struct hooks_entry entry = { host, program };
	struct install_edit edit = hooks_edit(&entry);

	return install ? install_add(c, h->path, &edit, &h->done) :
			 install_drop(c, h->path, &edit, &h->done);
}

/* All or none: every file is tried before the first is written. */
static enum err vybe_hook_each(struct call *c, const struct body *in, bool install,
			       struct hook_change change[HOST_COUNT])
{
	bool wanted[HOST_COUNT];
	struct str root, self, program;
	enum err e;

	if ((e = choose_hosts(c, in, wanted)) || (e = spawn_need_self(c, &self)) ||
	    (e = place_new(c, STR(".bb"), &root)))
		return e;
	program = vybe_hook_program(c, in->project, install, self);
	for (int i = 0; !e && i < HOST_COUNT; i++) {
		struct hooks_entry entry = { (enum host_id)i, program };

		if ((change[i].wanted = wanted[i]))
			e = vybe_hook_try(c, &entry, in->project, install, root, &change[i]);
	}
	for (int i = 0; !e && i < HOST_COUNT; i++)
		if (wanted[i] &&
		    (e = vybe_hook_write(c, (enum host_id)i, program, install, &change[i])))
			for (int done = 0; done < i; done++)
				install_undo(c, &change[done].done);
	return e;
}

/* Which hosts were changed, and which were not: "installed: claude, codex; unchanged: gemini". */
static struct str vybe_hook_message(struct call *c, const struct hook_change *change, bool install)
{
	struct buf b = { .mem = &c->mem };

	for (int changed = 1; changed >= 0; changed--) {
		const char *between = b.n ? "; " : "";

		for (int i = 0; i < HOST_COUNT; i++) {
			if (!change[i].wanted || change[i].done.changed != changed)
				continue;
			if (strcmp(between, ", "))
				buf_fmt(&b, "%s%s: %s", between,
					hook_change_word(&change[i], install),
					names_word(&hosts, i));
			else
				buf_fmt(&b, ", %s", names_word(&hosts, i));
			between = ", ";
		}
	}
	return arena_fmt(&c->mem, "Hooks " STR_FMT ". %s", STR_ARG(buf_str(&b)),
			 install ? "The hosts call vybe in their next session." :
				   "The hosts no longer call vybe.");
}

/* The files of hosts are UTF-8, so a path that is not UTF-8 cannot be written to them. */
static enum err check_program(struct call *c)
{
	struct str self = spawn_self(&c->mem);

	if (utf8_valid(self))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT,
		  "the path of this program, '" STR_FMT "', is not valid UTF-8", STR_ARG(self));
	return call_step(c, "Nothing was changed. Install abacus in a folder whose name is valid "
			    "UTF-8, and run the command from there.");
}

static enum err vybe_hook_change(struct call *c, const struct body *in, bool install,
				 struct json *reply)
{
	struct hook_change change[HOST_COUNT] = { 0 };
	enum err e = install ? check_program(c) : ERR_OK;

	if (e)
		return e;
	if (in->project && in->user)
		return call_fail(c, ERR_USAGE, "--project and --user can't be combined");
	if ((e = vybe_hook_each(c, in, install, change)))
		return e;
	json_object(reply);
	json_put_str(reply, "message", vybe_hook_message(c, change, install));
	for (int i = 0; i < HOST_COUNT; i++)
		if (change[i].wanted)
			put_host(c, reply, (enum host_id)i, &change[i], install);
	json_end(reply);
	return ERR_OK;
}

enum err vybe_hook_set_up(struct call *c, enum host_id host, bool project, bool install,
			  struct json *reply)
{
	struct body in = { .project = project };

	in.host[host] = 1;
	return vybe_hook_change(c, &in, install, reply);
}

static enum err vybe_hook_run_install(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	(void)s;
	return vybe_hook_change(c, body, true, reply);
}

static enum err vybe_hook_run_uninstall(struct call *c, struct stores *s, const void *body,
					struct json *reply)
{
	(void)s;
	return vybe_hook_change(c, body, false, reply);
}

static enum err vybe_hook_run_handle(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	const struct body *in = body;
	enum host_id host = handler_host((enum host_id)in->of, getenv("COPILOT_CLI"));
	struct handler_ask ask = { host, in->input, str_of(getenv("CLAUDE_ENV_FILE")) };
	struct handler_answer answer;

	(void)s;
	handler_run(c, &ask, &answer);
	json_object(reply);
	json_put_str(reply, "answer",
		     answer.refusal.p ? tool_guard_answer(c, host, answer.event, answer.refusal) :
					hooks_answer(c, host, answer.event, answer.text));
	json_end(reply);
	return ERR_OK;
}

const struct op op_vybe_hook_install = {
	.name = "vybe hook install",
	.help = "Install hooks, so that hosts call vybe",
	.more = "Other entries in the host's file stay unchanged, the old file is kept beside "
		"the new one, and a file that cannot be parsed is not changed. The files of all "
		"named hosts are changed, or none.",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_HOST,
	OP_BODY(struct body, install_fields),
	.reply = &(const struct prop){ "installed", install_props },
	.run = vybe_hook_run_install,
};

const struct op op_vybe_hook_uninstall = {
	.name = "vybe hook uninstall",
	.help = "Remove the hooks",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_HOST,
	OP_BODY(struct body, install_fields),
	.reply = &(const struct prop){ "removed", install_props },
	.run = vybe_hook_run_uninstall,
};

const struct op op_vybe_hook_handle = {
	.name = "vybe hook handle",
	.help = "Handle a call from a host's hook; it never fails, and prints only the host's JSON",
	.flags = OP_WRITE | OP_NAMES | OP_HOST,
	OP_BODY(struct body, handle_fields),
	.reply = &(const struct prop){ "answer", answer_props },
	.run = vybe_hook_run_handle,
};
