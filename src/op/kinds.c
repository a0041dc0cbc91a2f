#include <inttypes.h>

#include "base/moment.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "beads/model/bead.h"
#include "board/ref.h"
#include "op/field.h"
#include "op/identity.h"

#define INVALID(f) ((f)->invalid ? (f)->invalid : ERR_INVALID_INPUT)

static enum err kind_fail_type(struct call *c, const struct field *f)
{
	return call_fail(c, ERR_USAGE, "%s must be a%s %s", field_label(c, f),
			 strchr("aeiou", f->kind->type[0]) ? "n" : "", f->kind->type);
}

/* For kinds whose JSON string is the text of the command line. */
static enum err string_from_json(struct call *c, const struct field *f, const struct value *v,
				 void *at)
{
	if (v->type != VALUE_STRING)
		return kind_fail_type(c, f);
	return f->kind->from_text(c, f, v->text, at);
}

/* --- text --- */

static void str_clear(void *at)
{
	*(struct str *)at = STR_NONE;
}

static enum err str_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	if (!utf8_valid(text))
		return call_fail(c, INVALID(f), "%s is not valid UTF-8", field_label(c, f));
	if (memchr(text.p, '\0', text.n))
		return call_fail(c, INVALID(f), "%s contains a NUL character", field_label(c, f));
	if (f->min && str_trim(text).n < (size_t)f->min)
		return call_fail(c, INVALID(f), "%s may not be empty", field_label(c, f));
	if (f->max && text.n > (size_t)f->max)
		return call_fail(c, INVALID(f), "%s has %zu bytes; at most %" PRId64 " are allowed",
				 field_label(c, f), text.n, f->max);
	*(struct str *)at = text;
	return ERR_OK;
}

static void str_to_json(struct json *j, const struct field *f, const void *at)
{
	(void)f;
	json_str(j, *(const struct str *)at);
}

static void str_schema(struct json *j, const struct field *f)
{
	if (f->preset)
		json_put_str(j, "default", str_of(f->preset));
}

const struct kind kind_str = {
	.type = "string",
	.arg = "TEXT",
	.size = sizeof(struct str),
	.clear = str_clear,
	.from_text = str_from_text,
	.from_json = string_from_json,
	.to_json = str_to_json,
	.schema = str_schema,
};

/* Any bytes are accepted: names of files need not be valid UTF-8. */
static enum err input_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	if (f->max && text.n > (size_t)f->max)
		return call_fail(c, ERR_INVALID_INPUT,
				 "standard input is longer than %" PRId64 " bytes", f->max);
	*(struct str *)at = text;
	return ERR_OK;
}

const struct kind kind_input = {
	.type = "string",
	.size = sizeof(struct str),
	.clear = str_clear,
	.from_text = input_from_text,
	.from_json = string_from_json,
	.to_json = str_to_json,
};

static enum err line_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	enum err e = str_from_text(c, f, text, at);

	if (!e && utf8_has_control(text))
		return call_fail(c, INVALID(f), "%s must be one line without control characters",
				 field_label(c, f));
	*(struct str *)at = str_trim(text);
	return e;
}

const struct kind kind_line = {
	.type = "string",
	.arg = "TEXT",
	.size = sizeof(struct str),
	.clear = str_clear,
	.from_text = line_from_text,
	.from_json = string_from_json,
	.to_json = str_to_json,
	.schema = str_schema,
};

static enum err tag_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	enum err e = str_from_text(c, f, text, at);

	if (e || (!utf8_has_control(text) && !memchr(text.p, ' ', text.n)))
		return e;
	call_fail(c, INVALID(f), "%s '" STR_FMT "' contains a blank or a control character",
		  field_label(c, f), STR_ARG(text));
	return call_step(c, "Use one word, for example needs-review.");
}

const struct kind kind_tag = {
	.type = "string",
	.arg = "TAG",
	.size = sizeof(struct str),
	.clear = str_clear,
	.from_text = tag_from_text,
	.from_json = string_from_json,
	.to_json = str_to_json,
	.schema = str_schema,
};

