#include "agents/guard.h"
#include "base/moment.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "ops/agent/agent_ops.h"
#include "ops/ops.h"
#include "store/git/git_hooks.h"
#include "store/git/git_tool.h"
#include "store/place.h"

/* bb agent guard, guard install, guard uninstall: checks changes against the reservations. */

enum policy { POLICY_REFUSE, POLICY_WARN };
static const struct names policies = NAMES_OF("refuse", "warn");

struct body {
	struct str agent, input, pushed;
	struct list paths;
	bool staged;
	int64_t epoch;
	int on_deny, on_error;
};

#define AT(member) offsetof(struct body, member)

#define POLICY_FIELDS                                              \
	{ "on_deny",                                               \
	  &kind_word,                                              \
	  AT(on_deny),                                             \
	  FIELD_CLI,                                               \
	  .words = &policies,                                      \
	  .preset = "refuse",                                      \
	  .help = "action if another agent has reserved a file" }, \
	{                                                          \
		"on_error", &kind_word, AT(on_error), FIELD_CLI,   \
			.words = &policies, .preset = "refuse",    \
			.help = "action if the check itself fails" \
	}

static const struct field guard_fields[] = {
	{ "agent", &kind_str, AT(agent), FIELD_ACTOR, .arg = "AGENT", .min = 1, .max = 200,
	  .help = "your name; without one, every reservation counts as another agent's" },
	{ "paths", &kind_path, AT(paths), FIELD_PLACE | FIELD_LIST | FIELD_ASKED, .min = 1,
	  .max = 4096, .help = "files, relative to the project's root" },
	{ "stdin", &kind_input, AT(input), FIELD_CLI, .max = 64 << 20,
	  .help = "read the files from standard input, separated by newlines or NUL" },
	{ "staged", &kind_bool, AT(staged), FIELD_CLI,
	  .help = "check the files of the next commit" },
	{ "pushed", &kind_input, AT(pushed), FIELD_CLI, .max = 64 << 20,
	  .help = "check the files of the commits that a pre-push hook reads from Git" },
	{ "epoch", &kind_int, AT(epoch), .min = 1, .arg = "N",
	  .help = "epoch of your reservation; fail if it is stale" },
	POLICY_FIELDS,
	{ 0 },
};

static const struct field install_fields[] = { POLICY_FIELDS, { 0 } };

static const struct prop finding_props[] = {
	{ "path owner_liveness", NULL },
	{ "reservation", reservation_props },
	{ 0 },
};

static const struct prop guard_props[] = {
	{ "outcome reason|null checked:int", NULL },
	{ "denied[]", finding_props },
	{ 0 },
};

static const struct prop hook_props[] = { { "hook path change", NULL }, { 0 } };

/* --- the files to check --- */

struct paths {
	struct call *c;
	struct guard_path **tail;
};

static void add_path(struct paths *list, struct guard_path path)
{
	*list->tail = arena_new(&list->c->mem, struct guard_path);
	**list->tail = path;
	list->tail = &(*list->tail)->next;
}

static void add_asked(struct paths *list, struct str path)
{
	add_path(list, (struct guard_path){ .path = path, .follow = true });
}

/* Git's paths are relative to the root of the worktree, which need not be the project's. Git stores
 * a link as a file of its own, so links are not followed. */
static void add_found(struct paths *list, struct str tree, const struct git_path *found)
{
	for (; found; found = found->next)
		add_path(list, (struct guard_path){
				       .path = path_join(&list->c->mem, tree, found->path) });
}

static void add_lines(struct paths *list, struct str text)
{
	char sep = text.n && memchr(text.p, '\0', text.n) ? '\0' : '\n';
	struct str line;

	while (text.n && str_next(&text, sep, &line)) {
		if (sep && str_ends(line, STR("\r")))
			line.n--;
		if (line.n)
			add_asked(list, sep ? git_unquote(&list->c->mem, line) : line);
	}
}

static struct str agent_guard_where(struct call *c)
{
	return c->project.p ? path_resolve(&c->mem, c->dir, c->project) : c->dir;
}

