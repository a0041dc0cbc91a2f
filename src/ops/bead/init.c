#include "base/system/spawn.h"
#include "base/text/json.h"
#include "beads/beads.h"
#include "beads/exchange/mention.h"
#include "beads/setup.h"
#include "op/op.h"
#include "ops/ops.h"

static const struct field fields[] = {
	{ "prefix", &kind_str, offsetof(struct setup_ask, prefix), .letter = 'p', .arg = "WORD",
	  .min = 1, .max = 32, .help = "prefix of bead ids (default: the folder's name)" },
	{ "ref", &kind_str, offsetof(struct setup_ask, ref), .arg = "REF",
	  .help = "Git ref to publish to (default refs/beads/store)" },
	{ "remote", &kind_str, offsetof(struct setup_ask, remote), .arg = "REMOTE",
	  .help = "Git remote to publish to (default origin)" },
	{ "store", &kind_word, offsetof(struct setup_ask, store), .words = &home_kinds,
	  .preset = "auto", .help = "where to create the store; workspace is the folder .abacus" },
	{ 0 },
};

static const struct prop props[] = { { "result prefix store repository agents_md", NULL }, { 0 } };

static void bead_init_warn(struct call *c, const struct setup *done, const struct beads *b)
{
	if (done->step.p)
		c->warning = arena_fmt(&c->mem, STR_FMT ". " STR_FMT, STR_ARG(done->problem),
				       STR_ARG(done->step));
	else if (done->problem.p)
		c->warning = arena_fmt(&c->mem,
				       STR_FMT ". Beads work without the remote, and are synced "
					       "as soon as it can be reached.",
				       STR_ARG(done->problem));
	else if (done->asked.p)
		c->warning = arena_fmt(&c->mem,
				       "the beads that are shared here begin with '" STR_FMT
				       "-', and still do; 'bd init --prefix " STR_FMT
				       "' once more changes that for everybody",
				       STR_ARG(b->about.prefix),
				       STR_ARG(spawn_word(&c->mem, done->asked)));
}

static enum err bead_init_run(struct call *c, struct stores *s, const void *body,
			      struct json *reply)
{
	struct setup done;
	struct beads b;
	enum err e = setup_run(c, body, &b, &done);

	(void)s;
	if (e)
		return e;
	bead_init_warn(c, &done, &b);
	mention_warn(c, &b);
	if (done.upstream)
		call_warn(c, SETUP_DIALECT);
	json_object(reply);
	json_put_str(reply, "result", str_of(done.result));
	json_put_str(reply, "prefix", b.about.prefix);
	json_put_str(reply, "store", b.home);
	json_put_str(reply, "repository", b.repo.tree);
	json_put_str(reply, "agents_md", str_of(setup_advice));
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_init = {
	.name = "bead init",
	.help = "Set up beads in this repository, or join existing ones",
	.more = "The store is a folder in the Git directory, or with '--store workspace' the "
		"folder .abacus in the main worktree, for sandboxes in which .git cannot be "
		"written; the default chooses the second where the first is not possible. No "
		"file, branch or setting of yours is changed. Prints what you may want to add to "
		"AGENTS.md.",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_ACTOR | OP_HOST,
	OP_BODY(struct setup_ask, fields),
	.reply = &(const struct prop){ "init", props },
	.run = bead_init_run,
};
