#include "op/op.h"

#include "base/text/json.h"

static void op_put_string(struct json *j, const char *name, const char *help)
{
	json_put_object(j, name);
	json_put_str(j, "type", STR("string"));
	json_put_str(j, "description", str_of(help));
	json_end(j);
}

static bool op_shows(const struct field *f, enum audience whom)
{
	return whom == FOR_PROGRAMS ? field_on_wire(f) : !(f->flags & FIELD_CLI);
}

static bool op_requires(const struct field *f, enum audience whom)
{
	bool required = field_required(f) || (whom != FOR_PROGRAMS && (f->flags & FIELD_ASKED)) ||
			(whom == FOR_STRANGERS && (f->flags & FIELD_REQUIRED));

	return required && op_shows(f, whom);
}

enum dialect op_dialect(const struct op *op)
{
	return op->flags & OP_VYBE   ? DIALECT_VYBE :
	       op->flags & OP_BEADS  ? DIALECT_BEADS :
	       op->flags & OP_AGENTS ? DIALECT_AGENTS :
				       DIALECT_BOARD;
}

bool op_may_write(const struct op *op)
{
	for (const struct field *f = op->fields; f && f->name; f++)
		if (f->flags & FIELD_WRITES)
			return true;
	return op->flags & OP_WRITE;
}

static bool op_is_new(struct map *written, const char *name)
{
	if (map_find(written, str_of(name)))
		return false;
	map_put(written, str_of(name));
	return true;
}

void op_input_properties(struct json *j, const struct op *op, enum audience whom,
			 struct map *written)
{
	struct field shown;

	for (const struct field *f = op->fields; f && f->name; f++) {
		if (!op_shows(f, whom) || !op_is_new(written, f->name))
			continue;
		shown = *f;
		if (whom != FOR_PROGRAMS && f->help && str_is(str_of(f->help), f->name))
			shown.help = NULL; /* it would only cost tokens */
		json_key(j, str_of(f->name));
		field_schema(j, &shown);
	}
	if ((op->flags & (OP_ACTOR | OP_READER)) && op_is_new(written, "agent"))
		op_put_string(j, "agent", "your name");
	if ((op->flags & OP_RECEIPT) && op_is_new(written, "request_id"))
		op_put_string(j, "request_id", "makes a repeat safe");
}

void op_input_schema(struct json *j, const struct op *op, enum audience whom)
{
	const struct field none = { 0 }, *fields = op->fields ? op->fields : &none;
	struct map written = { .mem = j->out.mem };
	bool named = whom == FOR_STRANGERS && (op->flags & OP_ACTOR), required = named;

	json_object(j);
	json_put_str(j, "type", STR("object"));
	json_put_object(j, "properties");
	op_input_properties(j, op, whom, &written);
	json_end(j);
	for (const struct field *f = fields; f->name; f++)
		required = required || op_requires(f, whom);
	if (required) {
		json_put_array(j, "required");
		for (const struct field *f = fields; f->name; f++)
			if (op_requires(f, whom))
				json_str(j, str_of(f->name));
		if (named)
			json_str(j, STR("agent"));
		json_end(j);
	}
	json_end(j);
}

void op_args_schema(struct json *j, const struct op *op)
{
	const struct field none = { 0 }, *fields = op->fields ? op->fields : &none;
	bool once = (op->flags & OP_VYBE) && (op->flags & OP_WRITE);

	json_object(j);
	json_put_str(j, "type", STR("object"));
	json_put_object(j, "properties");
	for (const struct field *f = fields; f->name; f++) {
		json_key(j, field_flag(j->out.mem, f));
		json_object(j);
		field_schema_members(j, f);
		if (f->kind == &kind_bool || f->kind == &kind_switch)
			json_put_bool(j, "default", false);
		json_end(j);
	}
	if (op->flags & (OP_ACTOR | OP_READER))
		op_put_string(j, "agent", "your name");
	if (once)
		op_put_string(j, "request-id", "of this write");
	json_end(j);
	json_put_array(j, "required");
	for (const struct field *f = fields; f->name; f++)
		if (field_required_cli(f) && !(f->flags & FIELD_PIPED))
			json_str(j, field_flag(j->out.mem, f));
	if (op->flags & OP_ACTOR)
		json_str(j, STR("agent"));
	if (once)
		json_str(j, STR("request-id"));
	json_end(j);
	json_end(j);
}

