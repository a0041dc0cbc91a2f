#include "surface/view/view.h"

#include <inttypes.h>
#include <strings.h>

#include "agents/liveness.h"
#include "base/moment.h"
#include "base/text/utf8.h"
#include "op/op.h"

static const char *const codes[] = {
	[PAINT_NONE] = "\033[0m", [PAINT_BOLD] = "\033[1m",   [PAINT_DIM] = "\033[2m",
	[PAINT_RED] = "\033[31m", [PAINT_GREEN] = "\033[32m", [PAINT_YELLOW] = "\033[33m",
};

void view_line(struct view *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_put(&v->out, arena_vfmt(v->out.mem, fmt, ap));
	va_end(ap);
	buf_char(&v->out, '\n');
}

static struct str view_member(struct view *v, const struct value *of, struct str key)
{
	bool age = str_ends(key, STR("~"));
	const struct value *member = value_member(of, str_head(key, key.n - age));

	if (member && member->type == VALUE_NUMBER)
		return member->text;
	return age ? view_age(v, value_text(member)) : value_text(member);
}

void view_put(struct view *v, const struct value *of, const char *text)
{
	struct str rest = str_of(text), part, key;

	while (str_next(&rest, '{', &part)) {
		buf_put(&v->out, part);
		if (str_next(&rest, '}', &key))
			buf_put(&v->out, view_member(v, of, key));
	}
}

void view_say(struct view *v, const struct value *of, const char *text)
{
	view_put(v, of, text);
	buf_char(&v->out, '\n');
}

/* The text from here on has this colour. */
struct view_mark {
	size_t at;
	enum paint paint;
};

static void view_put_mark(struct view *v, enum paint paint)
{
	v->marks = arena_room(v->out.mem, v->marks, v->marked, sizeof *v->marks);
	v->marks[v->marked++] = (struct view_mark){ v->out.n, paint };
}

void view_paint(struct view *v, enum paint paint, struct str text)
{
	bool colour = v->colour && paint;

	if (colour)
		view_put_mark(v, paint);
	buf_put(&v->out, text);
	if (colour)
		view_put_mark(v, PAINT_NONE);
}

void view_target(struct view *v, struct str id)
{
	if (!id.n)
		return;
	v->targets = arena_room(v->out.mem, v->targets, v->target_count, sizeof *v->targets);
	v->targets[v->target_count++] = (struct view_target){ v->out.n, id };
}

/* --- rows of a terminal --- */

/*
 * The rows of a line that is too long for the terminal, except its first one, begin with these. No
 * line of ours does.
 */
#define ROW_MARK "\xe2\x80\xa6 " /* … */
enum { ROW_INDENT = 4, ROW_PREFIX = ROW_INDENT + 2, ROW_LEAST = 20 };

/* The output of a view while its long lines are broken. */
struct rows {
	struct view *v;
	struct buf out;
	size_t mark, target; /* the first ones that are not in the rows yet */
};

static size_t rows_moved(const struct rows *r, size_t at, size_t from)
{
	return r->out.n + (at > from ? at - from : 0);
}

/* Copies a part of the output, with the marks and targets up to its end. */
static void rows_copy(struct rows *r, size_t from, size_t to)
{
	struct view *v = r->v;

	for (; r->mark < v->marked && v->marks[r->mark].at <= to; r->mark++)
		v->marks[r->mark].at = rows_moved(r, v->marks[r->mark].at, from);
	for (; r->target < v->target_count && v->targets[r->target].at <= to; r->target++)
		v->targets[r->target].at = rows_moved(r, v->targets[r->target].at, from);
	buf_put(&r->out, str_part(buf_str(&v->out), from, to));
}

/* The length of a row: up to the last space that fits, else as much as fits, but at least a
 * character. */
static size_t rows_fitting(struct str line, size_t width)
{
	size_t n = utf8_head(line, width).n, blank = 0, space;
	uint32_t cp;

	if (n == line.n)
		return n;
	while (blank < n && line.p[blank] == ' ')
		blank++;
	for (space = n; space > blank && line.p[space] != ' '; space--)
		;
	if (space > blank)
		return space;
	return n ? n : utf8_decode(line, &cp) ? utf8_decode(line, &cp) : 1;
}

