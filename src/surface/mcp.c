#include "surface/mcp.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/moment.h"
#include "base/value.h"
#include "surface/out.h"
#include "surface/rpc.h"

#define META(name) "io.modelcontextprotocol/" name

static const char modern[] = "2026-07-28";
static const char *const legacy[] = { "2025-11-25", "2025-06-18", "2025-03-26",
				      "2024-11-05", NULL };
static const char batching[] = "2025-03-26"; /* the one revision that has it */

enum { CACHE_MS = 3600 * 1000 };

/* What outlives a request. The stateless revision uses none of it but the start. */
struct session {
	const struct call *start;
	const struct mcp_server *server;
	struct str fixed, from_env; /* identities given when the server was started */
	struct str identified;      /* by a session that began with `initialize`; owned */
	const char *version;        /* of that session; NULL: none began */
};

/* One request and the reply that is being written. */
struct exchange {
	struct session *s;
	struct call *c;
	const struct value *id, *params;
	bool stateless;
	struct json reply;
};

static enum err params_error(struct exchange *x, const char *fmt, struct str name)
{
	return call_fail(x->c, ERR_USAGE, fmt, STR_ARG(name));
}

/* --- results --- */

static void begin_result(struct exchange *x)
{
	json_object(&x->reply);
	json_put_str(&x->reply, "jsonrpc", STR("2.0"));
	json_key(&x->reply, STR("id"));
	json_value(&x->reply, x->id);
	json_put_object(&x->reply, "result");
}

static void put_info(struct exchange *x)
{
	json_object(&x->reply);
	json_put_str(&x->reply, "name", str_of(x->s->server->name));
	json_put_str(&x->reply, "title", str_of(x->s->server->title));
	json_put_str(&x->reply, "version", STR(ABACUS_VERSION));
	json_end(&x->reply);
}

/* `more` is a JSON object whose members go beside ours; it may be absent. */
static void put_meta(struct exchange *x, struct str more)
{
	struct value_error error;
	const struct value *object =
		more.p ? value_parse(&x->c->mem, more, &error) : NULL;

	if (!object && !x->stateless)
		return;
	json_put_object(&x->reply, "_meta");
	if (x->stateless) {
		json_key(&x->reply, STR(META("serverInfo")));
		put_info(x);
	}
	for (size_t i = 0; object && i < object->count; i++) {
		json_key(&x->reply, object->item[i].key);
		json_value(&x->reply, &object->item[i]);
	}
	json_end(&x->reply);
}

static void end_result(struct exchange *x, struct str meta, bool cacheable)
{
	if (x->stateless) {
		json_put_str(&x->reply, "resultType", STR("complete"));
		if (cacheable) {
			json_put_int(&x->reply, "ttlMs", CACHE_MS);
			json_put_str(&x->reply, "cacheScope", STR("private"));
		}
	}
	put_meta(x, meta);
	json_end(&x->reply);
	json_end(&x->reply);
}

static void put_capabilities(struct exchange *x)
{
	static const char *const names[] = { "tools", "resources", "prompts",
					     "completions" };

	json_put_object(&x->reply, "capabilities");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		json_put_object(&x->reply, names[i]);
		json_end(&x->reply);
	}
	json_end(&x->reply);
}

/* --- beginning --- */

static enum err initialize(struct exchange *x)
{
	struct str asked = value_str(x->params, "protocolVersion");

	x->s->version = legacy[0];
	for (const char *const *v = legacy; *v; v++)
		if (str_is(asked, *v))
			x->s->version = *v;
	x->stateless = false;
	begin_result(x);
	json_put_str(&x->reply, "protocolVersion", str_of(x->s->version));
	put_capabilities(x);
	json_key(&x->reply, STR("serverInfo"));
	put_info(x);
	json_put_str(&x->reply, "instructions", str_of(x->s->server->instructions));
	end_result(x, (struct str){ 0 }, false);
	return ERR_OK;
}

static enum err discover(struct exchange *x)
{
	if (!x->stateless)
		return params_error(x, "server/discover needs _meta with '" STR_FMT "'",
				    STR(META("protocolVersion")));
	begin_result(x);
	json_put_array(&x->reply, "supportedVersions");
	json_str(&x->reply, str_of(modern));
	json_end(&x->reply);
	put_capabilities(x);
	json_put_str(&x->reply, "instructions", str_of(x->s->server->instructions));
	end_result(x, (struct str){ 0 }, true);
	return ERR_OK;
}

