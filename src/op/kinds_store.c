#include "op/kinds.h"

#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/bead.h"
#include "board/ref.h"
#include "op/identity.h"

/* Kinds of values that the stores define: names of agents, members of beads, references. */

static enum err agent_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	(void)f;
	*(struct str *)at = text;
	return identity_check(c, at, AGENT_MOST);
}

const struct kind kind_agent = {
	.type = "string",
	.arg = "AGENT",
	.size = sizeof(struct str),
	.from_text = agent_from_text,
	.to_json = str_to_json,
};

/* --- members of beads --- */

static enum err kind_put_bead(struct call *c, const struct field *f, struct str text, bool valid,
			      void *at)
{
	if (!valid)
		return call_fail(c, INVALID(f), "%s '" STR_FMT "' is not a valid bead id",
				 field_label(c, f), STR_ARG(text));
	*(struct str *)at = text;
	return ERR_OK;
}

static enum err bead_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	return kind_put_bead(c, f, text, bead_id_starts(text), at);
}

static enum err new_bead_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	return kind_put_bead(c, f, text, bead_id_valid(text), at);
}

const struct kind kind_bead = {
	.type = "string",
	.arg = "ID",
	.size = sizeof(struct str),
	.from_text = bead_from_text,
	.to_json = str_to_json,
};

const struct kind kind_new_bead = {
	.type = "string",
	.arg = "ID",
	.size = sizeof(struct str),
	.from_text = new_bead_from_text,
	.to_json = str_to_json,
};

static enum err priority_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	if (priority_parse(text, at))
		return ERR_OK;
	return call_fail(c, INVALID(f),
			 "%s must be 0 to 4 or P0 to P4, 0 being the most urgent, not '" STR_FMT
			 "'",
			 field_label(c, f), STR_ARG(text));
}

static enum err priority_from_json(struct call *c, const struct field *f, const struct value *v,
				   void *at)
{
	if (v->type != VALUE_NUMBER && v->type != VALUE_STRING)
		return kind_fail_type(c, f);
	return priority_from_text(c, f, v->text, at);
}

static void priority_schema(struct json *j, const struct field *f)
{
	(void)f;
	json_put_int(j, "minimum", 0);
	json_put_int(j, "maximum", 4);
}

const struct kind kind_priority = {
	.type = "integer",
	.arg = "N",
	.size = sizeof(int64_t),
	.none = &kind_no_int,
	.from_text = priority_from_text,
	.from_json = priority_from_json,
	.to_json = int_to_json,
	.schema = priority_schema,
};

static enum err stamp_from_json(struct call *c, const struct field *f, const struct value *v,
				void *at)
{
	if (stamp_decode(v, at))
		return ERR_OK;
	call_fail(c, INVALID(f), "%s must be two numbers, [ms,n]", field_label(c, f));
	return call_step(c, "Pass it exactly as it was printed.");
}

static enum err stamp_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	const struct value *v = value_read(&c->mem, text);
	struct value none = { .type = VALUE_NULL };

	return stamp_from_json(c, f, v ? v : &none, at);
}

static void stamp_to_json(struct json *j, const struct field *f, const void *at)
{
	const struct stamp *s = at;

	(void)f;
	if (s->ms == ABSENT)
		json_null(j);
	else
		stamp_encode(j, *s);
}

static void stamp_schema(struct json *j, const struct field *f)
{
	(void)f;
	json_put_object(j, "items");
	json_put_str(j, "type", STR("integer"));
	json_end(j);
}

const struct kind kind_stamp = {
	.type = "array",
	.arg = "[MS,N]",
	.size = sizeof(struct stamp),
	.none = &(const struct stamp){ ABSENT, 0 },
	.from_text = stamp_from_text,
	.from_json = stamp_from_json,
	.to_json = stamp_to_json,
	.schema = stamp_schema,
};

/* --- references --- */

static enum err ref_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	struct field plain = *f;
	struct str checked;
	enum err e = str_from_text(c, &plain, text, &checked);

	return e ? e : ref_parse(c, checked, at);
}

static enum err ref_from_json(struct call *c, const struct field *f, const struct value *v,
			      void *at)
{
	const struct value *ref = value_find(v, "ref");
	struct str where = value_str(v, "where"), what = value_str(v, "what");

	if (v->type == VALUE_STRING)
		return ref_from_text(c, f, v->text, at);
	if (!where.p || !what.p || !ref || (ref->type != VALUE_STRING && ref->type != VALUE_NUMBER))
		return call_fail(c, ERR_INVALID_REF_FORMAT,
				 "%s needs \"where\", \"what\" and \"ref\"", field_label(c, f));
	return ref_make(c, where, what, ref->text, at);
}

static void ref_to_json(struct json *j, const struct field *f, const void *at)
{
	const struct ref *ref = at;

	(void)f;
	if (!ref->where.p) {
		json_null(j);
		return;
	}
	json_object(j);
	json_put_str(j, "where", ref->where);
	json_put_str(j, "what", ref->what);
	json_put_raw(j, "ref", ref->json);
	json_end(j);
}

/* The last part of a reference: a number as the board prints it, or text. */
static enum err ref_part_from_json(struct call *c, const struct field *f, const struct value *v,
				   void *at)
{
	if (v->type != VALUE_NUMBER && v->type != VALUE_STRING)
		return kind_fail_type(c, f);
	return str_from_text(c, f, v->text, at);
}

const struct kind kind_ref_part = {
	.type = "string", /* hosts accept at most one type */
	.arg = "REF",
	.size = sizeof(struct str),
	.from_text = str_from_text,
	.from_json = ref_part_from_json,
	.to_json = str_to_json,
};

static void ref_schema(struct json *j, const struct field *f)
{
	static const char *const part[] = { "where", "what", "ref" };

	(void)f;
	json_put_object(j, "properties");
	for (size_t i = 0; i < 3; i++) {
		json_put_object(j, part[i]);
		json_put_str(j, "type", STR("string"));
		json_end(j);
	}
	json_end(j);
	json_put_array(j, "required");
	for (size_t i = 0; i < 3; i++)
		json_str(j, str_of(part[i]));
	json_end(j);
}

const struct kind kind_ref = {
	.type = "object",
	.arg = "WHERE:WHAT:REF",
	.size = sizeof(struct ref),
	.from_text = ref_from_text,
	.from_json = ref_from_json,
	.to_json = ref_to_json,
	.schema = ref_schema,
};
