#include "ops/plan/extension.h"

#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/limits.h"

static struct str extension_text(struct call *c, struct str text)
{
	struct json j = json_new(&c->mem);

	json_str(&j, text.n ? text : STR_NONE);
	return json_text(&j);
}

static struct str extension_moment(struct call *c, int64_t ms)
{
	return extension_text(c, ms ? moment_format(&c->mem, ms) : STR_NONE);
}

static enum err extension_metadata(struct call *c, struct str text, struct str *out)
{
	struct value_error error = { 0 };
	const struct value *v = value_parse(&c->mem, text.n ? text : STR("null"), &error);

	if (v && v->type != VALUE_OBJECT && v->type != VALUE_NULL)
		error.why = "it is not an object";
	else if (v && value_depth(v) > LIMIT_DEPTH)
		error.why = "it is nested too deep";
	if (error.why) {
		call_fail(c, ERR_INVALID_INPUT, "the metadata must be a JSON object: %s",
			  error.why);
		return call_step(c, "Write it like this: --metadata '{\"team\":\"core\"}'");
	}
	*out = json_canonical_text(&c->mem, v);
	return ERR_OK;
}

enum err extension_values(struct call *c, const struct extension_body *in, struct str out[MEMBERS])
{
	if (in->due != ABSENT)
		out[MEMBER_DUE_AT] = extension_moment(c, in->due);
	if (in->defer != ABSENT)
		out[MEMBER_DEFER_UNTIL] = extension_moment(c, in->defer);
	if (in->estimate != ABSENT) {
		struct json j = json_new(&c->mem);

		json_int(&j, in->estimate);
		out[MEMBER_ESTIMATED_MINUTES] = json_text(&j);
	}
	if (in->notes.p)
		out[MEMBER_NOTES_TEXT] = extension_text(c, in->notes);
	if (in->spec_id.p)
		out[MEMBER_SPEC_ID] = extension_text(c, in->spec_id);
	return in->metadata.p ? extension_metadata(c, in->metadata, &out[MEMBER_METADATA]) : ERR_OK;
}

enum err extension_edit(struct edit *e, const struct extension_body *in)
{
	struct str values[MEMBERS] = { { 0 } };
	enum err err = extension_values(e->c, in, values);

	for (int m = 0; !err && m < MEMBERS; m++)
		if (values[m].p)
			edit_set(e, (enum member)m,
				 str_is(values[m], "null") ? STR_NONE : values[m]);
	return err;
}
