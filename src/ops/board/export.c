#include "base/moment.h"
#include "base/text/json.h"
#include "board/artifacts.h"
#include "board/posts.h"
#include "board/status.h"
#include "ops/board/shapes.h"
#include "ops/ops.h"
#include "store/board/board_db.h"

static const struct prop props[] = {
	{ "exported_at project_dir", NULL },
	{ "agents[]", agent_props },
	{ "messages[]", message_props },
	{ "artifacts[]", artifact_props },
	{ 0 },
};

static enum err board_export_run(struct call *c, struct stores *s, const void *body,
				 struct json *reply)
{
	struct message_filter every = { .min_priority = -1, .oldest_first = true };
	struct artifact_filter all = { 0 };
	struct agent *agents;
	struct message *messages;
	struct artifact *artifacts;
	enum err e;

	(void)body;
	if ((e = status_each(c, s->board, &agents)) ||
	    (e = message_each(c, s->board, &every, &messages)) ||
	    (e = artifact_each(c, s->board, &all, &artifacts)))
		return e;
	json_object(reply);
	json_put_str(reply, "exported_at", moment_format(&c->mem, c->now_ms));
	json_put_str(reply, "project_dir", s->board->root);
	json_put_array(reply, "agents");
	for (; agents; agents = agents->next)
		agent_encode(reply, c, agents, NULL);
	json_end(reply);
	json_key(reply, STR("messages"));
	message_encode_all(reply, messages);
	json_key(reply, STR("artifacts"));
	artifact_encode_all(reply, artifacts);
	json_end(reply);
	return ERR_OK;
}

const struct op op_board_export = {
	.name = "board export",
	.help = "Print the whole board as JSON",
	.examples = "bb export > board.json",
	.flags = OP_BOARD,
	.reply = &(const struct prop){ "board", props },
	.run = board_export_run,
};