/* Without reservations Git need not be asked. */
static enum err any_reserved(struct call *c, struct agent_files *f, bool *out)
{
	struct reservation *r;
	enum err e = reservation_each(c, f, STR_NONE, STR_NONE, &r);

	*out = !e && r;
	return e;
}

static enum err agent_guard_collect(struct call *c, struct agent_files *f, const struct body *in,
				    struct guard_path **out)
{
	bool any;
	struct repository repo;
	struct paths list = { c, out };
	const struct str *given = in->paths.item;
	struct git_path *found;
	enum err e;

	for (size_t i = 0; i < in->paths.n; i++)
		add_asked(&list, given[i]);
	add_lines(&list, in->input);
	if ((in->staged || in->pushed.p) && (e = place_repository(c, agent_guard_where(c), &repo)))
		return e;
	if ((in->staged || in->pushed.p) && !repo.tree.p) {
		call_fail(c, ERR_IO_READ_FAILED, "'" STR_FMT "' is not in a worktree of Git",
			  STR_ARG(agent_guard_where(c)));
		return call_step(c, "Change to a worktree, or name the files.");
	}
	if ((in->staged || in->pushed.p) && ((e = any_reserved(c, f, &any)) || !any))
		return e;
	if (in->staged) {
		if ((e = git_staged(c, repo.tree, &found)))
			return e;
		add_found(&list, repo.tree, found);
	}
	if (in->pushed.p) {
		if ((e = git_pushed(c, repo.tree, in->pushed, &found)))
			return e;
		add_found(&list, repo.tree, found);
	}
	if (*out || in->staged || in->pushed.p || in->input.p)
		return ERR_OK;
	call_fail(c, ERR_USAGE, "no file was named");
	return call_step(c, "Name files, or pass --staged or --stdin.");
}

/* --- the result --- */

