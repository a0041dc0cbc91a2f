#include "base/system/file.h"
#include "base/text/json.h"
#include "beads/beads.h"
#include "hosts/sandbox.h"
#include "op/op.h"
#include "ops/ops.h"
#include "store/home_move.h"

/* abacus move-store: moves the store between the Git directory and the workspace. */

struct move_store {
	int to; /* of home_kinds */
};

static const struct field fields[] = {
	{ "to", &kind_word, offsetof(struct move_store, to), FIELD_REQUIRED | FIELD_PLACE,
	  .words = &home_kinds, .arg = "git|workspace",
	  .help = "git (the folder abacus in the Git directory) or workspace (the folder .abacus "
		  "in the main worktree)" },
	{ 0 },
};

static const struct prop props[] = { { "result from store", NULL }, { 0 } };

static enum err move_store_check(struct call *c, const struct move_store *in, struct beads *b)
{
	struct file_found found;
	enum err e;

	if (in->to == HOME_ANY)
		return call_fail(c, ERR_USAGE, "'auto' names no place: choose git or workspace");
	if ((e = beads_home(c, b)) || (e = file_look(c, b->home, &found)) ||
	    found.kind == FILE_FOLDER)
		return e;
	call_fail(c, ERR_NOT_INITIALIZED, "there is no store in '" STR_FMT "' to move",
		  STR_ARG(b->repo.tree));
	return call_step(c, "Run 'abacus init --store %s' to create one.",
			 names_word(&home_kinds, in->to));
}

static enum err move_store_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	const struct move_store *in = body;
	struct home_moving done;
	struct beads b;
	enum err e;

	(void)s;
	if ((e = move_store_check(c, in, &b)) ||
	    (e = home_move(c, b.repo.common, (enum home_kind)in->to, &done)))
		return e;
	c->home = STR_NONE;
	if (!str_eq(done.from, done.to) && sandbox_lists(c, done.from))
		call_warn(c,
			  "the configuration of Codex lists '" STR_FMT
			  "' in writable_roots, and its sandbox fails where a listed folder is "
			  "missing; remove it there",
			  STR_ARG(done.from));
	json_object(reply);
	json_put_str(reply, "result", str_eq(done.from, done.to) ? STR("unchanged") : STR("moved"));
	json_put_str(reply, "from", done.from);
	json_put_str(reply, "store", done.to);
	json_end(reply);
	return ERR_OK;
}

const struct op op_move_store = {
	.name = "move-store",
	.help = "Move the store into the workspace, or into the Git directory",
	.more = "Some sandboxes, such as that of Codex, let programs write to the worktree but not "
		"to .git. Beads, memory and settings then belong in the workspace. Other "
		"commands may run meanwhile: they wait, and continue in the new place. If the move "
		"is killed, the store is in one of the two places, and complete.",
	.examples = "abacus move-store workspace\n"
		    "abacus move-store git",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_HOST,
	OP_BODY(struct move_store, fields),
	.reply = &(const struct prop){ "moved", props },
	.run = move_store_run,
};
