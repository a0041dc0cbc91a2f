/*
 * The MCP server's loop: reads a message, finds its method in the table, and writes one reply. A
 * request that names its protocol version in `_meta` uses the stateless revision; all others belong
 * to the session that began with `initialize`.
 */
#include "surface/mcp/mcp.h"

#include <stdlib.h>

#include "base/moment.h"
#include "surface/mcp/mcp_exchange.h"

static const char modern[] = "2026-07-28";
static const char *const legacy[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05",
				      NULL };
static const char batching[] = "2025-03-26"; /* the only revision with batch requests */

static void put_capabilities(struct exchange *x)
{
	static const char *const names[] = { "tools", "resources", "prompts", "completions" };

	json_put_object(&x->reply, "capabilities");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		json_put_object(&x->reply, names[i]);
		json_end(&x->reply);
	}
	json_end(&x->reply);
}

static enum err mcp_initialize(struct exchange *x)
{
	struct str asked = value_str(x->params, "protocolVersion");

	x->s->version = legacy[0];
	for (const char *const *v = legacy; *v; v++)
		if (str_is(asked, *v))
			x->s->version = *v;
	begin_result(x);
	json_put_str(&x->reply, "protocolVersion", str_of(x->s->version));
	put_capabilities(x);
	json_key(&x->reply, STR("serverInfo"));
	put_info(x);
	json_put_str(&x->reply, "instructions", str_of(x->s->server->instructions));
	end_result(x, STR_NONE, NOT_CACHEABLE);
	return ERR_OK;
}

static enum err mcp_discover(struct exchange *x)
{
	if (!x->stateless)
		return call_fail(x->c, ERR_USAGE, "server/discover needs _meta with '" STR_FMT "'",
				 STR_ARG(STR(META("protocolVersion"))));
	begin_result(x);
	json_put_array(&x->reply, "supportedVersions");
	json_str(&x->reply, str_of(modern));
	json_end(&x->reply);
	put_capabilities(x);
	json_put_str(&x->reply, "instructions", str_of(x->s->server->instructions));
	end_result(x, STR_NONE, CHANGES_NEVER);
	return ERR_OK;
}

static enum err mcp_ping(struct exchange *x)
{
	begin_result(x);
	end_result(x, STR_NONE, NOT_CACHEABLE);
	return ERR_OK;
}

enum era { LEGACY = 1, MODERN = 2 };

static const struct method {
	const char *name;
	enum err (*run)(struct exchange *x);
	unsigned eras;
} methods[] = {
	{ "initialize", mcp_initialize, LEGACY },
	{ "server/discover", mcp_discover, LEGACY | MODERN },
	{ "ping", mcp_ping, LEGACY },
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

static void reply_version(struct exchange *x, struct str asked)
{
	struct json data = json_new(&x->c->mem);

	json_object(&data);
	json_put_array(&data, "supported");
	json_str(&data, str_of(modern));
	json_end(&data);
	json_put_str(&data, "requested", asked);
	json_end(&data);
	reply_error(x, RPC_VERSION, STR("Unsupported protocol version"), json_text(&data));
}

/* Finds the protocol revision of the request. Returns false if it replied with an error. */
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
		call_fail(x->c, ERR_USAGE, "_meta needs an object '" STR_FMT "'",
			  STR_ARG(STR(META("clientCapabilities"))));
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
		reply_error(
			x, RPC_METHOD,
			arena_fmt(&x->c->mem, "there is no method '" STR_FMT "'", STR_ARG(name)),
			STR_NONE);
		return;
	}
	switch (m->run(x)) {
	case ERR_OK:
		return;
	case ERR_NOT_INITIALIZED:
	case ERR_DATABASE_BUSY:
	case ERR_INTERNAL_ERROR:
	case ERR_UNSAFE_PATH:
	case ERR_QUERY_TIMEOUT:
	case ERR_DAMAGED:
		reply_failure(x, RPC_INTERNAL);
		return;
	default:
		reply_failure(x, RPC_PARAMS);
	}
}

/*
 * Writes the reply to one request into x->reply. Returns false if no reply is due: the message is a
 * notification or a response.
 */
