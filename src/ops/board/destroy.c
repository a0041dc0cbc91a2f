#include "base/text/json.h"
#include "op/op.h"
#include "ops/ops.h"
#include "store/board/board_db.h"
#include "store/place.h"

struct body {
	bool confirm;
};

static const struct field fields[] = {
	{ "confirm", &kind_bool, offsetof(struct body, confirm), .role = ROLE_CONFIRM,
	  .help = "remove the board; without this option nothing is removed" },
	{ 0 },
};

static const struct prop props[] = {
	{ "confirmed:bool project_dir agents:int messages:int artifacts:int", NULL },
	{ 0 },
};

/* Counts the board's rows. A damaged board can be destroyed too; then the counts are unknown. */
static enum err board_destroy_count(struct call *c, struct board_counts *counts, struct str *root)
{
	struct board b;
	enum err e = board_open(c, BOARD_READ, &b);

	*root = b.root;
	if (e)
		return e;
	e = board_count(c, &b, counts);
	board_close(&b);
	return e;
}

static enum err board_destroy_run(struct call *c, struct stores *s, const void *body,
				  struct json *reply)
{
	const struct body *in = body;
	struct board_counts counts = { 0 };
	struct str root;
	enum err e;

	(void)s;
	if (in->confirm && !place_new(c, STR(".bb"), &root))
		board_sweep(c, root);
	call_forgive(c);
	e = board_destroy_count(c, &counts, &root);
	if (e && (e != ERR_DAMAGED || !in->confirm))
		return e;
	call_forgive(c);
	if (in->confirm && (e = board_destroy(c, root)))
		return e;
	json_object(reply);
	json_put_bool(reply, "confirmed", in->confirm);
	json_put_str(reply, "project_dir", root);
	json_put_int(reply, "agents", counts.agents);
	json_put_int(reply, "messages", counts.messages);
	json_put_int(reply, "artifacts", counts.artifacts);
	json_end(reply);
	return ERR_OK;
}

const struct op op_board_destroy = {
	.name = "board destroy",
	.help = "Remove this project's board",
	.more = "Removes the folder .bb and everything in it. Without --confirm, it only shows "
		"what is there.",
	.flags = OP_WRITE | OP_DESTROYS,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "removed", props },
	.run = board_destroy_run,
};
