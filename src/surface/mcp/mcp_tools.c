#include <stdlib.h>

#include "base/buf.h"
#include "surface/mcp/mcp_exchange.h"
#include "surface/service/handoff.h"

/* Claude Code gives every tool use a unique id, which serves as a request id. */
#define TOOL_USE_ID "claudecode/toolUseId"

static void put_annotations(struct json *j, const struct mcp_tool *t)
{
	const struct mcp_action one[] = { { NULL, t->op }, { 0 } };
	bool write = false, destroys = false, idempotent = true;

	for (const struct mcp_action *a = t->op ? one : t->actions; a->op; a++) {
		write = write || op_may_write(a->op);
		destroys = destroys || (a->op->flags & OP_DESTROYS);
		idempotent = idempotent && (a->op->flags & OP_IDEMPOTENT);
	}
	json_put_object(j, "annotations");
	json_put_bool(j, "readOnlyHint", !write);
	if (write) {
		json_put_bool(j, "destructiveHint", destroys);
		if (idempotent)
			json_put_bool(j, "idempotentHint", true);
	}
	json_put_bool(j, "openWorldHint", false);
	json_end(j);
}

/* The parameters of all actions; which of them an action requires is in their descriptions. */
static void put_actions_schema(struct json *j, const struct mcp_tool *t)
{
	struct map written = { .mem = j->out.mem };

	json_object(j);
	json_put_str(j, "type", STR("object"));
	json_put_object(j, "properties");
	json_put_object(j, "action");
	json_put_str(j, "type", STR("string"));
	json_put_array(j, "enum");
	for (const struct mcp_action *a = t->actions; a->op; a++)
		json_str(j, str_of(a->word));
	json_end(j);
	json_end(j);
	for (const struct mcp_action *a = t->actions; a->op; a++)
		op_input_properties(j, a->op, FOR_MODELS, &written);
	json_end(j);
	json_put_array(j, "required");
	json_str(j, STR("action"));
	json_end(j);
	json_end(j);
}

/*
 * Writes the schema of the envelope, and only an outline of the data: the schemas take up tokens in
 * every session.
 */
static void put_output_schema(struct json *j, const struct op *op) /* NULL: several */
{
	json_put_object(j, "outputSchema");
	json_put_str(j, "type", STR("object"));
	json_put_object(j, "properties");
	json_put_object(j, "success");
	json_put_str(j, "type", STR("boolean"));
	json_end(j);
	if (op && op_reply_outlined(op)) {
		json_key(j, STR("data"));
		op_reply_outline(j, op);
	}
	json_end(j);
	json_put_array(j, "required");
	json_str(j, STR("success"));
	json_end(j);
	json_end(j);
}

/* A session can name its agent only if the protocol has sessions and the agent is not fixed. */
static bool tool_works(const struct exchange *x, const struct mcp_tool *t)
{
	return t->op != &op_mcp_identify || (!x->stateless && !x->s->fixed.p);
}

static bool tool_is_listed(const struct session *s, const struct mcp_tool *t)
{
	const struct mcp_options *o = s->options;

	for (size_t i = 0; i < o->only_count; i++)
		if (o->only[i] == t - s->server->tools)
			return true;
	return !o->only_count && t->profile != (o->full ? PROFILE_CORE : PROFILE_FULL);
}

/* Whether the server knows the agent's name, or offers the tool that sets it. */
static bool tools_know_agent(const struct exchange *x)
{
	const struct session *s = x->s;

	if (s->fixed.p || s->from_env.p || (!x->stateless && s->identified.p))
		return true;
	for (const struct mcp_tool *t = s->server->tools; t->name; t++)
		if (t->op == &op_mcp_identify)
			return tool_is_listed(s, t) && tool_works(x, t);
	return false;
}

static void put_tool(struct json *j, const struct mcp_tool *t, enum audience whom, bool outputs)
{
	json_object(j);
	json_put_str(j, "name", str_of(t->name));
	json_put_str(j, "description", str_of(t->help ? t->help : t->op->help));
	json_key(j, STR("inputSchema"));
	if (t->op)
		op_input_schema(j, t->op, whom);
	else
		put_actions_schema(j, t);
	if (outputs)
		put_output_schema(j, t->op);
	put_annotations(j, t);
	json_end(j);
}

enum err tools_list(struct exchange *x)
{
	enum audience whom = tools_know_agent(x) ? FOR_MODELS : FOR_STRANGERS;
	struct json *j = &x->reply;

	begin_result(x);
	json_put_array(j, "tools");
	for (const struct mcp_tool *t = x->s->server->tools; t->name; t++)
		if (tool_is_listed(x->s, t) && tool_works(x, t))
			put_tool(j, t, whom, x->s->options->outputs);
	json_end(j);
	end_result(x, STR_NONE, CHANGES_NEVER);
	return ERR_OK;
}