static enum err ping(struct exchange *x)
{
	begin_result(x);
	end_result(x, (struct str){ 0 }, false);
	return ERR_OK;
}

/* --- tools --- */

static void put_annotations(struct json *j, const struct op *op)
{
	bool write = op->flags & OP_WRITE;

	json_put_object(j, "annotations");
	json_put_bool(j, "readOnlyHint", !write);
	if (write) {
		json_put_bool(j, "destructiveHint", op->flags & OP_DESTROYS);
		json_put_bool(j, "idempotentHint", op->flags & OP_IDEMPOTENT);
	}
	json_put_bool(j, "openWorldHint", false);
	json_end(j);
}

static void put_type(struct json *j, const char *name, const char *type)
{
	json_put_object(j, name);
	json_put_str(j, "type", str_of(type));
	json_end(j);
}

/* The envelope; one level of the data, because every session pays for the schemas. */
static void put_output_schema(struct json *j, const struct op *op)
{
	json_put_object(j, "outputSchema");
	json_put_str(j, "type", STR("object"));
	json_put_object(j, "properties");
	put_type(j, "success", "boolean");
	json_key(j, STR("data"));
	op_reply_schema(j, op, op->reply->flags & PROP_LIST ? 0 : 1);
	put_type(j, "error", "object");
	json_end(j);
	json_put_array(j, "required");
	json_str(j, STR("success"));
	json_end(j);
	json_end(j);
}

static enum err tools_list(struct exchange *x)
{
	struct json *j = &x->reply;

	begin_result(x);
	json_put_array(j, "tools");
	for (const struct mcp_tool *t = x->s->server->tools; t->name; t++) {
		json_object(j);
		json_put_str(j, "name", str_of(t->name));
		json_put_str(j, "description", str_of(t->op->help));
		json_key(j, STR("inputSchema"));
		op_input_schema(j, t->op);
		put_output_schema(j, t->op);
		put_annotations(j, t->op);
		json_end(j);
	}
	json_end(j);
	end_result(x, (struct str){ 0 }, true);
	return ERR_OK;
}

static const struct mcp_tool *find_tool(const struct mcp_server *server, struct str name)
{
	for (const struct mcp_tool *t = server->tools; t->name; t++)
		if (str_is(name, t->name) ||
		    str_is(name, t->name + strlen(server->prefix)))
			return t;
	return NULL;
}

/* Who calls: as the server was started, else what the call says, else the session. */
static void identify(struct exchange *x, const struct value *arguments)
{
	const struct session *s = x->s;
	struct str said = value_str(arguments, "agent");

	x->c->actor = s->fixed.p    ? s->fixed :
		      s->from_env.p ? s->from_env :
		      said.p        ? said :
		      x->stateless  ? (struct str){ 0 } :
				      s->identified;
	x->c->anonymous = !x->c->actor.p;
}

struct identify_body {
	struct str agent_id;
};

static enum err remember(struct exchange *x, struct str id, const char **source)
{
	struct session *s = x->s;
	struct str set = s->fixed.p    ? s->fixed :
			 s->from_env.p ? s->from_env :
					 s->identified;
	char *copy;

	if (s->fixed.p && !str_eq(id, set))
		return call_fail(x->c, ERR_INVALID_INPUT,
				 "identity already fixed by --agent");
	if (s->from_env.p && !str_eq(id, set))
		return call_fail(x->c, ERR_INVALID_INPUT,
				 "cannot change identity set by BB_AGENT_ID");
	*source = s->from_env.p ? "env" : "identify";
	if (s->from_env.p)
		return ERR_OK;
	if (x->stateless) {
		call_fail(x->c, ERR_INVALID_INPUT,
			  "this revision of the protocol has no session to remember you "
			  "in");
		return call_step(x->c, "Pass \"agent\" with each call.");
	}
	if (set.p && !str_eq(id, set))
		return call_fail(x->c, ERR_INVALID_INPUT,
				 "identity already set to '" STR_FMT "'", STR_ARG(set));
	if (!set.p && (copy = malloc(id.n + 1))) {
		memcpy(copy, id.p, id.n);
		s->identified = (struct str){ copy, id.n };
	}
	return ERR_OK;
}

/* The body's id has passed the check that every actor passes. */
static enum err run_identify(struct exchange *x, const struct request *r,
			     struct json *data)
{
	const struct identify_body *in = r->body;
	const char *source = NULL;
	enum err e;

