#include "op/kinds.h"

#include "base/moment.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/beads.h"

/* Kinds of times: durations, dates, and commits as points in time. */

/* --- durations --- */

/* A number and one unit: "1h", but not "1h30m". */
static bool duration_has_one_unit(struct str text)
{
	for (size_t i = 0; i + 1 < text.n; i++)
		if (text.p[i] > '9')
			return false;
	return true;
}

/* Checks the limits of a field that counts durations of `unit` milliseconds. */
static enum err duration_check(struct call *c, const struct field *f, struct str text,
			       int64_t count, int64_t unit)
{
	if (!f->max || (count >= f->min && count <= f->max))
		return ERR_OK;
	return call_fail(c, INVALID(f), "%s must be from %s to %s, not '" STR_FMT "'",
			 field_label(c, f), duration_format(&c->mem, f->min * unit).p,
			 duration_format(&c->mem, f->max * unit).p, STR_ARG(text));
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
	return duration_check(c, f, text, *ms, 1);
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
	.none = &kind_no_int,
	.from_text = duration_from_text,
	.to_json = duration_to_json,
	.schema = str_schema,
};

const struct kind kind_age = {
	.type = "string",
	.arg = "DURATION",
	.size = sizeof(int64_t),
	.none = &kind_no_int,
	.from_text = duration_from_text,
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
	*(int64_t *)at = count;
	return duration_check(c, f, text, count, f->unit);
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
	.none = &kind_no_int,
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

static enum err date_fail(struct call *c, const struct field *f, struct str text, const char *week)
{
	call_fail(c, INVALID(f), "%s must be a date, not '" STR_FMT "'", field_label(c, f),
		  STR_ARG(text));
	return call_step(c, "Write 2026-01-31, 2026-01-31T12:00:00Z, or 7d for %s.", week);
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
	return date_fail(c, f, text, "a week ago");
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
	return date_fail(c, f, text, "a week from now");
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
	.none = &kind_no_int,
	.from_text = later_from_text,
	.to_json = later_to_json,
};

const struct kind kind_moment = {
	.type = "string",
	.arg = "DATE",
	.size = sizeof(int64_t),
	.none = &kind_no_int,
	.from_text = moment_from_text,
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

static void when_to_json(struct json *j, const struct field *f, const void *at)
{
	(void)f;
	json_str(j, ((const struct when *)at)->spec);
}

const struct kind kind_when = {
	.type = "string",
	.arg = "COMMIT|TIME",
	.size = sizeof(struct when),
	.from_text = when_from_text,
	.to_json = when_to_json,
};
