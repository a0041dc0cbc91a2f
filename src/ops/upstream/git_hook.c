#include <stdlib.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "beads/exchange/mirror.h"
#include "op/op.h"
#include "ops/ops.h"
#include "ops/upstream/upstream_ops.h"
#include "store/folder.h"
#include "store/git/git_hooks.h"
#include "store/git/git_tool.h"
#include "store/place.h"

/*
 * bd hook, bd hooks: the hooks that upstream's bd puts into a repository call these. The store
 * needs no hook, so they only import what others changed in .beads/issues.jsonl, and never fail.
 */

struct body {
	struct str name;
	struct list args;
};

#define AT(member) offsetof(struct body, member)

static const struct field run_fields[] = {
	{ "name", &kind_str, AT(name), FIELD_PLACE, .arg = "HOOK", .help = "name of the Git hook" },
	{ "args", &kind_str, AT(args), FIELD_PLACE | FIELD_LIST, .role = ROLE_INPUT,
	  .arg = "ARGUMENT", .help = "arguments that Git gives to the hook" },
	{ 0 },
};

static const struct prop run_props[] = { { "hook|null chained|null", NULL }, { 0 } };

static const struct prop hook_props[] = { { "hook path change? calls?", NULL }, { 0 } };
static const struct prop hooks_reply = { "hooks[]", hook_props };

static struct str git_hook_where(struct call *c)
{
	return c->project.p ? path_resolve(&c->mem, c->dir, c->project) : c->dir;
}

/* --- running --- */

/* Only a plain name can be a file of the hooks folder. */
static bool git_hook_named(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!(name.p[i] >= 'a' && name.p[i] <= 'z') && name.p[i] != '-')
			return false;
	return name.n > 0;
}

/*
 * The user's own hook, which upstream's 'bd hooks install --chain' renamed to NAME.old and runs
 * from 'bd hooks run NAME'. A hook that calls bd itself is not run: the calls would never end.
 */
static struct str git_hook_chained(struct call *c, struct str name)
{
	const char *running = getenv(UPSTREAM_CHAINED);
	struct repository repo;
	struct str dir, path, text;

	if (!git_hook_named(name) || (running && str_is(name, running)) ||
	    place_repository(c, git_hook_where(c), &repo) || !repo.tree.p ||
	    git_hooks_dir(c, repo.tree, &dir))
		return STR_NONE;
	path = path_join(&c->mem, dir, arena_fmt(&c->mem, STR_FMT ".old", STR_ARG(name)));
	if (file_read_regular(c, path, &text) || !text.p || str_has(text, STR("bd-shim")) ||
	    str_has(text, STR("bd hook")) || access(arena_cstr(&c->mem, path), X_OK))
		return STR_NONE;
	if (folder_check_tracked(c, path)) { /* it came with the repository */
		call_forgive(c);
		return STR_NONE;
	}
	return path;
}

/* Does Git call the hook after it may have changed files of the worktree? */
static bool git_hook_changed_files(const struct body *in)
{
	const struct str *arg = in->args.item;

	if (str_is(in->name, "post-checkout")) /* its last argument is 0 for a checkout of files */
		return in->args.n < 3 || !str_is(arg[2], "0");
	return str_is(in->name, "post-merge") || str_is(in->name, "post-rewrite");
}

/*
 * Updates the mirror .beads/issues.jsonl, if the setting mirror.beads is on. Like upstream's hook,
 * it adds the file to the commit if Git tracks it. A hook must not stop Git: 'bd doctor' reports a
 * failure.
 */
static void git_hook_mirror(struct call *c, struct str hook)
{
	const char *never = getenv("BEADS_NO_AUTO_STAGE");
	struct call before = call_save(c);
	struct beads b;

	if (!beads_home(c, &b) && mirror_enabled(c, &b) && !mirror_wait(c, &b) &&
	    str_is(hook, "pre-commit") && !(never && *never))
		git_stage(c, b.repo.tree, STR(".beads/issues.jsonl"));
	call_restore(c, &before);
}

static enum err upstream_git_hook_run(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	const struct body *in = body;
	struct str chained = git_hook_chained(c, in->name);

	(void)s;
	if (git_hook_changed_files(in))
		upstream_take_in(c);
	git_hook_mirror(c, in->name);
	json_object(reply);
	json_put_str(reply, "hook", in->name);
	json_put_str(reply, "chained", chained);
	json_end(reply);
	return call_forgive(c);
}

const struct op op_upstream_git_hook = {
	.name = "upstream hook",
	.help = "Handle a Git hook of upstream's bd; never fails",
	.flags = OP_WRITE | OP_HOST | OP_READER,
	OP_BODY(struct body, run_fields),
	.reply = &(const struct prop){ "hook", run_props },
	.run = upstream_git_hook_run,
};

/* --- installing --- */

static const char *const hook_names[] = { "pre-commit",    "post-merge",         "pre-push",
					  "post-checkout", "prepare-commit-msg", NULL };

static const struct git_section section = {
	.begin = "# >>> abacus beads >>> ('bd hooks uninstall' removes this)\n",
	.end = "# <<< abacus beads <<<\n",
	.by_hand = "Call 'bd hooks run HOOK \"$@\"' in it.",
	.by_hand_there = "Unset core.hooksPath for this repository, or let the hooks there call "
			 "'bd hooks run HOOK \"$@\"'.",
};