/* No reply begins a line like an error. If a line of a reply does, it is text that others wrote. */
static bool row_looks_like_error(struct str line)
{
	static const char *const words[] = { "error:", "warning:" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (line.n >= strlen(words[i]) && !strncasecmp(line.p, words[i], strlen(words[i])))
			return true;
	return false;
}

static bool view_has_error_like_row(struct str all)
{
	struct str line;

	while (str_next(&all, '\n', &line))
		if (row_looks_like_error(line))
			return true;
	return false;
}

static void rows_put_line(struct rows *r, struct str all, size_t from, size_t end)
{
	size_t width = r->v->terminal && r->v->width ? r->v->width : SIZE_MAX,
	       prefix = width < ROW_LEAST ? 2 : ROW_PREFIX,
	       rest = width > prefix ? width - prefix : 1;

	if (!r->v->message && row_looks_like_error(str_part(all, from, end))) {
		buf_pad(&r->out, ' ', 2);
		width = width > 2 ? width - 2 : 1;
	}
	for (;;) {
		struct str line = str_part(all, from, end);
		size_t n = rows_fitting(line, width);

		if (n == line.n)
			break;
		rows_copy(r, from, from + n);
		for (from += n; from < end && all.p[from] == ' ';)
			from++;
		if (from == end)
			return;
		buf_char(&r->out, '\n');
		buf_pad(&r->out, ' ', prefix - 2);
		buf_put(&r->out, STR(ROW_MARK));
		width = rest;
	}
	rows_copy(r, from, end);
}

/* Breaks the lines that are wider than the terminal, and indents those that look like an error. */
static void view_break(struct view *v)
{
	struct rows r = { .v = v, .out.mem = v->out.mem };
	struct str all = buf_str(&v->out);

	for (size_t at = 0; at < all.n;) {
		const char *newline = memchr(all.p + at, '\n', all.n - at);
		size_t end = newline ? (size_t)(newline - all.p) : all.n;

		rows_put_line(&r, all, at, end);
		if (newline)
			buf_char(&r.out, '\n');
		at = end + 1;
	}
	rows_copy(&r, all.n, all.n);
	v->out = r.out;
}

struct str view_text(struct view *v)
{
	struct buf b = { .mem = v->out.mem };
	struct str all;
	size_t from = 0;

	if ((v->terminal && v->width) || (!v->message && view_has_error_like_row(buf_str(&v->out))))
		view_break(v);
	all = buf_str(&v->out);
	if (!v->marked)
		return utf8_safe(v->out.mem, all);
	for (size_t i = 0; i < v->marked; i++) {
		struct str part = str_part(all, from, v->marks[i].at);

		buf_put(&b, utf8_safe(v->out.mem, part));
		buf_put(&b, str_of(codes[v->marks[i].paint]));
		from = v->marks[i].at;
	}
	buf_put(&b, utf8_safe(v->out.mem, str_skip(all, from)));
	return buf_str(&b);
}

/* --- the reply --- */

/* Makes text safe to show. Its lines end with a newline, and tabs are blanks. */
static struct str view_clean_text(struct arena *mem, struct str text)
{
	struct buf b = { .mem = mem };

	if (utf8_plain(text) == text.n)
		return text;
	for (size_t i = 0; i < text.n; i++) {
		char ch = text.p[i];

		if (ch == '\r' && i + 1 < text.n && text.p[i + 1] == '\n')
			continue;
		buf_char(&b, ch == '\t' ? ' ' : ch);
	}
	return utf8_safe(mem, buf_str(&b));
}

/* A text becomes one line. If that changes it, its only item is the whole text. */
static void clean_text(struct arena *mem, struct value *v)
{
	struct str whole;

	if (utf8_is_line(v->text))
		return;
	whole = view_clean_text(mem, v->text);
	v->text = utf8_line(mem, whole);
	if (v->text.p == whole.p)
		return;
	v->item = arena_new(mem, struct value);
	*v->item = (struct value){ .type = VALUE_STRING, .text = whole };
}

struct str view_whole(const struct value *text)
{
	return text && text->type == VALUE_STRING && text->item ? text->item->text :
								  value_text(text);
}

static void clean_all(struct arena *mem, struct value *v)
{
	v->key = utf8_line(mem, view_clean_text(mem, v->key));
	if (v->type == VALUE_STRING)
		clean_text(mem, v);
	for (size_t i = 0; i < v->count; i++)
		clean_all(mem, &v->item[i]);
}

const struct value *view_clean(struct view *v, const struct value *data)
{
	struct value *clean = arena_new(v->out.mem, struct value);

	*clean = *data;
	clean_all(v->out.mem, clean);
	return clean;
}

const struct value *view_parse(struct view *v, struct str reply)
{
	const struct value *data = value_read(v->out.mem, reply);

	return data ? view_clean(v, data) : NULL;
}

bool view_wants(const struct view *v, enum field_role role)
{
	return v->asked && request_bool(v->asked, role);
}

int view_choice(const struct view *v, enum field_role role)
{
	const int *at = v->asked ? request_value(v->asked, role) : NULL;

	return at ? *at : -1;
}

int64_t view_limit(const struct view *v)
{
	const int64_t *at = v->asked ? request_value(v->asked, ROLE_LIMIT) : NULL;

	return at ? *at : 0;
}

enum paint view_liveness(struct str liveness)
{
	switch (names_exact(&liveness_words, liveness)) {
	case LIVENESS_ACTIVE:
		return PAINT_GREEN;
	case LIVENESS_STALE:
		return PAINT_YELLOW;
	default:
		return PAINT_DIM;
	}
}

struct str view_age(struct view *v, struct str moment)
{
	static const struct {
		int64_t ms;
		const char *unit;
	} step[] = { { 86400000, "d" }, { 3600000, "h" }, { 60000, "m" } };
	int64_t then, age;

	if (!moment_parse(moment, &then))
		return moment;
	if (!then)
		return STR("-"); /* a record of another program without a time */
	age = v->now_ms - then;
	for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
		if (age >= step[i].ms)
			return arena_fmt(v->out.mem, "%" PRId64 "%s ago", age / step[i].ms,
					 step[i].unit);
	}
	if (-age >= 60000)
		return arena_fmt(v->out.mem, "in %s", duration_left(v->out.mem, -age).p);
	return STR("just now");
}