const struct kind kind_path = {
	.type = "string",
	.arg = "PATH",
	.size = sizeof(struct str),
	.clear = str_clear,
	.from_text = str_from_text,
	.from_json = string_from_json,
	.to_json = str_to_json,
};

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
	.clear = str_clear,
	.from_text = agent_from_text,
	.from_json = string_from_json,
	.to_json = str_to_json,
};

/* --- whole numbers --- */

static void int_clear(void *at)
{
	*(int64_t *)at = ABSENT;
}

static enum err int_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	int64_t v;

	if (!number_int(text, &v))
		return call_fail(c, INVALID(f), "%s must be a whole number, not '" STR_FMT "'",
				 field_label(c, f), STR_ARG(text));
	if ((f->flags & FIELD_CLAMP) && v > f->max)
		v = f->max;
	if (v < f->min || (f->max && v > f->max)) {
		if (f->max)
			return call_fail(c, INVALID(f),
					 "%s must be from %" PRId64 " to %" PRId64 ", not %" PRId64,
					 field_label(c, f), f->min, f->max, v);
		return call_fail(c, INVALID(f), "%s must be at least %" PRId64 ", not %" PRId64,
				 field_label(c, f), f->min, v);
	}
	*(int64_t *)at = v;
	return ERR_OK;
}

static enum err int_from_json(struct call *c, const struct field *f, const struct value *v,
			      void *at)
{
	struct str text = v->text;

	if (v->type != VALUE_NUMBER)
		return kind_fail_type(c, f);
	text = number_canonical(&c->mem, text); /* 5.0 is 5 */
	return int_from_text(c, f, text, at);
}

static void int_to_json(struct json *j, const struct field *f, const void *at)
{
	int64_t v = *(const int64_t *)at;

	(void)f;
	if (v == ABSENT)
		json_null(j);
	else
		json_int(j, v);
}

static void int_schema(struct json *j, const struct field *f)
{
	json_put_int(j, "minimum", f->min);
	if (f->max)
		json_put_int(j, "maximum", f->max);
	if (f->preset)
		json_put_raw(j, "default", str_of(f->preset));
}

const struct kind kind_int = {
	.type = "integer",
	.arg = "N",
	.size = sizeof(int64_t),
	.clear = int_clear,
	.from_text = int_from_text,
	.from_json = int_from_json,
	.to_json = int_to_json,
	.schema = int_schema,
};

static enum err id_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	return int_from_text(c, f, str_starts(text, STR("#")) ? str_skip(text, 1) : text, at);
}

const struct kind kind_id = {
	.type = "integer",
	.arg = "ID",
	.size = sizeof(int64_t),
	.clear = int_clear,
	.from_text = id_from_text,
	.from_json = int_from_json,
	.to_json = int_to_json,
	.schema = int_schema,
};

/* --- booleans --- */

static void bool_clear(void *at)
{
	*(bool *)at = false;
}

static enum err bool_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	if (str_is(text, "true") || str_is(text, "false")) {
		*(bool *)at = str_is(text, "true");
		return ERR_OK;
	}
	return call_fail(c, INVALID(f), "%s must be true or false, not '" STR_FMT "'",
			 field_label(c, f), STR_ARG(text));
}

static enum err bool_from_json(struct call *c, const struct field *f, const struct value *v,
			       void *at)
{
	if (v->type != VALUE_BOOL)
		return kind_fail_type(c, f);
	*(bool *)at = v->yes;
	return ERR_OK;
}

static void bool_to_json(struct json *j, const struct field *f, const void *at)
{
	(void)f;
	json_bool(j, *(const bool *)at);
}

const struct kind kind_bool = {
	.type = "boolean",
	.size = sizeof(bool),
	.clear = bool_clear,
	.from_text = bool_from_text,
	.from_json = bool_from_json,
	.to_json = bool_to_json,
};

/* --- booleans with three values: false differs from "not given" --- */

static void switch_clear(void *at)
{
	*(int *)at = -1;
}

static enum err switch_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	bool yes = false;
	enum err e = bool_from_text(c, f, text, &yes);

	if (!e)
		*(int *)at = yes;
	return e;
}