static void agent_guard_encode(struct json *j, const struct call *c, const char *outcome,
			       struct str reason, const struct guard_answer *answer)
{
	json_object(j);
	json_put_str(j, "outcome", str_of(outcome));
	json_put_str(j, "reason", reason);
	json_put_int(j, "checked", (int64_t)answer->checked);
	json_put_array(j, "denied");
	for (const struct guard_finding *f = answer->denied; f; f = f->next) {
		json_object(j);
		json_put_str(j, "path", utf8_clean(j->out.mem, f->path));
		json_put_word(j, "owner_liveness", &liveness_words, f->owner);
		json_key(j, STR("reservation"));
		reservation_encode(j, c, &f->held);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static enum err agent_guard_deny(struct call *c, const struct body *in,
				 const struct guard_answer *answer)
{
	const struct guard_finding *f = answer->denied;
	struct str agent = in->agent.p ? spawn_word(&c->mem, in->agent) : STR("NAME");
	size_t more = 0;

	if (answer->lost) {
		call_fail(c, ERR_STALE_EPOCH,
			  "'" STR_FMT "' has no reservation with epoch %lld any more",
			  STR_ARG(in->agent), (long long)in->epoch);
		return c->code;
	}
	for (const struct guard_finding *g = f->next; g; g = g->next)
		more++;
	call_fail(c, ERR_RESERVATION_CONFLICT,
		  "'" STR_FMT "' is reserved by '" STR_FMT "' for another %s%s",
		  STR_ARG(utf8_clean(&c->mem, f->path)), STR_ARG(f->held.agent),
		  duration_left(&c->mem, f->held.expires_ms - c->now_ms).p,
		  more ? arena_fmt(&c->mem, ", and %zu more like it", more).p : "");
	if (f->owner == LIVENESS_ACTIVE)
		return call_step(c,
				 "Leave the file out, ask " STR_FMT
				 " for it, or wait until it is free: bb agent wait --agent " STR_FMT
				 " --freed " STR_FMT,
				 STR_ARG(f->held.agent), STR_ARG(agent),
				 STR_ARG(spawn_word(&c->mem, f->held.scope)));
	return call_step(c,
			 "Its owner is %s. If the owner is no longer at work, take the scope over: "
			 "bb agent reserve --takeover-stale --agent " STR_FMT " --bead " STR_FMT
			 " --scope " STR_FMT,
			 names_word(&liveness_words, (int)f->owner), STR_ARG(agent),
			 STR_ARG(spawn_word(&c->mem, f->held.bead)),
			 STR_ARG(spawn_word(&c->mem, f->held.scope)));
}

static enum err agent_guard_check(struct call *c, struct stores *s, const struct body *in,
				  struct guard_answer *answer)
{
	struct guard_ask ask = { .agent = in->agent, .epoch = in->epoch == ABSENT ? 0 : in->epoch };
	enum err e;

	if ((e = place_tree(c, s->agents->root, &ask.tree)) ||
	    (e = agent_guard_collect(c, s->agents, in, &ask.paths)) ||
	    (e = guard_paths(c, s->agents, &ask, answer)))
		return e;
	if (!answer->denied && !answer->lost)
		return ERR_OK;
	return agent_guard_deny(c, in, answer);
}

/* The policy may let a conflict pass, but it is reported. */
static enum err agent_guard_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	const struct body *in = body;
	struct guard_answer answer = { 0 };
	enum err e = agent_guard_check(c, s, in, &answer);
	bool denied = answer.denied || answer.lost;
	struct json details = json_new(&c->mem);

	if (!e) {
		agent_guard_encode(reply, c, "allow", STR_NONE, &answer);
		return ERR_OK;
	}
	if (e == ERR_USAGE)
		return e;
	if ((denied ? in->on_deny : in->on_error) == POLICY_REFUSE) {
		agent_guard_encode(&details, c, denied ? "deny" : "error", c->message, &answer);
		return call_detail(c, json_text(&details));
	}
	c->warning = c->message;
	agent_guard_encode(reply, c, denied ? "deny" : "error", c->message, &answer);
	return call_forgive(c);
}

/* --- hooks --- */

/* The hook names the project unless it is the whole repository. */
static struct str agent_guard_script(struct call *c, const struct body *in, struct str project,
				     const char *files, const char *before, const char *after)
{
	struct str self = spawn_quoted(&c->mem, spawn_self(&c->mem)),
		   dir = project.p ? arena_fmt(&c->mem, " --dir " STR_FMT,
					       STR_ARG(spawn_quoted(&c->mem, project))) :
				     STR("");

	return arena_fmt(&c->mem,
			 "%sif [ -x " STR_FMT " ]; then\n"
			 "\t%s" STR_FMT " bb" STR_FMT
			 " agent guard %s --on-deny %s --on-error %s >/dev/null || exit 1\n"
			 "else\n"
			 "\techo " STR_FMT " is not there: reservations are not checked >&2\n"
			 "fi\n%s",
			 before, STR_ARG(self),
			 *before ? "printf '%s\\n' \"$abacus_input\" | " : "", STR_ARG(self),
			 STR_ARG(dir), files, names_word(&policies, in->on_deny),
			 names_word(&policies, in->on_error), STR_ARG(self), after);
}

static const struct git_section section = {
	.begin = "# >>> abacus guard >>> ('bb agent guard uninstall' removes this)\n",
	.end = "# <<< abacus guard <<<\n",
	.by_hand = "Call 'bb agent guard --staged' (pre-commit) or 'bb agent guard --pushed' "
		   "(pre-push) in it, and stop if that fails.",
	.by_hand_there = "Unset core.hooksPath for this repository, or let the hooks there call "
			 "'bb agent guard' yourself.",
};
static const char *const hook_names[] = { "pre-commit", "pre-push", NULL };

/* A pre-push hook can read its input only once, so ours passes it on to the hooks after it. */
static void make_hooks(struct call *c, const struct body *in, struct str project,
		       struct git_hook out[2])
{
	out[0] = (struct git_hook){ "pre-commit",
				    agent_guard_script(c, in, project, "--staged", "", "") };
	out[1] = (struct git_hook){
		"pre-push",
		agent_guard_script(
			c, in, project, "--pushed",
			"abacus_input=$(" SPAWN_ABSOLUTE_SCRIPT("$PATH") "cat) || exit 1\n",
			"if [ -n \"$abacus_input\" ]; then\n"
			"\texec <<abacus_end\n"
			"$abacus_input\n"
			"abacus_end\n"
			"else\n"
			"\texec </dev/null\n"
			"fi\n"),
	};
}

static void put_hook(struct call *c, struct json *reply, struct str dir,
		     const struct git_hook *hook, enum hook_change change)
{
	json_object(reply);
	json_put_str(reply, "hook", str_of(hook->name));
	json_put_str(reply, "path", path_join(&c->mem, dir, str_of(hook->name)));
	json_put_word(reply, "change", &hook_changes, change);
	json_end(reply);
}

static enum err agent_guard_run_install(struct call *c, struct stores *s, const void *body,
					struct json *reply)
{
	struct git_hook hooks[2];
	enum hook_change change;
	struct str dir, main, self, root = s->agents->root;
	enum err e = spawn_need_self(c, &self);