struct str view_short_age(struct view *v, struct str moment)
{
	struct str age = view_age(v, moment);

	if (str_is(age, "just now"))
		return STR("now");
	return str_ends(age, STR(" ago")) ? str_head(age, age.n - 4) : age;
}

/* The length of the next line: up to the last space that fits, or as much as fits. */
static size_t view_fitting(struct str line, size_t width)
{
	size_t n = utf8_head(line, width).n, space;

	if (n == line.n)
		return n;
	for (space = n; space > 0 && line.p[space] != ' '; space--)
		;
	if (space)
		return space;
	return n ? n : line.n;
}

static size_t wrap_width(const struct view *v, size_t used)
{
	enum { LEAST = 20 };

	return v->width > used + LEAST ? v->width - used : LEAST;
}

/* The first row is behind `indent` spaces, the others are behind `hang`. */
static void wrap_line(struct view *v, struct str line, size_t indent, size_t hang, struct str mark)
{
	do {
		size_t n = view_fitting(line, wrap_width(v, indent + mark.n));

		if (n)
			buf_pad(&v->out, ' ', indent);
		buf_put(&v->out, mark);
		buf_put(&v->out, str_head(line, n));
		buf_char(&v->out, '\n');
		line = str_skip(line, n);
		while (line.n && line.p[0] == ' ')
			line = str_skip(line, 1);
		indent = hang;
	} while (line.n);
}

static void view_wrap_marked(struct view *v, struct str text, size_t indent, struct str mark)
{
	struct str line;

	while (str_next(&text, '\n', &line))
		wrap_line(v, line, indent, indent, mark);
}

void view_wrap(struct view *v, struct str text, size_t indent)
{
	view_wrap_marked(v, text, indent, STR(""));
}

void view_hang(struct view *v, struct str text, size_t indent, size_t hang)
{
	wrap_line(v, text, indent, hang, STR(""));
}

void view_quote(struct view *v, struct str text)
{
	view_wrap_marked(v, text, 0, STR("> "));
}

void view_lines(struct view *v, struct str text)
{
	struct str line;

	while (str_next(&text, '\n', &line))
		view_line(v, STR_FMT, STR_ARG(line));
}

void view_each(struct view *v, const struct value *data,
	       void (*show)(struct view *v, const struct value *one))
{
	if (data->type != VALUE_ARRAY) {
		show(v, data);
		return;
	}
	VIEW_EACH(one, v, data)
		show(v, one);
}

struct str view_join(struct view *v, const struct value *list)
{
	struct buf b = { .mem = v->out.mem };

	VALUE_EACH(one, list)
		buf_fmt(&b, "%s" STR_FMT, b.n ? ", " : "", STR_ARG(one->text));
	return buf_str(&b);
}

struct str view_at_machine(struct view *v, const struct value *one, const char *key)
{
	struct str name = value_str(one, key), machine = value_str(one, "machine");

	return machine.p ?
		       arena_fmt(v->out.mem, STR_FMT "@" STR_FMT, STR_ARG(name), STR_ARG(machine)) :
		       name;
}
