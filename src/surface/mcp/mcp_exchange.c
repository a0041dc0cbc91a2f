#include "surface/mcp/mcp_exchange.h"

enum { CACHE_MS = 3600 * 1000 };

void begin_result(struct exchange *x)
{
	json_object(&x->reply);
	json_put_str(&x->reply, "jsonrpc", STR("2.0"));
	json_key(&x->reply, STR("id"));
	json_value(&x->reply, x->id);
	json_put_object(&x->reply, "result");
}

void put_info(struct exchange *x)
{
	json_object(&x->reply);
	json_put_str(&x->reply, "name", str_of(x->s->server->name));
	json_put_str(&x->reply, "title", str_of(x->s->server->title));
	json_put_str(&x->reply, "version", STR(ABACUS_VERSION));
	json_end(&x->reply);
}

/* `more` is a JSON object whose members are added to `_meta`; it may be absent. */
static void put_meta(struct exchange *x, struct str more)
{
	const struct value *object = more.p ? value_read(&x->c->mem, more) : NULL;

	if (!object && !x->stateless)
		return;
	json_put_object(&x->reply, "_meta");
	if (x->stateless) {
		json_key(&x->reply, STR(META("serverInfo")));
		put_info(x);
	}
	VALUE_EACH(one, object)
		json_put_member(&x->reply, one);
	json_end(&x->reply);
}

void end_result(struct exchange *x, struct str meta, enum cacheable cacheable)
{
	if (x->stateless) {
		json_put_str(&x->reply, "resultType", STR("complete"));
		if (cacheable) {
			json_put_int(&x->reply, "ttlMs", cacheable == CHANGES_NEVER ? CACHE_MS : 0);
			json_put_str(&x->reply, "cacheScope", STR("private"));
		}
	}
	put_meta(x, meta);
	json_end(&x->reply);
	json_end(&x->reply);
}

void reply_error(struct exchange *x, enum rpc_error code, struct str message, struct str data)
{
	x->reply = json_new(&x->c->mem);
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

void reply_failure(struct exchange *x, enum rpc_error code)
{
	struct json data = json_new(&x->c->mem);

	json_object(&data);
	json_put_str(&data, "code", str_of(err_code(x->c->code, DIALECT_BOARD)));
	if (x->c->code != ERR_USAGE) /* advice about the command line does not help an MCP client */
		json_put_str(&data, "next_step", call_next_step(x->c));
	json_end(&data);
	reply_error(x, code, x->c->message, json_text(&data));
}

void identify(struct exchange *x, const struct value *arguments)
{
	const struct session *s = x->s;
	struct str said = value_str(arguments, "agent");

	x->c->actor = s->fixed.p    ? s->fixed :
		      s->from_env.p ? s->from_env :
		      said.p        ? said :
		      x->stateless  ? STR_NONE :
				      s->identified;
	x->c->anonymous = !x->c->actor.p;
}