	x->c->actor = in->agent_id;
	x->c->anonymous = false;
	if ((e = request_run(x->c, r, data)) || (e = remember(x, x->c->actor, &source)))
		return e;
	*data = (struct json){ .out.mem = &x->c->mem };
	json_object(data);
	json_put_str(data, "agent_id", x->c->actor);
	json_put_str(data, "source", str_of(source));
	json_end(data);
	return ERR_OK;
}

/* The text a model reads and the structure a program reads are the same. */
static void put_tool_result(struct exchange *x, enum err e, struct str data)
{
	struct json body = { .out.mem = &x->c->mem };
	struct str text;

	json_object(&body);
	json_put_bool(&body, "success", !e);
	if (e) {
		json_put_object(&body, "error");
		json_put_str(&body, "code", str_of(err_code(e)));
		json_put_str(&body, "message", x->c->message);
		json_put_object(&body, "details");
		json_put_str(&body, "next_step", call_next_step(x->c));
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
	end_result(x, x->c->meta, false);
}

static enum err tools_call(struct exchange *x)
{
	struct str name = value_str(x->params, "name");
	const struct mcp_tool *tool = find_tool(x->s->server, name);
	const struct value *arguments = value_find(x->params, "arguments");
	struct json data = { .out.mem = &x->c->mem };
	struct request r;
	enum err e;

	if (!tool)
		return params_error(x, "unknown tool '" STR_FMT "'", name);
	if (arguments && arguments->type != VALUE_OBJECT)
		return params_error(x, "the arguments of '" STR_FMT "' are not an object",
				    name);
	r = request_new(x->c, tool->op);
	identify(x, arguments);
	if (!(e = request_decode(x->c, &r, arguments)))
		e = request_check(x->c, &r);
	if (e == ERR_USAGE)
		return e;
	if (!e)
		e = tool->op == &op_mcp_identify ? run_identify(x, &r, &data) :
						   request_run(x->c, &r, &data);
	put_tool_result(x, e, e ? (struct str){ 0 } : json_text(&data));
	return ERR_OK;
}

/* --- resources --- */

static size_t brace(const char *uri)
{
	return strcspn(uri, "{");
}

static bool is_template(const struct mcp_resource *r)
{
	return r->uri[brace(r->uri)] != '\0';
}

static enum err list_resources(struct exchange *x, bool templates, const char *key,
			       const char *uri_key)
{
	begin_result(x);
	json_put_array(&x->reply, key);
	for (const struct mcp_resource *r = x->s->server->resources; r->uri; r++) {
		if (is_template(r) != templates)
			continue;
		json_object(&x->reply);
		json_put_str(&x->reply, uri_key, str_of(r->uri));
		json_put_str(&x->reply, "name", str_of(r->name));
		json_put_str(&x->reply, "description", str_of(r->help));
		json_put_str(&x->reply, "mimeType", STR("application/json"));
		json_end(&x->reply);
	}
	json_end(&x->reply);
	end_result(x, (struct str){ 0 }, true);
	return ERR_OK;
}

static enum err resources_list(struct exchange *x)
{
	return list_resources(x, false, "resources", "uri");
}

static enum err templates_list(struct exchange *x)
{
	return list_resources(x, true, "resourceTemplates", "uriTemplate");
}

static int hex(char ch)
{
	const char *digits = "0123456789abcdef", *at = strchr(digits, ch | 0x20);

	return ch && at ? (int)(at - digits) : -1;
}

static struct str percent_decode(struct arena *mem, struct str s)
{
	struct buf b = { .mem = mem };

	for (size_t i = 0; i < s.n; i++) {
		bool coded = s.p[i] == '%' && i + 2 < s.n && hex(s.p[i + 1]) >= 0 &&
			     hex(s.p[i + 2]) >= 0;

		buf_char(&b,
			 coded ? (char)(hex(s.p[i + 1]) << 4 | hex(s.p[i + 2])) : s.p[i]);
		i += coded ? 2 : 0;
	}
	return buf_str(&b);
}

static const struct mcp_resource *find_resource(const struct mcp_server *server,
						struct str uri)
{
	for (const struct mcp_resource *r = server->resources; r->uri; r++) {
		struct str head = str_head(str_of(r->uri), brace(r->uri));

		if (is_template(r) ? str_starts(uri, head) && uri.n > head.n :
				     str_eq(uri, head))
			return r;
	}
	return NULL;
}

/* Runs an operation for its reply, with at most one field set. */
static enum err reply_of(struct exchange *x, const struct op *op, size_t field,
			 struct str text, struct str *out)
{
	struct json data = { .out.mem = &x->c->mem };
	struct request r = request_new(x->c, op);
	enum err e = ERR_OK;

	if (text.p)
		e = request_set(x->c, &r, field, text);
	if (!e)
		e = request_check(x->c, &r);
	if (!e)
		e = request_run(x->c, &r, &data);
	if (!e)
		*out = json_text(&data);
	return e;
}

static enum err resources_read(struct exchange *x)
{
	struct str uri = value_str(x->params, "uri"), name = { 0 }, text;
	const struct mcp_resource *r = find_resource(x->s->server, uri);

	if (!r)
		return params_error(x, "there is no resource '" STR_FMT "'", uri);
	if (is_template(r))
		name = percent_decode(&x->c->mem, str_skip(uri, brace(r->uri)));
	identify(x, NULL);
	if (reply_of(x, r->op, r->field, name, &text))
		return x->c->code;
	begin_result(x);
	json_put_array(&x->reply, "contents");
	json_object(&x->reply);
	json_put_str(&x->reply, "uri", uri);
	json_put_str(&x->reply, "mimeType", STR("application/json"));
	json_put_str(&x->reply, "text", text);
	json_end(&x->reply);
	json_end(&x->reply);
	if (x->stateless) { /* it changes all the time */
		json_put_int(&x->reply, "ttlMs", 0);
		json_put_str(&x->reply, "cacheScope", STR("private"));
	}
	end_result(x, x->c->meta, false);
	return ERR_OK;
}

static bool matches(const struct mcp_resource *r, struct str uri)
{
	return str_is(uri, r->uri) && r->values;
}

/* The values of one member in the rows of a reply that begin with what was typed. */
static void put_values(struct exchange *x, const struct value *rows, const char *key,
		       struct str typed)
{
	enum { MOST = 100 };
	size_t shown = 0;

	json_put_object(&x->reply, "completion");
	json_put_array(&x->reply, "values");
	for (size_t i = 0; rows && i < rows->count && shown < MOST; i++) {
		const struct value *member = value_find(&rows->item[i], key);

		if (!member || !str_starts(member->text, typed))
			continue;
		json_str(&x->reply, member->text);
		shown++;
	}
	json_end(&x->reply);
	json_put_bool(&x->reply, "hasMore", false);
	json_end(&x->reply);
}

static enum err complete(struct exchange *x)
{
	struct str uri = value_str(value_find(x->params, "ref"), "uri"), text;
	struct str typed = value_str(value_find(x->params, "argument"), "value");
	const struct value *rows = NULL;
	const struct mcp_resource *r = x->s->server->resources;
	struct value_error error;

	while (r->uri && !matches(r, uri))
		r++;
	identify(x, NULL);
	if (r->uri) {
		if (reply_of(x, r->values, 0, (struct str){ 0 }, &text))
			return x->c->code;
		rows = value_parse(&x->c->mem, text, &error);
	}
	begin_result(x);
	put_values(x, rows, r->value_key, typed);
	end_result(x, (struct str){ 0 }, false);
	return ERR_OK;
}

/* --- prompts --- */

static enum err prompts_list(struct exchange *x)
{
	begin_result(x);
	json_put_array(&x->reply, "prompts");
	for (const struct mcp_prompt *p = x->s->server->prompts; p->name; p++) {
		json_object(&x->reply);
		json_put_str(&x->reply, "name", str_of(p->name));
		json_put_str(&x->reply, "description", str_of(p->help));
		json_end(&x->reply);
	}
	json_end(&x->reply);
	end_result(x, (struct str){ 0 }, true);
	return ERR_OK;
}

static enum err prompts_get(struct exchange *x)
{
	struct str name = value_str(x->params, "name"), text;
	const struct mcp_prompt *p = x->s->server->prompts;

	while (p->name && !str_is(name, p->name))
		p++;
	if (!p->name)
		return params_error(x, "there is no prompt '" STR_FMT "'", name);
	identify(x, NULL);
	if (reply_of(x, p->op, 0, (struct str){ 0 }, &text))
		return x->c->code;
	begin_result(x);
	json_put_str(&x->reply, "description", str_of(p->help));
	json_put_array(&x->reply, "messages");
	json_object(&x->reply);
	json_put_str(&x->reply, "role", STR("user"));
	json_put_object(&x->reply, "content");
	json_put_str(&x->reply, "type", STR("text"));
	json_put_str(&x->reply, "text",
		     arena_fmt(&x->c->mem, "%s\n\n" STR_FMT, p->lead, STR_ARG(text)));
	json_end(&x->reply);
	json_end(&x->reply);
	json_end(&x->reply);
	end_result(x, x->c->meta, false);
	return ERR_OK;
}

/* --- dispatch --- */

enum era { LEGACY = 1, MODERN = 2 };

static const struct method {
	const char *name;
	enum err (*run)(struct exchange *x);
	unsigned eras;
} methods[] = {
	{ "initialize", initialize, LEGACY | MODERN },
	{ "server/discover", discover, LEGACY | MODERN },
	{ "ping", ping, LEGACY },
	{ "tools/list", tools_list, LEGACY | MODERN },
	{ "tools/call", tools_call, LEGACY | MODERN },
	{ "resources/list", resources_list, LEGACY | MODERN },
	{ "resources/templates/list", templates_list, LEGACY | MODERN },
	{ "resources/read", resources_read, LEGACY | MODERN },
	{ "prompts/list", prompts_list, LEGACY | MODERN },
	{ "prompts/get", prompts_get, LEGACY | MODERN },
	{ "completion/complete", complete, LEGACY | MODERN },
	{ 0 },
};

static void reply_error(struct exchange *x, enum rpc_error code, struct str message,
			struct str data)
{
	x->reply = (struct json){ .out.mem = &x->c->mem };
	json_object(&x->reply);
	json_put_str(&x->reply, "jsonrpc", STR("2.0"));
	json_key(&x->reply, STR("id"));
	if (x->id)
		json_value(&x->reply, x->id);
	else
		json_null(&x->reply);
	rpc_put_error(&x->reply, code, message, data);
	json_end(&x->reply);
}

/* What went wrong below, as a JSON-RPC error with our own code beside it. */
static void reply_failure(struct exchange *x, enum rpc_error code)
{
	struct json data = { .out.mem = &x->c->mem };

	json_object(&data);
	json_put_str(&data, "code", str_of(err_code(x->c->code)));
	json_put_str(&data, "next_step", call_next_step(x->c));
	json_end(&data);
	reply_error(x, code, x->c->message, json_text(&data));
}

static void reply_version(struct exchange *x, struct str asked)
{
	struct json data = { .out.mem = &x->c->mem };

	json_object(&data);
	json_put_array(&data, "supported");
	json_str(&data, str_of(modern));
	json_end(&data);
	json_put_str(&data, "requested", asked);
	json_end(&data);
	reply_error(x, RPC_VERSION, STR("Unsupported protocol version"),
		    json_text(&data));
}

/* Which revision the request speaks; false: it was answered with an error. */
static bool choose_era(struct exchange *x)
{
	const struct value *meta = value_find(x->params, "_meta");
	const struct value *version = value_find(meta, META("protocolVersion"));
	const struct value *can = value_find(meta, META("clientCapabilities"));

	if (!version)
		return true;
	if (version->type != VALUE_STRING || !str_is(version->text, modern)) {
		reply_version(x, version->text.p ? version->text : STR(""));
		return false;
	}
	if (!can || can->type != VALUE_OBJECT) {
		params_error(x, "_meta needs an object '" STR_FMT "'",
			     STR(META("clientCapabilities")));
		reply_failure(x, RPC_PARAMS);
		return false;
	}
	x->stateless = true;
	return true;
}

static void run_method(struct exchange *x, struct str name)
{
	const struct method *m = methods;

	if (!choose_era(x))
		return;
	while (m->name && !str_is(name, m->name))
		m++;
	if (!m->name || !(m->eras & (x->stateless ? MODERN : LEGACY))) {
		reply_error(x, RPC_METHOD,
			    arena_fmt(&x->c->mem, "there is no method '" STR_FMT "'",
				      STR_ARG(name)),
			    (struct str){ 0 });
		return;
	}
	switch (m->run(x)) {
	case ERR_OK:
		return;
	case ERR_USAGE:
	case ERR_NOT_FOUND:
	case ERR_INVALID_INPUT:
		reply_failure(x, RPC_PARAMS);
		return;
	default:
		reply_failure(x, RPC_INTERNAL);
	}
}

/* Answers one request into x->reply; false: it was a notification. */
static bool answer(struct exchange *x, const struct value *v)
{
	struct str method = value_str(v, "method");
	const struct value *id = value_find(v, "id"), *params = value_find(v, "params");
	bool named = id && (id->type == VALUE_STRING || id->type == VALUE_NUMBER);

	if (v->type == VALUE_OBJECT && !method.p &&
	    (value_find(v, "result") || value_find(v, "error")))
		return false; /* an answer, though we never ask */
	x->id = named ? id : NULL;
	if (!str_is(value_str(v, "jsonrpc"), "2.0") || !method.p || (id && !named) ||
	    (params && params->type != VALUE_OBJECT)) {
		reply_error(x, RPC_REQUEST, STR("not a JSON-RPC 2.0 request"),
			    (struct str){ 0 });
		return true;
	}
	if (!id)
		return false;
	x->params = params;
	run_method(x, method);
	return true;
}

static struct exchange exchange_new(struct session *s, struct call *c)
{
	return (struct exchange){ .s = s, .c = c, .reply.out.mem = &c->mem };
}

/* Each request of a batch sees the call as new; only the memory is shared. */
static void begin_call(struct session *s, struct call *c)
{
	struct arena mem = c->mem;

	*c = *s->start;
	c->mem = mem;
	if (!getenv("ABACUS_NOW"))
		c->now_ms = moment_now();
}

static struct str answer_batch(struct session *s, struct call *c,
			       const struct value *batch)
{
	struct json all = { .out.mem = &c->mem };
	size_t answers = 0;

	json_array(&all);
	for (size_t i = 0; i < batch->count; i++) {
		struct exchange x;

		begin_call(s, c);
		x = exchange_new(s, c);
		if (answer(&x, &batch->item[i])) {
			json_raw(&all, json_text(&x.reply));
			answers++;
		}
	}
	json_end(&all);
	return answers ? json_text(&all) : (struct str){ 0 };
}

/* The line to send back, or absent. */
static struct str handle(struct session *s, struct rpc_message *m)
{
	struct exchange x;

	begin_call(s, &m->call);
	x = exchange_new(s, &m->call);
	if (!m->value) {
		call_fail(x.c, ERR_INVALID_INPUT, "%s", m->why);
		reply_failure(&x, RPC_PARSE);
		return json_text(&x.reply);
	}
	if (m->value->type == VALUE_ARRAY && m->value->count && s->version &&
	    !strcmp(s->version, batching))
		return answer_batch(s, &m->call, m->value);
	return answer(&x, m->value) ? json_text(&x.reply) : (struct str){ 0 };
}

int mcp_serve(const struct call *start, const struct mcp_server *server, struct str agent)
{
	const char *env = getenv("BB_AGENT_ID");
	struct session s = {
		.start = start,
		.server = server,
		.fixed = agent,
		.from_env = env && *env ? str_of(env) : (struct str){ 0 },
	};
	struct rpc_input in;
	struct rpc_message *m;
	int status = 0;

	rpc_open(&in);
	while (!status && (m = rpc_next(&in))) {
		struct str line = handle(&s, m);

		if (line.p)
			status = out_print(
				arena_fmt(&m->call.mem, STR_FMT "\n", STR_ARG(line)), 0);
		rpc_release(m);
	}
	rpc_close(&in);
	free((char *)s.identified.p);
	return 0;
}

/* --- the identity of a session --- */

static const struct field identify_fields[] = {
	{ "agent_id", &kind_str, offsetof(struct identify_body, agent_id), FIELD_REQUIRED,
	  .help = "your name, for example claude-01" },
	{ 0 },
};

static const struct prop identify_props[] = {
	{ "agent_id", PROP_STR, 0, NULL },
	{ "source", PROP_STR, 0, NULL },
	{ 0 },
};

/* The engine does the rest: only it knows the session. */
static enum err check_identity(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	(void)c, (void)s, (void)body;
	json_null(reply);
	return ERR_OK;
}

const struct op op_mcp_identify = {
	.name = "identify",
	.help = "Say who you are, once per session",
	.flags = OP_IDEMPOTENT,
	.body_size = sizeof(struct identify_body),
	.fields = identify_fields,
	.reply = &(const struct prop){ "identity", PROP_OBJECT, 0, identify_props },
	.run = check_identity,
};
