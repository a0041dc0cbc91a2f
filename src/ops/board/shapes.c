#include "ops/board/shapes.h"

static const struct prop ref_props[] = {
	{ "where", PROP_STR, 0, NULL },
	{ "what", PROP_STR, 0, NULL },
	{ "ref", PROP_ANY, 0, NULL },
	{ 0 },
};

const struct prop unread_props[] = {
	{ "count", PROP_INT, 0, NULL },
	{ "highest_priority", PROP_STR, PROP_NULL, NULL },
	{ 0 },
};

#define AGENT_PROPS                                                                            \
	{ "id", PROP_STR, 0, NULL }, { "current_task", PROP_STR, 0, NULL },                    \
		{ "progress", PROP_INT, 0, NULL }, { "status", PROP_STR, 0, NULL },            \
		{ "blockers", PROP_STR, PROP_NULL, NULL }, { "last_seen", PROP_STR, 0, NULL }, \
		{ "updated_at", PROP_STR, 0, NULL }, { "liveness", PROP_STR, 0, NULL },        \
		{ "minutes_since_last_seen", PROP_INT, 0, NULL },                              \
	{                                                                                      \
		"unread", PROP_OBJECT, PROP_OPTIONAL, unread_props                             \
	}

const struct prop agent_props[] = { AGENT_PROPS, { 0 } };

const struct prop roster_props[] = {
	AGENT_PROPS,
	{ "registered", PROP_BOOL, PROP_OPTIONAL, NULL },
	{ "role", PROP_STR, PROP_OPTIONAL, NULL },
	{ 0 },
};

const struct prop message_props[] = {
	{ "id", PROP_INT, 0, NULL },
	{ "from_agent", PROP_STR, 0, NULL },
	{ "content", PROP_STR, 0, NULL },
	{ "tags", PROP_STR, PROP_LIST, NULL },
	{ "priority", PROP_STR, 0, NULL },
	{ "in_reply_to", PROP_INT, PROP_NULL, NULL },
	{ "refs", PROP_OBJECT, PROP_LIST, ref_props },
	{ "created_at", PROP_STR, 0, NULL },
	{ "unread", PROP_BOOL, PROP_OPTIONAL, NULL },
	{ 0 },
};

const struct prop artifact_props[] = {
	{ "id", PROP_INT, 0, NULL },
	{ "path", PROP_STR, 0, NULL },
	{ "produced_by", PROP_STR, 0, NULL },
	{ "description", PROP_STR, 0, NULL },
	{ "version", PROP_STR, PROP_NULL, NULL },
	{ "refs", PROP_OBJECT, PROP_LIST, ref_props },
	{ "created_at", PROP_STR, 0, NULL },
	{ 0 },
};

const struct prop agent_reply = { "agent", PROP_OBJECT, 0, agent_props };
const struct prop roster_reply = { "agents", PROP_OBJECT, PROP_LIST, roster_props };
const struct prop message_reply = { "message", PROP_OBJECT, 0, message_props };
const struct prop messages_reply = { "messages", PROP_OBJECT, PROP_LIST, message_props };
const struct prop artifact_reply = { "artifact", PROP_OBJECT, 0, artifact_props };
const struct prop artifacts_reply = { "artifacts", PROP_OBJECT, PROP_LIST, artifact_props };
