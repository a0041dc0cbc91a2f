#include "base/text/json.h"
#include "op/op.h"
#include "ops/ops.h"
#include "store/board/board_db.h"
#include "store/place.h"

static const char *const made_words[] = {
	[BOARD_MADE] = "created",
	[BOARD_THERE] = "exists",
	[BOARD_REPLACED] = "replaced",
};

static enum err board_init_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	struct str root, aside = { 0 };
	enum board_made made;
	enum err e;

	(void)s, (void)body;
	if ((e = place_new(c, STR(".bb"), &root)) || (e = board_make(c, root, &made, &aside)))
		return e;
	if (made == BOARD_REPLACED && aside.p)
		c->warning = arena_fmt(&c->mem,
				       "the database was damaged and was kept as '" STR_FMT
				       "'; this is a new, empty board",
				       STR_ARG(aside));
	else if (made == BOARD_REPLACED)
		c->warning = STR("the database was missing; this is a new, empty board");
	json_object(reply);
	json_put_str(reply, "project_dir", root);
	json_put_str(reply, "result", str_of(made_words[made]));
	json_put_str(reply, "kept_aside", aside);
	json_end(reply);
	return ERR_OK;
}

static const struct prop props[] = { { "project_dir result kept_aside|null", NULL }, { 0 } };

const struct op op_board_init = {
	.name = "board init",
	.help = "Create a board for this project",
	.more = "Creates the folder .bb with its database at the root of the main Git worktree, "
		"or in the current directory outside a repository. An existing board stays as it "
		"is. A damaged database is kept under a new name.",
	.flags = OP_WRITE | OP_IDEMPOTENT,
	.reply = &(const struct prop){ "board", props },
	.run = board_init_run,
};
