/*
 * Resources and prompts of MCP. Both run an operation and return its reply: a resource as JSON, a
 * prompt as quoted text after a lead-in. Completions of a template's parameter come from a list
 * operation.
 */
#include "surface/mcp/mcp_exchange.h"

#include "base/text/quote.h"
#include "base/text/utf8.h"

static size_t mcp_resources_brace(const char *uri)
{
	return strcspn(uri, "{");
}

static bool is_template(const struct mcp_resource *r)
{
	return r->uri[mcp_resources_brace(r->uri)] != '\0';
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
	end_result(x, STR_NONE, CHANGES_NEVER);
	return ERR_OK;
}

enum err resources_list(struct exchange *x)
{
	return list_resources(x, false, "resources", "uri");
}

enum err templates_list(struct exchange *x)
{
	return list_resources(x, true, "resourceTemplates", "uriTemplate");
}

static int mcp_resources_hex(char ch)
{
	const char *digits = "0123456789abcdef", *at = strchr(digits, ch | 0x20);

	return ch && at ? (int)(at - digits) : -1;
}

static struct str percent_decode(struct arena *mem, struct str s)
{
	struct buf b = { .mem = mem };

	for (size_t i = 0; i < s.n; i++) {
		bool coded = s.p[i] == '%' && i + 2 < s.n && mcp_resources_hex(s.p[i + 1]) >= 0 &&
			     mcp_resources_hex(s.p[i + 2]) >= 0;

		buf_char(&b, coded ? (char)(mcp_resources_hex(s.p[i + 1]) << 4 |
					    mcp_resources_hex(s.p[i + 2])) :
				     s.p[i]);
		i += coded ? 2 : 0;
	}
	return buf_str(&b);
}

static const struct mcp_resource *find_resource(const struct mcp_server *server, struct str uri)
{
	for (const struct mcp_resource *r = server->resources; r->uri; r++) {
		struct str head = str_head(str_of(r->uri), mcp_resources_brace(r->uri));

		if (is_template(r) ? str_starts(uri, head) && uri.n > head.n : str_eq(uri, head))
			return r;
	}
	return NULL;
}

/* Runs an operation for its reply, with at most one field set. */
static enum err reply_of(struct exchange *x, const struct op *op, size_t field, struct str text,
			 struct str *out)
{
	struct json data = json_new(&x->c->mem);
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

enum err resources_read(struct exchange *x)
{
	struct str uri = value_str(x->params, "uri"), name = { 0 }, text;
	const struct mcp_resource *r = find_resource(x->s->server, uri);

	if (!r)
		return call_fail(x->c, ERR_USAGE, "there is no resource '" STR_FMT "'",
				 STR_ARG(uri));
	if (is_template(r))
		name = percent_decode(&x->c->mem, str_skip(uri, mcp_resources_brace(r->uri)));
	if (!utf8_valid(name))
		return call_fail(x->c, ERR_USAGE, "'" STR_FMT "' does not spell valid UTF-8",
				 STR_ARG(uri));
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
	end_result(x, x->c->meta, CHANGES_ALWAYS);
	return ERR_OK;
}

static const struct mcp_prompt *find_prompt(const struct mcp_server *server, struct str name)
{
	for (const struct mcp_prompt *p = server->prompts; p->name; p++)
		if (str_is(name, p->name))
			return p;
	return NULL;
}

static const struct mcp_resource *find_template(const struct mcp_server *server, struct str uri)
{
	for (const struct mcp_resource *r = server->resources; r->uri; r++)
		if (is_template(r) && str_is(uri, r->uri))
			return r;
	return NULL;
}

enum { VALUES_MOST = 100 };

/* Writes the values of one member in the rows of a reply, if they start with the typed text. */
static void put_values(struct exchange *x, const struct value *rows, const char *key,
		       struct str typed)
{
	json_put_object(&x->reply, "completion");
	json_put_array(&x->reply, "values");
	VALUE_EACH(item, rows) {
		const struct value *member = value_find(item, key);

		if (member && str_starts(member->text, typed))
			json_str(&x->reply, member->text);
	}
	json_end(&x->reply);
	json_put_bool(&x->reply, "hasMore", rows && rows->count == VALUES_MOST);
	json_end(&x->reply);
}

static size_t field_named(const struct op *op, const char *name)
{
	size_t i = 0;

	while (strcmp(op->fields[i].name, name))
		i++;
	return i;
}

/* Finds the rows with possible values of a template; NULL if it has none. */
static enum err value_rows(struct exchange *x, const struct mcp_resource *r,
			   const struct value **rows)
{
	struct str most = arena_fmt(&x->c->mem, "%d", VALUES_MOST), text;
	enum err e;

	*rows = NULL;
	if (!r || !r->values)
		return ERR_OK;
	if ((e = reply_of(x, r->values, field_named(r->values, "limit"), most, &text)))
		return e;
	*rows = value_read(&x->c->mem, text);
	return ERR_OK;
}

enum err complete(struct exchange *x)
{
	const struct value *ref = value_find(x->params, "ref"), *rows;
	const struct value *argument = value_find(x->params, "argument");
	struct str type = value_str(ref, "type"), typed = value_str(argument, "value");
	const struct mcp_resource *r = find_template(x->s->server, value_str(ref, "uri"));
	bool prompt =
		str_is(type, "ref/prompt") && find_prompt(x->s->server, value_str(ref, "name"));
	enum err e;

	if (!prompt && !(str_is(type, "ref/resource") && r))
		return call_fail(x->c, ERR_USAGE, "there is nothing to complete for '" STR_FMT "'",
				 STR_ARG(type));
	if (!value_str(argument, "name").p || !typed.p)
		return call_fail(x->c, ERR_USAGE, "argument needs a name and a value");
	x->c->anonymous = true; /* completing a value must not mark messages as read */
	if ((e = value_rows(x, prompt ? NULL : r, &rows)))
		return e;
	begin_result(x);
	put_values(x, rows, r ? r->value_key : "", typed);
	end_result(x, STR_NONE, NOT_CACHEABLE);
	return ERR_OK;
}

enum err prompts_list(struct exchange *x)
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
	end_result(x, STR_NONE, CHANGES_NEVER);
	return ERR_OK;
}

enum err prompts_get(struct exchange *x)
{
	struct str name = value_str(x->params, "name"), text;
	const struct mcp_prompt *p = find_prompt(x->s->server, name);

	if (!p)
		return call_fail(x->c, ERR_USAGE, "there is no prompt '" STR_FMT "'",
				 STR_ARG(name));
	identify(x, NULL);
	if (reply_of(x, p->op, 0, STR_NONE, &text))
		return x->c->code;
	text = quote_line(&x->c->mem, text, SIZE_MAX);
	begin_result(x);
	json_put_str(&x->reply, "description", str_of(p->help));
	json_put_array(&x->reply, "messages");
	json_object(&x->reply);
	json_put_str(&x->reply, "role", STR("user"));
	json_put_object(&x->reply, "content");
	json_put_str(&x->reply, "type", STR("text"));
	json_put_str(&x->reply, "text",
		     arena_fmt(&x->c->mem, "%s\n\n%s" STR_FMT, p->lead, QUOTE_RULE, STR_ARG(text)));
	json_end(&x->reply);
	json_end(&x->reply);
	json_end(&x->reply);
	end_result(x, x->c->meta, NOT_CACHEABLE);
	return ERR_OK;
}