	if (!e)
		e = git_hooks_find(c, agent_guard_where(c), &section, hook_names, &dir, &main);
	make_hooks(c, body, !e && root.p && !str_eq(root, main) ? root : STR_NONE, hooks);
	for (int i = 0; !e && i < 2; i++)
		e = git_hook_check(c, &section, dir, &hooks[i]);
	json_array(reply);
	for (int i = 0; !e && i < 2; i++)
		if (!(e = git_hook_add(c, &section, dir, &hooks[i], &change)))
			put_hook(c, reply, dir, &hooks[i], change);
	json_end(reply);
	return e;
}

static enum err agent_guard_run_uninstall(struct call *c, struct stores *s, const void *body,
					  struct json *reply)
{
	static const struct git_hook hooks[] = { { "pre-commit", { 0 } }, { "pre-push", { 0 } } };
	enum hook_change change;
	struct str dir, main;
	enum err e = git_hooks_find(c, agent_guard_where(c), &section, hook_names, &dir, &main);

	(void)s, (void)body;
	json_array(reply);
	for (int i = 0; !e && i < 2; i++)
		if (!(e = git_hook_remove(c, &section, dir, &hooks[i], &change)))
			put_hook(c, reply, dir, &hooks[i], change);
	json_end(reply);
	return e;
}

const struct op op_agent_guard = {
	.name = "agent guard",
	.help = "Check that no other agent has reserved files",
	.more = "Exits with 0 if all files are allowed, 1 if one is denied, 3 if the check "
		"itself failed. 'bb agent guard install' makes Git run the check before every "
		"commit and push. For a push, every commit that no remote-tracking ref contains "
		"is checked, even if it is dated before the reservation, because anyone can set "
		"a date.",
	.examples = "bb agent guard --agent amber-otter src/lib/parser.ts\n"
		    "git diff --name-only main | bb agent guard --agent amber-otter --stdin",
	.flags = AGENT_READ,
	OP_BODY(struct body, guard_fields),
	.reply = &(const struct prop){ "guard", guard_props },
	.run = agent_guard_run,
};

const struct op op_agent_guard_install = {
	.name = "agent guard install",
	.help = "Make Git run the guard before every commit and push",
	.more = "Adds a marked section to the hooks pre-commit and pre-push of this repository. "
		"Existing commands stay, and run after it. If the program is missing, the hooks "
		"allow everything.",
	.flags = OP_AGENTS | OP_IDEMPOTENT | OP_HOST,
	OP_BODY(struct body, install_fields),
	.reply = &(const struct prop){ "hooks[]", hook_props },
	.run = agent_guard_run_install,
};

const struct op op_agent_guard_uninstall = {
	.name = "agent guard uninstall",
	.help = "Remove the guard from Git's hooks",
	.flags = OP_AGENTS | OP_IDEMPOTENT | OP_HOST,
	OP_BODY(struct body, NULL),
	.reply = &(const struct prop){ "hooks[]", hook_props },
	.run = agent_guard_run_uninstall,
};