static bool mcp_answer(struct exchange *x, const struct value *v)
{
	struct str method = value_str(v, "method");
	const struct value *id = value_find(v, "id"), *params = value_find(v, "params");
	bool named = id && (id->type == VALUE_STRING || id->type == VALUE_NUMBER);

	if (v->type == VALUE_OBJECT && !method.p &&
	    (value_find(v, "result") || value_find(v, "error")))
		return false; /* a response, though we never send requests */
	x->id = named ? id : NULL;
	if (!str_is(value_str(v, "jsonrpc"), "2.0") || !method.p || (id && !named) ||
	    (params && params->type != VALUE_OBJECT)) {
		reply_error(x, RPC_REQUEST, STR("not a JSON-RPC 2.0 request"), STR_NONE);
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

/* Starts every request of a batch with a fresh call; only the memory is shared. */
static void begin_call(struct session *s, struct call *c)
{
	struct arena mem = c->mem;

	*c = *s->start;
	c->mem = mem;
	c->seen = (struct call_seen){ 0 };
	c->request_id = STR_NONE;
	c->listener = s->listener;
	c->terse = true;
	if (!c->still)
		c->now_ms = moment_now();
}

static struct str answer_batch(struct session *s, struct call *c, const struct value *batch)
{
	struct json all = json_new(&c->mem);
	size_t answers = 0;

	json_array(&all);
	VALUE_EACH(one, batch) {
		struct exchange x;

		begin_call(s, c);
		x = exchange_new(s, c);
		if (mcp_answer(&x, one)) {
			json_raw(&all, json_text(&x.reply));
			answers++;
		}
	}
	json_end(&all);
	return answers ? json_text(&all) : STR_NONE;
}

/* Handles a message and returns the line to send back, or absent. */
static struct str mcp_handle(struct session *s, struct rpc_message *m)
{
	struct exchange x;

	begin_call(s, &m->call);
	x = exchange_new(s, &m->call);
	if (!m->value) {
		call_fail(x.c, ERR_INVALID_INPUT, "%s", m->why);
		call_step(x.c, "Send each JSON-RPC message as one line of JSON, of at most 4 MiB.");
		x.id = m->id;
		reply_failure(&x, m->id ? RPC_REQUEST : RPC_PARSE);
		return json_text(&x.reply);
	}
	if (m->value->type == VALUE_ARRAY && m->value->count && s->version &&
	    !strcmp(s->version, batching))
		return answer_batch(s, &m->call, m->value);
	return mcp_answer(&x, m->value) ? json_text(&x.reply) : STR_NONE;
}

/* Is it a call of a tool that may wait for long? */
static bool mcp_may_wait(const struct session *s, const struct value *message)
{
	const struct value *params = value_find(message, "params"),
			   *arguments = value_find(params, "arguments"),
			   *wait = value_find(arguments, "wait");

	return str_is(value_str(message, "method"), "tools/call") && value_find(message, "id") &&
	       tool_may_wait(s->server, value_str(params, "name"),
			     wait && wait->type != VALUE_NULL);
}

/*
 * Answers a request that waits in a process of its own. Returns false if that cannot be done; then
 * the request is answered here, and ends early when another one comes.
 */
static bool mcp_wait_apart(struct session *s, struct rpc_message *m)
{
	const struct value *meta = value_find(value_find(m->value, "params"), "_meta");
	struct listener listener;

	switch (waits_start(&s->waits, value_find(m->value, "id"),
			    value_find(meta, "progressToken"), &listener)) {
	case WAITS_CHILD:
		s->listener = &listener;
		waits_answer(&s->waits,
			     arena_fmt(&m->call.mem, STR_FMT "\n", STR_ARG(mcp_handle(s, m))));
	case WAITS_STARTED:
		return true;
	default:
		return false;
	}
}

/* The actor that the command line or the environment named when the server was started. */
static struct str mcp_started_as(const struct call *start, enum actor_source source)
{
	return call_named(start) && start->actor_source == source ? str_trim(start->actor) :
								    STR_NONE;
}

int mcp_serve(const struct call *start, const struct mcp_server *server,
	      const struct mcp_options *options)
{
	struct session s = {
		.start = start,
		.server = server,
		.options = options,
		.fixed = options->agent.p ? options->agent : mcp_started_as(start, ACTOR_OPTION),
		.from_env = mcp_started_as(start, ACTOR_VARIABLE),
	};
	struct rpc_input in;
	struct rpc_message *m;
	bool heard = true;

	rpc_open(&in);
	in.background = waits_background(&s.waits);
	s.listener = &in.listener;
	while (heard && (m = rpc_next(&in))) {
		struct str line;

		if (mcp_may_wait(&s, m->value) && mcp_wait_apart(&s, m)) {
			rpc_release(m);
			continue;
		}
		in.current = value_find(m->value, "id");
		in.cancelled = false;
		line = mcp_handle(&s, m);
		in.current = NULL;
		if (line.p && !in.cancelled)
			heard = rpc_send(arena_fmt(&m->call.mem, STR_FMT "\n", STR_ARG(line)));
		rpc_release(m);
	}
	waits_end(&s.waits);
	rpc_close(&in);
	free((char *)s.identified.p);
	return 0;
}
