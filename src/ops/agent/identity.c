#include "agents/stuck.h"
#include "base/text/json.h"
#include "ops/agent/agent_ops.h"
#include "ops/ops.h"

/* bb agent register, list, show, heartbeat: the agents of the project. */

struct body {
	struct str id, display, role, status;
	bool update, stuck;
};

#define AT(member) offsetof(struct body, member)

static const struct field register_fields[] = {
	{ "name", &kind_str, AT(id), FIELD_REQUIRED, .arg = "ID", .min = 1, .max = 200,
	  .help = "agent id, such as amber-otter" },
	{ "role", &kind_str, AT(role), FIELD_REQUIRED, .arg = "TEXT", .min = 1, .max = 200,
	  .help = "role, such as backend" },
	{ "display", &kind_str, AT(display), .arg = "TEXT", .min = 1, .max = 200,
	  .help = "display name (default: the id)" },
	{ "force_update", &kind_bool, AT(update),
	  .help = "update the role and the display name of a registered agent" },
	{ 0 },
};

static const struct field list_fields[] = {
	{ "role", &kind_str, AT(role), .arg = "TEXT", .min = 1, .max = 200,
	  .help = "role to include" },
	{ "status", &kind_str, AT(status), .arg = "TEXT", .min = 1, .max = 200,
	  .help = "status to include" },
	{ "stuck", &kind_bool, AT(stuck), .role = ROLE_STUCK,
	  .help = "show only agents that hold a claim and make no progress" },
	{ 0 },
};

static const struct field show_fields[] = {
	{ "agent", &kind_str, AT(id), FIELD_REQUIRED | FIELD_AGENT, .arg = "AGENT", .min = 1,
	  .max = 200, .help = "agent id" },
	{ 0 },
};

static const struct field heartbeat_fields[] = {
	AGENT_FIELD(struct body, id, "your agent id"),
	{ 0 },
};

const struct prop stuck_props[] = { { "agent_id bead_id reason since text", NULL }, { 0 } };

const struct prop registered_props[] = {
	{ "agent_id display_name role status created_at last_seen_at version:int liveness", NULL },
	{ "stuck?", stuck_props },
	{ "machine?", NULL },
	{ 0 },
};
const struct prop registered_reply = { "agent", registered_props };
const struct prop registered_list_reply = { "agents[]", registered_props };

static enum err agent_identity_run_register(struct call *c, struct stores *s, const void *body,
					    struct json *reply)
{
	const struct body *in = body;
	struct registered *a;
	enum err e = registry_add(c, s->agents, in->id, in->display, in->role, in->update, &a);

	if (!e)
		registered_encode(reply, c, a, NULL);
	return e;
}

/* Keeps only the stuck agents of the list. A host's session that is stuck but not registered is
 * shown, too, unless a role or a status was asked for. */
static void agent_identity_add_stuck(struct call *c, const struct body *in,
				     const struct stuck *stuck, struct registered **list)
{
	struct registered *all = *list;

	for (; stuck; stuck = stuck->next) {
		struct registered *a = all, *shown;

		while (a && !str_eq(a->id, stuck->agent))
			a = a->next;
		if (!a && (in->role.p || in->status.p))
			continue;
		shown = arena_new(&c->mem, struct registered);
		*shown = a ? *a :
			     (struct registered){ .id = stuck->agent,
						  .display = stuck->agent,
						  .role = STR("session"),
						  .status = STR("unregistered"),
						  .created_ms = stuck->epoch.ms,
						  .seen_ms = stuck->seen_ms };
		*list = shown;
		list = &shown->next;
	}
	*list = NULL;
}

static enum err agent_identity_run_list(struct call *c, struct stores *s, const void *body,
					struct json *reply)
{
	const struct body *in = body;
	struct registered *a;
	struct stuck *stuck;
	enum err e = registry_each(c, s->agents, in->role, in->status, &a);

	if (!e && in->stuck)
		e = stuck_each(c, &stuck);
	else
		stuck = stuck_shown(c);
	if (e)
		return e;
	if (in->stuck)
		agent_identity_add_stuck(c, in, stuck, &a);
	json_array(reply);
	for (; a; a = a->next)
		registered_encode(reply, c, a, stuck_find(stuck, a->id));
	json_end(reply);
	return ERR_OK;
}

static enum err agent_identity_run_show(struct call *c, struct stores *s, const void *body,
					struct json *reply)
{
	const struct body *in = body;
	struct registered *a;
	enum err e = registry_find(c, s->agents, in->id, &a);

	if (!e)
		registered_encode(reply, c, a, stuck_find(stuck_shown(c), a->id));
	return e;
}

static enum err agent_identity_run_heartbeat(struct call *c, struct stores *s, const void *body,
					     struct json *reply)
{
	const struct body *in = body;
	struct registered *a;
	enum err e;

	if ((e = registry_find(c, s->agents, in->id, &a)) || (e = registry_touch(c, s->agents, a)))
		return e;
	registered_encode(reply, c, a, NULL);
	return ERR_OK;
}

const struct op op_agent_register = {
	.name = "agent register",
	.help = "Register an agent",
	.examples = "bb agent register --name amber-otter --role backend",
	.flags = AGENT_WRITE,
	OP_BODY(struct body, register_fields),
	.reply = &registered_reply,
	.run = agent_identity_run_register,
};

const struct op op_agent_list = {
	.name = "agent list",
	.help = "List agents and their liveness",
	.flags = AGENT_READ,
	OP_BODY(struct body, list_fields),
	.reply = &registered_list_reply,
	.run = agent_identity_run_list,
};

const struct op op_agent_show = {
	.name = "agent show",
	.help = "Show an agent",
	.examples = "bb agent show --agent amber-otter",
	.flags = AGENT_READ,
	OP_BODY(struct body, show_fields),
	.reply = &registered_reply,
	.run = agent_identity_run_show,
};

const struct op op_agent_heartbeat = {
	.name = "agent heartbeat",
	.help = "Report that an agent is alive",
	.more = "Every other command that the agent runs does the same.",
	.flags = AGENT_WRITE | OP_IDEMPOTENT,
	OP_BODY(struct body, heartbeat_fields),
	.reply = &registered_reply,
	.run = agent_identity_run_heartbeat,
};
