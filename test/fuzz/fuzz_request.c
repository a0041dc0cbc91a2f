/*
 * Requests of programs and models, as the service and MCP take them: {"op":…,"params":{…}}.
 * Parameters that are accepted are written as JSON that is accepted, and means the same.
 */
#include "base/text/json.h"
#include "base/text/value.h"
#include "fuzz.h"
#include "surface/cli/pipe.h"

/* The fields that were given, as the object that a program would send. */
static struct str written(struct call *c, const struct request *r)
{
	const struct field *fields = r->op->fields;
	struct json j = json_new(&c->mem);

	json_object(&j);
	for (size_t i = 0; fields && fields[i].name; i++) {
		if (!(r->given >> i & 1))
			continue;
		json_key(&j, str_of(fields[i].name));
		field_to_json(&j, &fields[i], r->body);
	}
	json_end(&j);
	return json_text(&j);
}

static void check_params(struct call *c, const struct op *op, const struct value *params)
{
	struct request first = request_new(c, op), again = request_new(c, op);
	const struct value *v;
	struct str text;

	if (request_decode(c, &first, params)) {
		rule(c->message.n, "a request is refused with a message");
		c->code = ERR_OK;
		return;
	}
	text = written(c, &first);
	v = value_read(&c->mem, text);
	rule(v, "parameters are written as JSON");
	rule(!request_decode(c, &again, v), "parameters that were written are accepted");
	rule(str_eq(written(c, &again), text), "parameters are read as they were");
	if (request_check(c, &again))
		rule(c->message.n, "a request is refused with a message");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct call c = fuzz_call();
	const struct value *v = value_read(&c.mem, fuzz_text(data, size)),
			   *params = value_find(v, "params");
	const struct op *op = v ? pipe_find(value_str(v, "op")) : NULL;

	if (op)
		rule(pipe_find(str_of(op->name)) == op, "an operation is found by its own name");
	if (op && params && params->type == VALUE_OBJECT)
		check_params(&c, op, params);
	call_release(&c);
	return 0;
}
