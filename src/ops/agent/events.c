#include "agents/protocol.h"
#include "base/text/json.h"
#include "ops/agent/agent_ops.h"
#include "ops/ops.h"

struct body {
	struct str bead, agent;
	int type;
	int64_t limit;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "bead", &kind_str, AT(bead), .arg = "BEAD", .min = 1, .max = 200, .help = "bead id" },
	{ "agent", &kind_str, AT(agent), .arg = "AGENT", .min = 1, .max = 200,
	  .help = "agent that the event involves" },
	{ "type", &kind_word, AT(type), .words = &event_types, .help = "kind of event" },
	{ "limit", &kind_int, AT(limit), .role = ROLE_LIMIT, .letter = 'n', .min = 1, .max = 500,
	  .preset = "50", .help = "maximum number of results" },
	{ 0 },
};

static const struct prop props[] = {
	{ "id version event_type project_root bead_id|null from_agent|null to_agent|null", NULL },
	{ "scope|null created_at payload:object", NULL },
	{ 0 },
};

static enum err agent_events_run(struct call *c, struct stores *s, const void *body,
				 struct json *reply)
{
	const struct body *in = body;
	struct protocol_filter filter = {
		.type = in->type, .bead = in->bead, .agent = in->agent, .limit = in->limit
	};

	return protocol_each(c, s->agents, &filter, reply);
}

const struct op op_agent_events = {
	.name = "agent events",
	.help = "List protocol events, newest first",
	.flags = AGENT_READ,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "events[]", props },
	.run = agent_events_run,
};