/* Removes `end` from the end of the text, if it is there. */
static bool prop_cut(struct str *text, struct str end)
{
	if (!str_ends(*text, end))
		return false;
	text->n -= end.n;
	return true;
}

static const char *prop_cut_type(struct str *text, const struct prop *of)
{
	return prop_cut(text, STR(":any"))          ? NULL :
	       prop_cut(text, STR(":int"))          ? "integer" :
	       prop_cut(text, STR(":bool"))         ? "boolean" :
	       prop_cut(text, STR(":object")) || of ? "object" :
						      "string";
}

bool prop_next(const struct prop **row, struct str *rest, struct prop_member *out)
{
	struct str text;

	if (!rest->p) {
		if (!(*row)->members)
			return false;
		*rest = str_of((*row)++->members);
	}
	str_next(rest, ' ', &text);
	out->of = (*row)[-1].of;
	out->optional = prop_cut(&text, STR("?"));
	out->null = prop_cut(&text, STR("|null"));
	out->list = prop_cut(&text, STR("[]"));
	out->type = prop_cut_type(&text, out->of);
	out->name = text;
	return true;
}

static struct prop_member prop_first(const struct prop *row)
{
	struct str rest = STR_NONE;
	struct prop_member m = { 0 };

	prop_next(&row, &rest, &m);
	return m;
}

static void prop_put_type(struct json *j, const struct prop_member *m)
{
	if (!m->type)
		return;
	if (m->null) {
		json_put_array(j, "type");
		json_str(j, str_of(m->type));
		json_str(j, STR("null"));
		json_end(j);
	} else {
		json_put_str(j, "type", str_of(m->type));
	}
}

static void prop_put_required(struct json *j, const struct prop *row)
{
	struct str rest = STR_NONE;
	struct prop_member m;

	json_put_array(j, "required");
	while (prop_next(&row, &rest, &m))
		if (!m.optional)
			json_str(j, m.name);
	json_end(j);
}

/* A schema without a type says nothing, and hosts accept no list of types, so an outline leaves out
 * what may be null or anything. */
static bool prop_outlined(const struct prop_member *m)
{
	return m->type && !m->null;
}

/* `depth` is how many levels of objects list their members; -1: all levels, with null and required
 * members. */
static void prop_schema(struct json *j, const struct prop_member *p, int depth)
{
	const struct prop *row = p->of;
	struct str rest = STR_NONE;
	struct prop_member m;

	json_object(j);
	if (p->list) {
		json_put_str(j, "type", STR("array"));
		json_put_object(j, "items");
	}
	prop_put_type(j, p);
	if (p->of && depth) {
		json_put_object(j, "properties");
		while (prop_next(&row, &rest, &m)) {
			if (depth > 0 && !prop_outlined(&m))
				continue;
			json_key(j, m.name);
			prop_schema(j, &m, depth - (depth > 0));
		}
		json_end(j);
		if (depth < 0)
			prop_put_required(j, p->of);
	}
	if (p->list)
		json_end(j);
	json_end(j);
}

void op_reply_schema(struct json *j, const struct op *op)
{
	struct prop_member reply = prop_first(op->reply);

	prop_schema(j, &reply, -1);
}

bool op_reply_outlined(const struct op *op)
{
	struct prop_member reply = prop_first(op->reply);

	return prop_outlined(&reply);
}

void op_reply_outline(struct json *j, const struct op *op)
{
	struct prop_member reply = prop_first(op->reply);

	prop_schema(j, &reply, reply.list ? 0 : 1);
}
