#include "base/text/json.h"
#include "op/op.h"
#include "ops/ops.h"

struct body {
	struct list words;
};

static const struct field fields[] = {
	{ "op", &kind_str, offsetof(struct body, words), FIELD_PLACE | FIELD_LIST, .arg = "OP",
	  .help = "name of an operation, for example: board post" },
	{ 0 },
};

static const struct prop props[] = {
	{ "name description mutates:bool destructive:bool idempotent:bool input:object", NULL },
	{ "output:object", NULL },
	{ 0 },
};

static void project_schema_encode(struct json *j, const struct op *op)
{
	json_object(j);
	json_put_str(j, "name", str_of(op->name));
	json_put_str(j, "description", str_of(op->help));
	json_put_bool(j, "mutates", op_may_write(op));
	json_put_bool(j, "destructive", op->flags & OP_DESTROYS);
	json_put_bool(j, "idempotent", !(op->flags & OP_WRITE) || (op->flags & OP_IDEMPOTENT));
	json_key(j, STR("input"));
	op_input_schema(j, op, FOR_PROGRAMS);
	json_key(j, STR("output"));
	op_reply_schema(j, op);
	json_end(j);
}

static struct str project_schema_joined(struct call *c, const struct list *words)
{
	const struct str *word = words->item;
	struct buf b = { .mem = &c->mem };

	for (size_t i = 0; i < words->n; i++) {
		if (i)
			buf_char(&b, ' ');
		buf_put(&b, word[i]);
	}
	return buf_str(&b);
}

static enum err project_schema_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	struct str name = project_schema_joined(c, &in->words);
	size_t found = 0;

	(void)s;
	json_array(reply);
	for (const struct op *const *op = ops; *op; op++)
		if (!name.n || str_is(name, (*op)->name)) {
			project_schema_encode(reply, *op);
			found++;
		}
	json_end(reply);
	if (found)
		return ERR_OK;
	call_fail(c, ERR_NOT_FOUND, "there is no operation '" STR_FMT "'", STR_ARG(name));
	return call_step(c, "Run 'abacus schema' to list all operations.");
}

const struct op op_schema = {
	.name = "schema",
	.help = "Print the JSON Schema of all operations, or of one",
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "operations[]", props },
	.run = project_schema_run,
};