static enum err switch_from_json(struct call *c, const struct field *f, const struct value *v,
				 void *at)
{
	bool yes = false;
	enum err e = bool_from_json(c, f, v, &yes);

	if (!e)
		*(int *)at = yes;
	return e;
}

static void switch_to_json(struct json *j, const struct field *f, const void *at)
{
	int v = *(const int *)at;

	(void)f;
	if (v < 0)
		json_null(j);
	else
		json_bool(j, v);
}

const struct kind kind_switch = {
	.type = "boolean",
	.size = sizeof(int),
	.clear = switch_clear,
	.from_text = switch_from_text,
	.from_json = switch_from_json,
	.to_json = switch_to_json,
};

/* --- one word of a set --- */

static void word_clear(void *at)
{
	*(int *)at = -1;
}

/* There are too many words to list them in an error. */
static enum err word_fail_among_many(struct call *c, const struct field *f, struct str text)
{
	const char *near = names_nearest(f->words, text);

	call_fail(c, INVALID(f), "%s has no value '" STR_FMT "'%s%s%s", field_label(c, f),
		  STR_ARG(text), near ? "; did you mean '" : "", near ? near : "",
		  near ? "'?" : "");
	return f->hint ? call_step(c, "%s", f->hint) : c->code;
}

static enum err word_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	enum { MANY = 20 };
	struct buf all = { .mem = &c->mem };

	*(int *)at = names_value(f->words, text);
	if (*(int *)at >= 0)
		return ERR_OK;
	if (f->words->count > MANY)
		return word_fail_among_many(c, f, text);
	for (int i = 0; i < f->words->count; i++)
		buf_fmt(&all, "%s%s", i ? ", " : "", names_word(f->words, i));
	call_fail(c, INVALID(f), "%s must be one of %s, not '" STR_FMT "'", field_label(c, f),
		  buf_str(&all).p, STR_ARG(text));
	return f->hint ? call_step(c, "%s", f->hint) : c->code;
}

static void word_to_json(struct json *j, const struct field *f, const void *at)
{
	int v = *(const int *)at;

	json_str(j, v < 0 ? STR_NONE : str_of(names_word(f->words, v)));
}

static void word_schema(struct json *j, const struct field *f)
{
	json_put_array(j, "enum");
	for (int i = 0; i < f->words->count; i++)
		json_str(j, str_of(names_word(f->words, i)));
	json_end(j);
	if (f->preset)
		json_put_str(j, "default", str_of(f->preset));
}

const struct kind kind_word = {
	.type = "string",
	.arg = "WORD",
	.size = sizeof(int),
	.clear = word_clear,
	.from_text = word_from_text,
	.from_json = string_from_json,
	.to_json = word_to_json,
	.schema = word_schema,
};

/* --- durations --- */

/* A number and one unit: "1h", but not "1h30m". */
static bool duration_has_one_unit(struct str text)
{
	for (size_t i = 0; i + 1 < text.n; i++)
		if (text.p[i] > '9')
			return false;
	return true;
}

static enum err duration_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	bool strict = f->kind == &kind_age;
	int64_t *ms = at;

	if (!duration_parse(str_trim(text), ms) ||
	    (strict && !duration_has_one_unit(str_trim(text)))) {
		call_fail(c, INVALID(f), "%s must be a duration, not '" STR_FMT "'",
			  field_label(c, f), STR_ARG(text));
		return call_step(c, "Write a number and a unit, as in 30s, 10m, 2h, %s2d or 1w.",
				 strict ? "" : "1h30m, ");
	}
	if (!f->max || (*ms >= f->min && *ms <= f->max))
		return ERR_OK;
	return call_fail(c, INVALID(f), "%s must be from %s to %s, not '" STR_FMT "'",
			 field_label(c, f), duration_format(&c->mem, f->min).p,
			 duration_format(&c->mem, f->max).p, STR_ARG(text));
}

static void duration_to_json(struct json *j, const struct field *f, const void *at)
{
	int64_t v = *(const int64_t *)at;

	(void)f;
	json_str(j, v == ABSENT ? STR_NONE : duration_format(j->out.mem, v));
}

