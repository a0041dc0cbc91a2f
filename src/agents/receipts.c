#include "agents/receipts.h"

#include "base/json.h"
#include "base/moment.h"
#include "base/value.h"

static const struct str file = { "receipts.jsonl", 14 };

/* How a line of this request begins, but for its last brace. */
static struct str head_of(struct call *c)
{
	struct json j = { .out.mem = &c->mem };
	struct str text;

	json_object(&j);
	json_put_str(&j, "agent_id", c->actor.p ? c->actor : STR(""));
	json_put_str(&j, "request_id", c->request_id);
	json_end(&j);
	text = json_text(&j);
	return str_head(text, text.n - 1);
}

enum err receipts_find(struct call *c, struct agent_files *f, struct str op,
		       struct str *reply)
{
	struct str text, line;
	struct value_error error;
	struct json j = { .out.mem = &c->mem };
	const struct value *v, *old;
	const char *at;
	enum err e = agent_file_read(c, f, file, &text);

	*reply = (struct str){ 0 };
	at = e || !text.n ?
		     NULL :
		     str_find(text, arena_fmt(&c->mem, STR_FMT ",", STR_ARG(head_of(c))));
	if (!at)
		return e;
	text = str_skip(text, (size_t)(at - text.p));
	str_next(&text, '\n', &line);
	v = value_parse(&c->mem, line, &error);
	old = value_find(v, "reply");
	if (!old)
		return call_fail(
			c, ERR_IO_READ_FAILED,
			"'receipts.jsonl' has a damaged line for this request id");
	if (!str_eq(value_str(v, "op"), op) ||
	    !str_eq(value_str(v, "args"), c->request_args))
		return call_fail(c, ERR_REQUEST_MISMATCH,
				 "request id '" STR_FMT "' was used for another '" STR_FMT
				 "'",
				 STR_ARG(c->request_id), STR_ARG(value_str(v, "op")));
	json_value(&j, old);
	*reply = json_text(&j);
	return ERR_OK;
}

enum err receipts_put(struct call *c, struct agent_files *f, struct str op,
		      struct str reply)
{
	struct json more = { .out.mem = &c->mem };

	json_object(&more);
	json_put_str(&more, "op", op);
	json_put_str(&more, "args", c->request_args);
	json_put_moment(&more, "created_at", c->now_ms);
	json_put_raw(&more, "reply", reply);
	json_end(&more);
	return agent_file_append(c, f, file,
				 arena_fmt(&c->mem, STR_FMT "," STR_FMT "\n",
					   STR_ARG(head_of(c)),
					   STR_ARG(str_skip(json_text(&more), 1))));
}
