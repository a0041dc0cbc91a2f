#include "base/text/json.h"
#include "board/artifacts.h"
#include "board/posts.h"
#include "board/status.h"
#include "board/unread.h"
#include "live/roster.h"
#include "ops/board/shapes.h"
#include "ops/ops.h"
#include "store/board/board_config.h"
#include "store/board/board_db.h"

enum { MOST = 10 }; /* maximum length of each list, to keep the overview short */

static const struct prop props[] = {
	{ "agents[]", roster_props },
	{ "active_agents[]", roster_props },
	{ "blocked_agents[]", roster_props },
	{ "recent_messages[]", message_props },
	{ "high_priority_messages[]", message_props },
	{ "recent_artifacts[]", artifact_props },
	{ "unread?", unread_props },
	{ 0 },
};

static bool board_summary_any(const struct call *c, const struct agent *a)
{
	return c && a;
}

static bool board_summary_active(const struct call *c, const struct agent *a)
{
	return board_liveness_of(a->last_seen, c->now_ms) == BOARD_ACTIVE;
}

static bool board_summary_blocked(const struct call *c, const struct agent *a)
{
	return c && a->status == AGENT_BLOCKED;
}

static void board_summary_put_agents(struct json *j, struct call *c, const char *key,
				     const struct roster_agent *a,
				     bool (*wanted)(const struct call *, const struct agent *))
{
	json_put_array(j, key);
	for (; a; a = a->next)
		if (wanted(c, &a->shown))
			roster_encode(j, c, a, NULL);
	json_end(j);
}

static enum err put_unread(struct json *j, struct call *c, struct board *b)
{
	struct unread unread;
	enum err e;

	if (!call_named(c))
		return ERR_OK;
	if ((e = unread_count(c, b, c->actor, &unread)))
		return e;
	json_key(j, STR("unread"));
	unread_encode(j, &unread);
	return ERR_OK;
}

static enum err board_summary_run(struct call *c, struct stores *s, const void *body,
				  struct json *reply)
{
	struct board_config config;
	struct message_filter recent = { .min_priority = -1, .limit = MOST };
	struct message_filter urgent = { .min_priority = PRIORITY_HIGH, .limit = MOST };
	struct artifact_filter fresh = { .limit = MOST };
	struct roster_agent *agents;
	struct message *messages, *high;
	struct artifact *artifacts;
	enum err e;

	(void)body;
	if ((e = board_config_read(c, s->board, &config)))
		return e;
	recent.since = c->now_ms - config.summary_messages;
	fresh.since = c->now_ms - config.summary_artifacts;
	if ((e = roster_of_board(c, s->board, &agents)) ||
	    (e = message_each(c, s->board, &recent, &messages)) ||
	    (e = message_each(c, s->board, &urgent, &high)) ||
	    (e = artifact_each(c, s->board, &fresh, &artifacts)))
		return e;
	json_object(reply);
	board_summary_put_agents(reply, c, "agents", agents, board_summary_any);
	board_summary_put_agents(reply, c, "active_agents", agents, board_summary_active);
	board_summary_put_agents(reply, c, "blocked_agents", agents, board_summary_blocked);
	json_key(reply, STR("recent_messages"));
	message_encode_all(reply, messages);
	json_key(reply, STR("high_priority_messages"));
	message_encode_all(reply, high);
	json_key(reply, STR("recent_artifacts"));
	artifact_encode_all(reply, artifacts);
	if ((e = put_unread(reply, c, s->board)))
		return e;
	json_end(reply);
	return ERR_OK;
}

const struct op op_board_summary = {
	.name = "board summary",
	.help = "Show an overview of the board",
	.more = "Shows agents, blocked agents, messages of the last 30 minutes, messages of high "
		"and critical priority, and artifacts of the last hour; at most 10 of each. Set "
		"the two periods in .bb/config.toml, section [summary], keys messages and "
		"artifacts.",
	.flags = OP_BOARD | OP_READER,
	.reply = &(const struct prop){ "summary", props },
	.run = board_summary_run,
};