const struct kind kind_duration = {
	.type = "string",
	.arg = "DURATION",
	.size = sizeof(int64_t),
	.clear = int_clear,
	.from_text = duration_from_text,
	.from_json = string_from_json,
	.to_json = duration_to_json,
	.schema = str_schema,
};

const struct kind kind_age = {
	.type = "string",
	.arg = "DURATION",
	.size = sizeof(int64_t),
	.clear = int_clear,
	.from_text = duration_from_text,
	.from_json = string_from_json,
	.to_json = duration_to_json,
	.schema = str_schema,
};

/* --- durations in a unit: a bare number has that unit --- */

static enum err span_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	int64_t ms, count;

	text = str_trim(text);
	if (!number_int(text, &count)) {
		if (!duration_parse(text, &ms)) {
			call_fail(c, INVALID(f), "%s must be a duration, not '" STR_FMT "'",
				  field_label(c, f), STR_ARG(text));
			return call_step(c,
					 "Write a number and a unit, as in 30m, 2h, 1h30m or 1d.");
		}
		if (ms % f->unit)
			return call_fail(c, INVALID(f),
					 "%s must be a multiple of %s, not '" STR_FMT "'",
					 field_label(c, f), duration_format(&c->mem, f->unit).p,
					 STR_ARG(text));
		count = ms / f->unit;
	}
	if (count < f->min || (f->max && count > f->max))
		return call_fail(c, INVALID(f), "%s must be from %s to %s, not '" STR_FMT "'",
				 field_label(c, f), duration_format(&c->mem, f->min * f->unit).p,
				 duration_format(&c->mem, f->max * f->unit).p, STR_ARG(text));
	*(int64_t *)at = count;
	return ERR_OK;
}

static enum err span_from_json(struct call *c, const struct field *f, const struct value *v,
			       void *at)
{
	if (v->type != VALUE_STRING && v->type != VALUE_NUMBER)
		return kind_fail_type(c, f);
	return span_from_text(
		c, f, v->type == VALUE_NUMBER ? number_canonical(&c->mem, v->text) : v->text,
		at); /* 5.0 is 5 */
}

const struct kind kind_span = {
	.type = "integer",
	.arg = "DURATION",
	.size = sizeof(int64_t),
	.clear = int_clear,
	.from_text = span_from_text,
	.from_json = span_from_json,
	.to_json = int_to_json,
	.schema = int_schema,
};

/* --- moments --- */

static bool date_parse(struct call *c, struct str text, int64_t *ms)
{
	struct str midnight = arena_fmt(&c->mem, STR_FMT "T00:00:00Z", STR_ARG(text));

	return moment_parse(text, ms) || moment_parse(midnight, ms);
}

/* A date, a date with a time, or a duration before now. */
static enum err moment_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	int64_t ago;

	if (date_parse(c, text, at))
		return ERR_OK;
	if (duration_parse(text, &ago)) {
		*(int64_t *)at = c->now_ms - ago;
		return ERR_OK;
	}
	call_fail(c, INVALID(f), "%s must be a date, not '" STR_FMT "'", field_label(c, f),
		  STR_ARG(text));
	return call_step(c, "Write 2026-01-31, 2026-01-31T12:00:00Z, or 7d for a week ago.");
}

/* A date, a date with a time, or a duration from now; nothing removes the time. */
static enum err later_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	struct str span = text.n && text.p[0] == '+' ? str_skip(text, 1) : text;
	int64_t *ms = at, later;

	*ms = 0;
	if (!text.n)
		return ERR_OK;
	if (str_is(text, "tomorrow"))
		span = STR("1d");
	if (date_parse(c, text, ms) && *ms > 0)
		return ERR_OK;
	if (duration_parse(span, &later) && later <= MOMENT_LAST - c->now_ms) {
		*ms = c->now_ms + later;
		return ERR_OK;
	}
	call_fail(c, INVALID(f), "%s must be a date, not '" STR_FMT "'", field_label(c, f),
		  STR_ARG(text));
	return call_step(c, "Write 2026-01-31, 2026-01-31T12:00:00Z, or 7d for a week from now.");
}