/* Upstream's own section in a hook. Its markers have a version, which differs. */
static bool git_hook_is_upstream(struct str text)
{
	return str_has(text, STR("bd-shim")) || str_has(text, STR("BEGIN BEADS INTEGRATION")) ||
	       str_has(text, STR("bd hook")) || str_has(text, STR("bd-hooks-version"));
}

static void git_hook_put(struct call *c, struct json *reply, struct str dir, const char *name,
			 const char *key, const char *word)
{
	json_object(reply);
	json_put_str(reply, "hook", str_of(name));
	json_put_str(reply, "path", path_join(&c->mem, dir, str_of(name)));
	json_put_str(reply, key, str_of(word));
	json_end(reply);
}

static struct git_hook git_hook_of(struct call *c, const char *name, struct str self)
{
	return (struct git_hook){ name, arena_fmt(&c->mem,
						  "if [ -x " STR_FMT " ]; then\n\t" STR_FMT
						  " bd hooks run %s \"$@\" </dev/null || :\nfi\n",
						  STR_ARG(self), STR_ARG(self), name) };
}

/* A hook that calls bd already needs no section. */
static enum err git_hook_install(struct call *c, struct str dir, const struct git_hook *hook,
				 struct json *reply)
{
	enum hook_change change = HOOK_SAME;
	struct str path = path_join(&c->mem, dir, str_of(hook->name)), text;
	enum err e = file_read_regular(c, path, &text);

	if (!e && (!text.p || !git_hook_is_upstream(text) || str_has(text, str_of(section.begin))))
		e = git_hook_add(c, &section, dir, hook, &change);
	if (!e)
		git_hook_put(c, reply, dir, hook->name, "change",
			     names_word(&hook_changes, change));
	return e;
}

static enum err upstream_hooks_install_run(struct call *c, struct stores *s, const void *body,
					   struct json *reply)
{
	struct str dir, main, self;
	enum err e;

	(void)s, (void)body;
	if ((e = spawn_need_self(c, &self)) ||
	    (e = git_hooks_find(c, git_hook_where(c), &section, hook_names, &dir, &main)))
		return e;
	self = spawn_quoted(&c->mem, self);
	for (const char *const *name = hook_names; !e && *name; name++) {
		struct git_hook hook = git_hook_of(c, *name, self);

		e = git_hook_check(c, &section, dir, &hook);
	}
	json_array(reply);
	for (const char *const *name = hook_names; !e && *name; name++) {
		struct git_hook hook = git_hook_of(c, *name, self);

		e = git_hook_install(c, dir, &hook, reply);
	}
	json_end(reply);
	return e;
}

static enum err upstream_hooks_uninstall_run(struct call *c, struct stores *s, const void *body,
					     struct json *reply)
{
	struct str dir, main;
	enum err e = git_hooks_find(c, git_hook_where(c), &section, hook_names, &dir, &main);

	(void)s, (void)body;
	json_array(reply);
	for (const char *const *name = hook_names; !e && *name; name++) {
		struct git_hook hook = { .name = *name };
		enum hook_change change;

		if (!(e = git_hook_remove(c, &section, dir, &hook, &change)))
			git_hook_put(c, reply, dir, *name, "change",
				     names_word(&hook_changes, change));
	}
	json_end(reply);
	return e;
}

static enum err upstream_hooks_list_run(struct call *c, struct stores *s, const void *body,
					struct json *reply)
{
	struct str dir, main, text;
	enum err e = git_hooks_find(c, git_hook_where(c), &section, hook_names, &dir, &main);

	(void)s, (void)body;
	json_array(reply);
	for (const char *const *name = hook_names; !e && *name; name++) {
		if ((e = file_read_regular(c, path_join(&c->mem, dir, str_of(*name)), &text)))
			break;
		git_hook_put(c, reply, dir, *name, "calls",
			     !text.p                              ? "absent" :
			     str_has(text, str_of(section.begin)) ? "bd" :
			     git_hook_is_upstream(text)           ? "upstream bd" :
								    "other");
	}
	json_end(reply);
	return e;
}

const struct op op_upstream_hooks_install = {
	.name = "upstream hooks install",
	.help = "Install Git hooks that import .beads/issues.jsonl",
	.more = "Only a repository that is shared with users of upstream's bd needs them; beads "
		"are published without hooks. A hook that calls bd already stays as it is.",
	.flags = OP_WRITE | OP_HOST | OP_IDEMPOTENT,
	.reply = &hooks_reply,
	.run = upstream_hooks_install_run,
};

const struct op op_upstream_hooks_uninstall = {
	.name = "upstream hooks uninstall",
	.help = "Remove these Git hooks",
	.flags = OP_WRITE | OP_HOST | OP_IDEMPOTENT,
	.reply = &hooks_reply,
	.run = upstream_hooks_uninstall_run,
};

const struct op op_upstream_hooks_list = {
	.name = "upstream hooks list",
	.help = "List the Git hooks and which program each of them calls",
	.flags = OP_HOST,
	.reply = &hooks_reply,
	.run = upstream_hooks_list_run,
};
