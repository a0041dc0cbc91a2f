#include <stdlib.h>

#include "surface/mcp/mcp_exchange.h"

/* Claude Code gives every tool use a unique id, which serves as a request id. */
#define TOOL_USE_ID "claudecode/toolUseId"

static void put_annotations(struct json *j, const struct op *op)
{
	bool write = op_may_write(op);

	json_put_object(j, "annotations");
	json_put_bool(j, "readOnlyHint", !write);
	if (write) {
		json_put_bool(j, "destructiveHint", op->flags & OP_DESTROYS);
		json_put_bool(j, "idempotentHint", op->flags & OP_IDEMPOTENT);
	}
	json_put_bool(j, "openWorldHint", false);
	json_end(j);
}

/*
 * Writes the schema of the envelope, and only an outline of the data: the schemas take up tokens in
 * every session.
 */
static void put_output_schema(struct json *j, const struct op *op)
{
	json_put_object(j, "outputSchema");
	json_put_str(j, "type", STR("object"));
	json_put_object(j, "properties");
	json_put_object(j, "success");
	json_put_str(j, "type", STR("boolean"));
	json_end(j);
	json_key(j, STR("data"));
	op_reply_outline(j, op);
	json_end(j);
	json_put_array(j, "required");
	json_str(j, STR("success"));
	json_end(j);
	json_end(j);
}

enum err tools_list(struct exchange *x)
{
	struct json *j = &x->reply;

	begin_result(x);
	json_put_array(j, "tools");
	for (const struct mcp_tool *t = x->s->server->tools; t->name; t++) {
		json_object(j);
		json_put_str(j, "name", str_of(t->name));
		json_put_str(j, "description", str_of(t->op->help));
		json_key(j, STR("inputSchema"));
		op_input_schema(j, t->op, FOR_MODELS);
		put_output_schema(j, t->op);
		put_annotations(j, t->op);
		json_end(j);
	}
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

struct identify_body {
	struct str agent_id;
};

static enum err mcp_tools_remember(struct exchange *x, struct str id, const char **source)
{
	struct session *s = x->s;
	struct str set = s->from_env.p ? s->from_env : s->identified;
	char *copy;

	if (s->fixed.p)
		return call_fail(x->c, ERR_INVALID_INPUT, "identity already fixed by --agent");
	if (s->from_env.p && !str_eq(id, set))
		return call_fail(x->c, ERR_INVALID_INPUT, "cannot change identity set by %s",
				 s->start->actor_variable);
	*source = s->from_env.p ? "env" : "identify";
	if (s->from_env.p)
		return ERR_OK;
	if (x->stateless) {
		call_fail(x->c, ERR_INVALID_INPUT,
			  "this revision of the protocol has no session, so it cannot remember "
			  "your name");
		return call_step(x->c, "Pass \"agent\" with each call.");
	}
	if (set.p && !str_eq(id, set))
		return call_fail(x->c, ERR_INVALID_INPUT, "identity already set to '" STR_FMT "'",
				 STR_ARG(set));
	if (!set.p && (copy = malloc(id.n + 1))) {
		memcpy(copy, id.p, id.n);
		s->identified = (struct str){ copy, id.n };
	}
	return ERR_OK;
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
	const struct value *v = c->details.p ? value_read(&c->mem, c->details) : NULL;

	for (size_t i = 0; v && i < v->count; i++) {
		json_key(j, v->item[i].key);
		json_value(j, &v->item[i]);
	}
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

enum err tools_call(struct exchange *x)
{
	struct str name = value_str(x->params, "name");
	const struct mcp_tool *tool = find_tool(x->s->server, name);
	const struct value *arguments = value_find(x->params, "arguments");
	struct json data = json_new(&x->c->mem);
	struct request r;
	enum err e;

	if (!tool)
		return call_fail(x->c, ERR_USAGE, "unknown tool '" STR_FMT "'", STR_ARG(name));
	if (arguments && arguments->type != VALUE_OBJECT)
		return call_fail(x->c, ERR_USAGE,
				 "the arguments of '" STR_FMT "' are not an object", STR_ARG(name));
	r = request_new(x->c, tool->op);
	x->c->request_id = value_str(value_find(x->params, "_meta"), TOOL_USE_ID);
	identify(x, arguments);
	if (!(e = request_decode(x->c, &r, arguments)))
		e = request_check(x->c, &r);
	if (e == ERR_USAGE)
		return e;
	if (!e)
		e = tool->op == &op_mcp_identify ? run_identify(x, &r, &data) :
						   request_run(x->c, &r, &data);
	put_tool_result(x, op_dialect(tool->op), e, e ? STR_NONE : json_text(&data));
	return ERR_OK;
}

static const struct field identify_fields[] = {
	{ "agent_id", &kind_agent, offsetof(struct identify_body, agent_id), FIELD_REQUIRED,
	  .help = "your name, for example claude-01" },
	{ 0 },
};

static const struct prop identify_props[] = {
	{ "agent_id", PROP_STR, 0, NULL },
	{ "source", PROP_STR, 0, NULL },
	{ 0 },
};

/*
 * The operation only checks its arguments; tools_call() sets the agent, because only the server
 * knows the session.
 */
static enum err check_identity(struct call *c, struct stores *s, const void *body,
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
	.body_size = sizeof(struct identify_body),
	.fields = identify_fields,
	.reply = &(const struct prop){ "identity", PROP_OBJECT, 0, identify_props },
	.run = check_identity,
};
