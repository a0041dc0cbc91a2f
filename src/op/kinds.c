#include "op/kinds.h"

#include <inttypes.h>

#include "base/number.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"

/* Kinds of values that JSON has, too: text, numbers, booleans, one word of a set. */

const int64_t kind_no_int = ABSENT;
static const int no_word = -1;

enum err kind_fail_type(struct call *c, const struct field *f)
{
	return call_fail(c, ERR_USAGE, "%s must be a%s %s", field_label(c, f),
			 strchr("aeiou", f->kind->type[0]) ? "n" : "", f->kind->type);
}

/* --- text --- */

enum err str_from_text(struct call *c, const struct field *f, struct str text, void *at)
{
	if (!utf8_valid(text))
		return call_fail(c, INVALID(f), "%s is not valid UTF-8", field_label(c, f));
	if (memchr(text.p, '\0', text.n))
		return call_fail(c, INVALID(f), "%s contains a NUL character", field_label(c, f));
	if (f->min && str_trim(text).n < (size_t)f->min) {
		call_fail(c, INVALID(f), "%s may not be empty", field_label(c, f));
		return f->hint ? call_step(c, "%s", f->hint) : c->code;
	}
	if (f->max && text.n > (size_t)f->max)
		return call_fail(c, INVALID(f), "%s has %zu bytes; at most %" PRId64 " are allowed",
				 field_label(c, f), text.n, f->max);
	*(struct str *)at = text;
	return ERR_OK;
}

void str_to_json(struct json *j, const struct field *f, const void *at)
{
	(void)f;
	json_str(j, *(const struct str *)at);
}

void str_schema(struct json *j, const struct field *f)
{
	if (f->preset)
		json_put_str(j, "default", str_of(f->preset));
}

const struct kind kind_str = {
	.type = "string",
	.arg = "TEXT",
	.size = sizeof(struct str),
	.from_text = str_from_text,
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
	.from_text = input_from_text,
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
	.from_text = line_from_text,
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
	.from_text = tag_from_text,
	.to_json = str_to_json,
	.schema = str_schema,
};

const struct kind kind_path = {
	.type = "string",
	.arg = "PATH",
	.size = sizeof(struct str),
	.from_text = str_from_text,
	.to_json = str_to_json,
};

/* --- whole numbers --- */

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

void int_to_json(struct json *j, const struct field *f, const void *at)
{
	int64_t v = *(const int64_t *)at;

	(void)f;
	if (v == ABSENT)
		json_null(j);
	else
		json_int(j, v);
}

void int_schema(struct json *j, const struct field *f)
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
	.none = &kind_no_int,
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
	.none = &kind_no_int,
	.from_text = id_from_text,
	.from_json = int_from_json,
	.to_json = int_to_json,
	.schema = int_schema,
};

/* --- booleans --- */

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
	.from_text = bool_from_text,
	.from_json = bool_from_json,
	.to_json = bool_to_json,
};

/* --- booleans with three values: false differs from "not given" --- */

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
	.none = &no_word,
	.from_text = switch_from_text,
	.from_json = switch_from_json,
	.to_json = switch_to_json,
};

/* --- one word of a set --- */

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
	.none = &no_word,
	.from_text = word_from_text,
	.to_json = word_to_json,
	.schema = word_schema,
};
