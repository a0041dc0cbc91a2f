#include <inttypes.h>

#include "base/text/json.h"
#include "board/status.h"
#include "op/op.h"
#include "ops/ops.h"
#include "store/board/board_artifacts.h"
#include "store/board/board_db.h"
#include "store/board/board_messages.h"

struct body {
	int64_t messages_before;
	bool reset_offline, artifacts, confirm;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "messages_before", &kind_age, AT(messages_before),
	  .help = "delete messages older than this, unless a newer one replies to them" },
	{ "reset_offline", &kind_bool, AT(reset_offline),
	  .help = "delete agents that are offline" },
	{ "artifacts", &kind_bool, AT(artifacts), .help = "delete all artifact entries" },
	{ "confirm", &kind_bool, AT(confirm), .role = ROLE_CONFIRM,
	  .help = "delete without asking" },
	{ 0 },
};

static const struct prop props[] = {
	{ "confirmed:bool messages:int agents:int artifacts:int", NULL },
	{ 0 },
};

static enum err board_clear_count(struct call *c, struct board *b, const struct body *in,
				  struct board_counts *out)
{
	struct board_counts all;
	enum err e = board_count(c, b, &all);

	*out = (struct board_counts){ .artifacts = in->artifacts ? all.artifacts : 0 };
	if (!e && in->messages_before != ABSENT)
		e = message_count_before(c, b, c->now_ms - in->messages_before, &out->messages);
	if (!e && in->reset_offline)
		e = agent_count_unseen(c, b, status_offline_before(c->now_ms), &out->agents);
	return e;
}

static enum err board_clear_clear(struct call *c, struct board *b, const struct body *in)
{
	enum err e = ERR_OK;

	if (in->messages_before != ABSENT)
		e = message_delete_before(c, b, c->now_ms - in->messages_before);
	if (!e && in->reset_offline)
		e = agent_delete_unseen(c, b, status_offline_before(c->now_ms));
	if (!e && in->artifacts)
		e = artifact_delete_all(c, b);
	return e;
}

static enum err nothing_chosen(struct call *c, struct board *b)
{
	const struct body all = { .messages_before = 0, .reset_offline = true, .artifacts = true };
	struct board_counts counts;
	enum err e = board_clear_count(c, b, &all, &counts);

	if (e)
		return e;
	call_fail(c, ERR_INVALID_INPUT,
		  "nothing was selected (messages: %" PRId64 ", offline agents: %" PRId64
		  ", artifacts: %" PRId64 ")",
		  counts.messages, counts.agents, counts.artifacts);
	return call_step(c, "Select with --messages-before, --reset-offline or --artifacts; 'bb "
			    "export' makes a copy first.");
}

static enum err board_clear_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	const struct body *in = body;
	struct board_counts counts;
	enum err e;

	if (in->messages_before == ABSENT && !in->reset_offline && !in->artifacts)
		return nothing_chosen(c, s->board);
	if ((e = board_clear_count(c, s->board, in, &counts)))
		return e;
	if (in->confirm && (e = board_clear_clear(c, s->board, in)))
		return e;
	json_object(reply);
	json_put_bool(reply, "confirmed", in->confirm);
	json_put_int(reply, "messages", counts.messages);
	json_put_int(reply, "agents", counts.agents);
	json_put_int(reply, "artifacts", counts.artifacts);
	json_end(reply);
	return ERR_OK;
}

const struct op op_board_clear = {
	.name = "board clear",
	.help = "Delete old messages, offline agents or artifacts",
	.more = "Shows what would be deleted, and asks on a terminal. Elsewhere, --confirm is "
		"required. An old message is kept while a newer one replies to it.",
	.examples = "bb clear --messages-before 7d\n"
		    "bb clear --reset-offline --confirm",
	.flags = OP_BOARD | OP_WRITE | OP_DESTROYS | OP_RECEIPT,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "cleared", props },
	.run = board_clear_run,
};