static void moment_to_json(struct json *j, const struct field *f, const void *at)
{
	int64_t v = *(const int64_t *)at;

	(void)f;
	json_str(j, v == ABSENT ? STR_NONE : moment_format(j->out.mem, v));
}

static void later_to_json(struct json *j, const struct field *f, const void *at)
{
	if (*(const int64_t *)at)
		moment_to_json(j, f, at);
	else
		json_str(j, STR(""));
}

const struct kind kind_later = {
	.type = "string",
	.arg = "TIME",
	.size = sizeof(int64_t),
	.clear = int_clear,
	.from_text = later_from_text,
	.from_json = string_from_json,
	.to_json = later_to_json,
};

const struct kind kind_moment = {
	.type = "string",
	.arg = "DATE",
	.size = sizeof(int64_t),
	.clear = int_clear,
	.from_text = moment_from_text,
	.from_json = string_from_json,
	.to_json = moment_to_json,
};

/* --- commits or times --- */

static bool is_commit_hash(struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!strchr("0123456789abcdef", text.p[i]))
			return false;
	return text.n >= 7;
}

static enum err when_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	struct when *out = at;
	int64_t ago;

	*out = (struct when){ .spec = text };
	if (!text.n || text.n > 200)
		return call_fail(c, INVALID(f), "%s must be a commit or a time", field_label(c, f));
	if (is_commit_hash(text))
		return ERR_OK;
	if (date_parse(c, text, &out->ms))
		return ERR_OK;
	if (duration_parse(text, &ago))
		out->ms = c->now_ms - ago;
	return ERR_OK;
}

static void when_clear(void *at)
{
	*(struct when *)at = (struct when){ 0 };
}

static void when_to_json(struct json *j, const struct field *f, const void *at)
{
	(void)f;
	json_str(j, ((const struct when *)at)->spec);
}

const struct kind kind_when = {
	.type = "string",
	.arg = "COMMIT|TIME",
	.size = sizeof(struct when),
	.clear = when_clear,
	.from_text = when_from_text,
	.from_json = string_from_json,
	.to_json = when_to_json,
};

/* --- members of beads --- */

static enum err bead_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	if (!bead_id_valid(text))
		return call_fail(c, INVALID(f), "%s '" STR_FMT "' is not a valid bead id",
				 field_label(c, f), STR_ARG(text));
	*(struct str *)at = text;
	return ERR_OK;
}

const struct kind kind_bead = {
	.type = "string",
	.arg = "ID",
	.size = sizeof(struct str),
	.clear = str_clear,
	.from_text = bead_from_text,
	.from_json = string_from_json,
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
	.clear = int_clear,
	.from_text = priority_from_text,
	.from_json = priority_from_json,
	.to_json = int_to_json,
	.schema = priority_schema,
};

static void stamp_clear(void *at)
{
	*(struct stamp *)at = (struct stamp){ ABSENT, 0 };
}

static enum err stamp_from_json(struct call *c, const struct field *f, const struct value *v,
				void *at)
{
	if (stamp_decode(v, at))
		return ERR_OK;
	call_fail(c, INVALID(f), "%s must be two numbers, [ms,n]", field_label(c, f));
	return call_step(c, "Pass the epoch exactly as the claim printed it.");
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
	.clear = stamp_clear,
	.from_text = stamp_from_text,
	.from_json = stamp_from_json,
	.to_json = stamp_to_json,
	.schema = stamp_schema,
};

/* --- references --- */

static void ref_clear(void *at)
{
	*(struct ref *)at = (struct ref){ 0 };
}

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
	if (v->type != VALUE_NUMBER)
		return string_from_json(c, f, v, at);
	return str_from_text(c, f, v->text, at);
}

const struct kind kind_ref_part = {
	.type = "string", /* hosts accept at most one type */
	.arg = "REF",
	.size = sizeof(struct str),
	.clear = str_clear,
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
	.clear = ref_clear,
	.from_text = ref_from_text,
	.from_json = ref_from_json,
	.to_json = ref_to_json,
	.schema = ref_schema,
};