static const struct mcp_tool *find_tool(const struct mcp_server *server, struct str name)
{
	for (const struct mcp_tool *t = server->tools; t->name; t++)
		if (str_is(name, t->name) || str_is(name, t->name + strlen(server->prefix)))
			return t;
	return NULL;
}

bool tool_may_wait(const struct mcp_server *server, struct str name, bool asked)
{
	const struct mcp_tool *t = find_tool(server, name);
	bool optional = false;

	if (!t || !t->op || !(t->op->flags & OP_WAITS))
		return t && !t->op && asked;
	for (const struct field *f = t->op->fields; f && f->name; f++)
		optional = optional || str_is(str_of(f->name), "wait");
	return asked || !optional;
}

struct identify_body {
	struct str agent_id;
};

/* The next step of a caller whose identity is settled. */
static enum err mcp_tools_acts_as(struct exchange *x, struct str name)
{
	return call_step(x->c,
			 "Call the other tools without bb_identify: they act as '" STR_FMT "'.",
			 STR_ARG(name));
}

static enum err mcp_tools_remember(struct exchange *x, struct str id, const char **source)
{
	struct session *s = x->s;
	struct str set = s->from_env.p ? s->from_env : s->identified;
	char *copy;

	if (s->fixed.p) {
		call_fail(x->c, ERR_INVALID_INPUT, "identity already fixed by --agent");
		return mcp_tools_acts_as(x, s->fixed);
	}
	if (s->from_env.p && !str_eq(id, set)) {
		call_fail(x->c, ERR_INVALID_INPUT, "cannot change identity set by %s",
			  s->start->actor_variable);
		return mcp_tools_acts_as(x, set);
	}
	*source = s->from_env.p ? "env" : "identify";
	if (s->from_env.p)
		return ERR_OK;
	if (x->stateless) {
		call_fail(x->c, ERR_INVALID_INPUT,
			  "this revision of the protocol has no session, so it cannot remember "
			  "your name");
		return call_step(x->c, "Pass \"agent\" with each call.");
	}
	if (set.p && !str_eq(id, set)) {
		call_fail(x->c, ERR_INVALID_INPUT, "identity already set to '" STR_FMT "'",
			  STR_ARG(set));
		return mcp_tools_acts_as(x, set);
	}
	if (!set.p && (copy = malloc(id.n + 1))) {
		memcpy(copy, id.p, id.n);
		s->identified = (struct str){ copy, id.n };
	}
	return ERR_OK;
}

/* If a sandbox forbids writing, hands the request to a service of the user. */
static enum err run_tool(struct exchange *x, const struct request *r, struct json *data)
{
	struct handoff_actor actor = { x->c->actor, x->c->anonymous };
	enum err e = request_run(x->c, r, data);

	return e == ERR_READ_ONLY ? handoff_run(x->c, &actor, r, data) : e;
}

/* The id in the body has already passed the check of actor names. */
static enum err run_identify(struct exchange *x, const struct request *r, struct json *data)
{
	const struct identify_body *in = r->body;
	const char *source = NULL;
	enum err e;

	x->c->actor = in->agent_id;
	x->c->anonymous = false;
	if ((e = request_run(x->c, r, data)) || (e = mcp_tools_remember(x, x->c->actor, &source)))
		return e;
	*data = json_new(&x->c->mem);
	json_object(data);
	json_put_str(data, "agent_id", x->c->actor);
	json_put_str(data, "source", str_of(source));
	json_end(data);
	return ERR_OK;
}

static void put_details(struct json *j, struct call *c)
{
	VALUE_EACH(one, c->details.p ? value_read(&c->mem, c->details) : NULL)
		json_put_member(j, one);
}

/*
 * Writes the result twice, as the protocol asks: as text for the model and as structured content
 * for programs.
 */
static void put_tool_result(struct exchange *x, enum dialect dialect, enum err e, struct str data)
{
	struct json body = json_new(&x->c->mem);
	struct str text;

	if (e == ERR_IDENTITY_REQUIRED && x->stateless)
		call_step(x->c, "Pass \"agent\" with each call.");
	json_object(&body);
	json_put_bool(&body, "success", !e);
	if (e) {
		json_put_object(&body, "error");
		json_put_str(&body, "code", str_of(err_code(e, dialect)));
		json_put_str(&body, "message", x->c->message);
		json_put_object(&body, "details");
		json_put_str(&body, "next_step", call_next_step(x->c));
		put_details(&body, x->c);
		json_end(&body);
		json_end(&body);
	} else {
		json_put_raw(&body, "data", data);
	}
	json_end(&body);
	text = json_text(&body);
	begin_result(x);
	json_put_array(&x->reply, "content");
	json_object(&x->reply);
	json_put_str(&x->reply, "type", STR("text"));
	json_put_str(&x->reply, "text", text);
	json_end(&x->reply);
	json_end(&x->reply);
	json_put_raw(&x->reply, "structuredContent", text);
	if (e)
		json_put_bool(&x->reply, "isError", true);
	end_result(x, x->c->meta, NOT_CACHEABLE);
}

