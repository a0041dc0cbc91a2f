#include "ops/board/shapes.h"

static const struct prop ref_props[] = { { "where what ref:any", NULL }, { 0 } };

const struct prop unread_props[] = { { "count:int highest_priority|null", NULL }, { 0 } };

#define AGENT_MEMBERS                                                                      \
	"id current_task progress:int status blockers|null last_seen updated_at liveness " \
	"minutes_since_last_seen:int"

const struct prop agent_props[] = {
	{ AGENT_MEMBERS, NULL },
	{ "unread?", unread_props },
	{ 0 },
};

const struct prop roster_props[] = {
	{ AGENT_MEMBERS, NULL },
	{ "unread?", unread_props },
	{ "registered:bool? role?", NULL },
	{ 0 },
};

const struct prop message_props[] = {
	{ "id:int from_agent content tags[] priority in_reply_to:int|null", NULL },
	{ "refs[]", ref_props },
	{ "created_at unread:bool?", NULL },
	{ 0 },
};

const struct prop artifact_props[] = {
	{ "id:int path produced_by description version|null", NULL },
	{ "refs[]", ref_props },
	{ "created_at", NULL },
	{ 0 },
};

const struct prop agent_reply = { "agent", agent_props };
const struct prop roster_reply = { "agents[]", roster_props };
const struct prop message_reply = { "message", message_props };
const struct prop messages_reply = { "messages[]", message_props };
const struct prop artifact_reply = { "artifact", artifact_props };
const struct prop artifacts_reply = { "artifacts[]", artifact_props };
