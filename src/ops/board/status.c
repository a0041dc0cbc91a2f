#include "base/text/json.h"
#include "board/unread.h"
#include "live/roster.h"
#include "ops/board/shapes.h"
#include "ops/ops.h"

/* Shows one agent or all; the actor's own entry has its unread messages too. */

struct body {
	struct str agent_id;
};

static enum err board_status_encode(struct call *c, struct board *b, const struct roster_agent *a,
				    struct json *reply)
{
	bool self = call_named(c) && str_eq(a->shown.id, c->actor);
	struct unread unread;
	enum err e;

	if (self && (e = unread_count(c, b, c->actor, &unread)))
		return e;
	roster_encode(reply, c, a, self ? &unread : NULL);
	return ERR_OK;
}

static enum err board_status_run(struct call *c, struct stores *s, const void *body,
				 struct json *reply)
{
	const struct body *in = body;
	struct str only = in->agent_id.p ? str_trim(in->agent_id) : STR_NONE;
	struct roster_agent *a;
	bool found = !only.p;
	enum err e = roster_of_board(c, s->board, &a);

	if (e)
		return e;
	json_array(reply);
	for (; a; a = a->next) {
		if (only.p && !str_eq(a->shown.id, only))
			continue;
		found = true;
		if ((e = board_status_encode(c, s->board, a, reply)))
			return e;
	}
	json_end(reply);
	if (found)
		return ERR_OK;
	call_fail(c, ERR_NOT_FOUND, "there is no agent '" STR_FMT "'", STR_ARG(only));
	return call_step(c, "Run 'bb status' to list the agents.");
}

static const struct field any[] = {
	{ "agent_id", &kind_str, offsetof(struct body, agent_id), FIELD_WIRE,
	  .help = "agent name" },
	{ 0 },
};

static const struct field one[] = {
	{ "agent_id", &kind_str, offsetof(struct body, agent_id), FIELD_REQUIRED | FIELD_PLACE,
	  .arg = "AGENT", .help = "agent name" },
	{ 0 },
};

const struct op op_board_status = {
	.name = "board status",
	.help = "Show agents, their work and their liveness",
	.more = "Lists the agents that have used the board and the registered ones. On the board an "
		"agent is active for 5 whole minutes after it was last seen, then stale, and "
		"offline after 30 minutes.",
	.examples = "bb status\n"
		    "bb status --json",
	.flags = OP_BOARD | OP_READER,
	OP_BODY(struct body, any),
	.reply = &roster_reply,
	.run = board_status_run,
};

const struct op op_board_status_get = {
	.name = "board status get",
	.help = "Show one agent's status in detail",
	.examples = "bb status get claude-01",
	.flags = OP_BOARD | OP_READER,
	OP_BODY(struct body, one),
	.reply = &roster_reply,
	.run = board_status_run,
};
