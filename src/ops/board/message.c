#include <inttypes.h>

#include "base/text/json.h"
#include "board/posts.h"
#include "ops/board/shapes.h"
#include "ops/ops.h"

struct body {
	int64_t id;
};

static const struct field fields[] = {
	{ "id", &kind_id, offsetof(struct body, id), FIELD_REQUIRED | FIELD_PLACE, .min = 1,
	  .help = "message id" },
	{ 0 },
};

static enum err board_message_run(struct call *c, struct stores *s, const void *body,
				  struct json *reply)
{
	const struct body *in = body;
	struct message *thread;
	int64_t left_out;
	enum err e = post_thread(c, s->board, in->id, &thread, &left_out);

	if (e)
		return e;
	if (left_out)
		c->warning =
			arena_fmt(&c->mem,
				  "the thread has %" PRId64
				  " more messages; 'bb message ID' of a reply shows its replies",
				  left_out);
	message_encode_all(reply, thread);
	return ERR_OK;
}

const struct op op_board_message = {
	.name = "board message",
	.help = "Show a message and its replies",
	.more = "Shows the message, then its replies and their replies, depth first; at most 50.",
	.examples = "bb message 42",
	.flags = OP_BOARD | OP_READER,
	OP_BODY(struct body, fields),
	.reply = &messages_reply,
	.run = board_message_run,
};