/* The words of a tool's actions: "inbox, read or ack". */
static struct str tool_actions(struct arena *mem, const struct mcp_tool *t)
{
	struct buf b = { .mem = mem };

	for (const struct mcp_action *a = t->actions; a->op; a++)
		buf_fmt(&b, "%s%s", a == t->actions ? "" : a[1].op ? ", " : " or ", a->word);
	return buf_str(&b);
}

static const struct value *arguments_without(struct arena *mem, const struct value *arguments,
					     const char *key)
{
	struct value *rest = arena_new(mem, struct value);

	*rest = *arguments;
	rest->item = arena_array(mem, rest->count, sizeof *rest->item);
	rest->count = 0;
	for (size_t i = 0; i < arguments->count; i++)
		if (!str_is(arguments->item[i].key, key))
			rest->item[rest->count++] = arguments->item[i];
	return rest;
}

/* The instructions ask for the agent's name, so models pass it to any tool. */
static bool tool_takes_agent(const struct op *op)
{
	for (const struct field *f = op->fields; f && f->name; f++)
		if (str_is(str_of(f->name), "agent"))
			return true;
	return op->flags & (OP_ACTOR | OP_READER);
}

/* Finds the operation, and takes the action out of the arguments. */
static enum err tool_operation(struct exchange *x, const struct mcp_tool *t,
			       const struct value **arguments, const struct op **op)
{
	struct str action = value_str(*arguments, "action");

	if ((*op = t->op))
		return ERR_OK;
	for (const struct mcp_action *a = t->actions; a->op; a++)
		if (str_is(action, a->word))
			*op = a->op;
	if (!*op)
		return call_fail(x->c, ERR_USAGE,
				 action.p ? "'%s' has no action '" STR_FMT "'; use " STR_FMT :
					    "'%s' needs an action%.*s: " STR_FMT,
				 t->name, STR_ARG(action), STR_ARG(tool_actions(&x->c->mem, t)));
	*arguments = arguments_without(&x->c->mem, *arguments, "action");
	return ERR_OK;
}

enum err tools_call(struct exchange *x)
{
	struct str name = value_str(x->params, "name");
	const struct mcp_tool *tool = find_tool(x->s->server, name);
	const struct value *arguments = value_find(x->params, "arguments");
	struct json data = json_new(&x->c->mem);
	const struct op *op;
	struct request r;
	enum err e;

	if (!tool)
		return call_fail(x->c, ERR_USAGE, "unknown tool '" STR_FMT "'", STR_ARG(name));
	if (arguments && arguments->type == VALUE_NULL)
		arguments = NULL; /* some clients write every member, used or not */
	if (arguments && arguments->type != VALUE_OBJECT)
		return call_fail(x->c, ERR_USAGE,
				 "the arguments of '" STR_FMT "' are not an object", STR_ARG(name));
	if ((e = tool_operation(x, tool, &arguments, &op)))
		return e;
	r = request_new(x->c, op);
	r.called = tool->name;
	x->c->request_id = value_str(value_find(x->params, "_meta"), TOOL_USE_ID);
	identify(x, arguments);
	if (arguments && !tool_takes_agent(op))
		arguments = arguments_without(&x->c->mem, arguments, "agent");
	if (!(e = request_decode(x->c, &r, arguments)))
		e = request_check(x->c, &r);
	if (e == ERR_USAGE)
		return e;
	if (!e)
		e = op == &op_mcp_identify ? run_identify(x, &r, &data) : run_tool(x, &r, &data);
	put_tool_result(x, op_dialect(op), e, e ? STR_NONE : json_text(&data));
	return ERR_OK;
}

static const struct field identify_fields[] = {
	{ "agent_id", &kind_agent, offsetof(struct identify_body, agent_id), FIELD_REQUIRED,
	  .help = "your name, for example claude-01" },
	{ 0 },
};

static const struct prop identify_props[] = { { "agent_id source", NULL }, { 0 } };

/*
 * Does nothing: the arguments are checked before, and run_identify() sets the agent, because only
 * the server knows the session.
 */
static enum err tools_identify_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	(void)c, (void)s, (void)body;
	json_null(reply);
	return ERR_OK;
}

const struct op op_mcp_identify = {
	.name = "identify",
	.help = "Set your name for this session",
	.flags = OP_IDEMPOTENT,
	OP_BODY(struct identify_body, identify_fields),
	.reply = &(const struct prop){ "identity", identify_props },
	.run = tools_identify_run,
};
