#include "base/text/json.h"
#include "board/status.h"
#include "ops/board/shapes.h"
#include "ops/ops.h"

static enum err board_status_clear_run(struct call *c, struct stores *s, const void *body,
				       struct json *reply)
{
	struct agent *a;
	enum err e = status_clear(c, s->board, &a);

	(void)body;
	if (!e)
		agent_encode(reply, c, a, NULL);
	return e;
}

const struct op op_board_status_clear = {
	.name = "board status clear",
	.help = "Reset your status to idle",
	.flags = OP_BOARD | OP_WRITE | OP_ACTOR | OP_RECEIPT | OP_IDEMPOTENT,
	.reply = &agent_reply,
	.run = board_status_clear_run,
};
