/*
 * The text is never serialised again, only cut and spliced. `mark` is a copy in which comments are
 * overwritten, so that short loops can step from token to token at the same offsets. The loops need
 * no checks of their own, because value_parse() has accepted the text before.
 */
#include "hosts/jsonc.h"

#include <assert.h>

#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"

/* The bytes that overwrite comments; outside of strings no token contains them. */
enum { LINE = '#', BLOCK = '/' };

enum { VALUES_MOST = 262144 }; /* each takes many times the memory of its text */

struct jsonc_doc {
	struct str bom, text; /* the text without its byte order mark */
	struct str mark;
	struct str newline, unit; /* its line end, and one step of indentation */
	const struct value *root;
	size_t open; /* the offset of the root's brace */
};

struct jsonc_span {
	size_t from, to;
};

struct jsonc_member {
	size_t key, from, to; /* offsets of its key and of its value */
	size_t comma;         /* the offset of the comma after it; 0: none */
};

/* An object of the text, and the member that was looked for. */
struct place {
	const struct value *object, *value; /* value: NULL if it has no such member */
	size_t open, close;                 /* offsets of its braces */
	bool flat;                          /* its members do not have lines of their own */
	size_t keys;                        /* number of the path's keys up to the member */
	struct jsonc_member first, last, hit, before;
};

static bool is_space(char ch)
{
	return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n';
}

static bool jsonc_is_blank(struct str s)
{
	while (s.n && is_space(s.p[0]))
		s = str_skip(s, 1);
	return !s.n;
}

static bool jsonc_breaks(struct str s)
{
	return memchr(s.p, '\n', s.n) || memchr(s.p, '\r', s.n);
}

static size_t line_start(struct str s, size_t at)
{
	while (at && s.p[at - 1] != '\n')
		at--;
	return at;
}

/* The indentation of the line that contains `at`. */
static struct str indent_at(const struct jsonc_doc *d, size_t at)
{
	size_t from = line_start(d->text, at), to = from;

	while (to < d->text.n && (d->text.p[to] == ' ' || d->text.p[to] == '\t'))
		to++;
	return str_part(d->text, from, to);
}

static size_t jsonc_skip_blanks(struct str s, size_t at)
{
	while (at < s.n && (s.p[at] == ' ' || s.p[at] == '\t'))
		at++;
	return at;
}

static size_t skip_gap(struct str mark, size_t at)
{
	while (at < mark.n && (is_space(mark.p[at]) || mark.p[at] == LINE || mark.p[at] == BLOCK))
		at++;
	return at;
}

/* The offset after the last byte before `at` that is not white space. */
static size_t back_space(struct str mark, size_t at)
{
	while (at && is_space(mark.p[at - 1]))
		at--;
	return at;
}

static size_t string_end(struct str s, size_t at)
{
	for (at++; at < s.n && s.p[at] != '"'; at++)
		if (s.p[at] == '\\')
			at++;
	return at < s.n ? at + 1 : s.n;
}

static size_t scalar_end(struct str mark, size_t at)
{
	while (at < mark.n && !is_space(mark.p[at]) && !strchr(",]}#/", mark.p[at]))
		at++;
	return at;
}

static size_t value_end(struct str mark, size_t at)
{
	size_t depth = 0;

	if (!strchr("\"{[", mark.p[at]))
		return scalar_end(mark, at);
	do {
		char ch = mark.p[at];

		at = ch == '"' ? string_end(mark, at) : at + 1;
		if (ch == '{' || ch == '[')
			depth++;
		else if (ch == '}' || ch == ']')
			depth--;
	} while (depth && at < mark.n);
	return at;
}

/* Moves `at` past a comment that begins there; false if the comment is not closed. */
static bool jsonc_skip_comment(struct str s, size_t *at)
{
	struct str rest = str_skip(s, *at);
	size_t i = *at + 2;

	if (str_starts(rest, STR("//"))) {
		while (i < s.n && s.p[i] != '\n' && s.p[i] != '\r')
			i++;
		*at = i;
		return true;
	}
	if (!str_starts(rest, STR("/*")))
		return true;
	for (*at = i + 2; *at <= s.n; ++*at)
		if (s.p[*at - 2] == '*' && s.p[*at - 1] == '/')
			return true;
	return false;
}

/* The last tokens, to recognise a trailing comma. */
struct tail {
	char before, last;
	size_t at;
};

/* Overwrites the last comma with a blank if `ch` closes an object or a list. */
static void jsonc_pass(struct tail *t, char ch, size_t at, char *plain)
{
	if ((ch == '}' || ch == ']') && t->last == ',' && !strchr("{[,:", t->before))
		plain[t->at] = ' ';
	*t = (struct tail){ t->last, ch, at };
}

/*
 * Fills `mark`, and `plain`, which is strict JSON with the same offsets. False if the comment at
 * `*bad` is not closed.
 */
static bool jsonc_paint(struct str text, char *mark, char *plain, size_t *bad)
{
	struct tail tail = { .before = ',', .last = ',' };

	for (size_t at = 0, end = 0; at < text.n; at = end) {
		*bad = at;
		if (!jsonc_skip_comment(text, &end))
			return false;
		if (end > at) {
			memset(plain + at, ' ', end - at);
			memset(mark + at, text.p[at + 1] == '/' ? LINE : BLOCK, end - at);
			continue;
		}
		end = text.p[at] == '"' ? string_end(text, at) : at + 1;
		if (!is_space(text.p[at]))
			jsonc_pass(&tail, text.p[at], at, plain);
	}
	return true;
}

static enum err jsonc_refuse(struct call *c, const struct jsonc_doc *d, size_t at, const char *why)
{
	size_t line = 1;

	for (size_t i = 0; i < at && i < d->text.n; i++)
		line += d->text.p[i] == '\n';
	return call_fail(c, ERR_INVALID_INPUT, "line %zu: %s", line, why);
}

/* One step of indentation: that of the first indented line. */
static struct str unit_of(struct str plain)
{
	enum { WIDEST = 8 };
	struct str rest = plain, line;

	while (str_next(&rest, '\n', &line)) {
		size_t n = jsonc_skip_blanks(line, 0);

		if (!n || jsonc_is_blank(line))
			continue;
		if (line.p[0] == '\t')
			return str_head(line, 1);
		return n <= WIDEST ? str_head(line, n) : STR("  ");
	}
	return STR("  ");
}

static struct str bom_of(struct str text)
{
	return str_starts(text, STR("\xef\xbb\xbf")) ? str_head(text, 3) : STR("");
}

static enum err jsonc_open_doc(struct call *c, struct str text, struct jsonc_doc *d)
{
	struct str bom = bom_of(text), body = str_skip(text, bom.n);
	char *mark = memcpy(arena_alloc(&c->mem, body.n + 1), body.p, body.n);
	char *plain = memcpy(arena_alloc(&c->mem, body.n + 1), body.p, body.n);
	struct str strict = { plain, body.n };
	struct value_error wrong;
	size_t bad;

	*d = (struct jsonc_doc){ .bom = bom, .text = body, .mark = { mark, body.n } };
	if (!jsonc_paint(body, mark, plain, &bad))
		return jsonc_refuse(c, d, bad, "a comment is not closed");
	if (!(d->root = value_parse_bounded(&c->mem, strict, VALUES_MOST, &wrong)))
		return jsonc_refuse(c, d, wrong.offset, wrong.why);
	d->open = skip_gap(d->mark, 0);
	if (d->root->type != VALUE_OBJECT)
		return jsonc_refuse(c, d, d->open, "the document is not an object");
	d->newline = str_newline(body);
	d->unit = unit_of(strict);
	return ERR_OK;
}

/* Reads the member at `*at`; false at the closing brace. */
static bool next_member(const struct jsonc_doc *d, size_t *at, struct jsonc_member *m)
{
	struct str mark = d->mark;

	*at = skip_gap(mark, *at);
	if (mark.p[*at] == '}')
		return false;
	m->key = *at;
	m->from = skip_gap(mark, skip_gap(mark, string_end(mark, *at)) + 1);
	m->to = value_end(mark, m->from);
	*at = skip_gap(mark, m->to);
	m->comma = mark.p[*at] == ',' ? (*at)++ : 0;
	return true;
}

/* The object whose brace is at `open`, and its member `key`, if there is one. */
static struct place jsonc_look(const struct jsonc_doc *d, const struct value *object, size_t open,
			       const char *key)
{
	struct place p = { .object = object, .open = open, .close = open + 1 };
	struct jsonc_member m;

	for (size_t i = 0; next_member(d, &p.close, &m); i++) {
		if (!i)
			p.first = m;
		if (str_is(object->item[i].key, key)) {
			p.value = &object->item[i];
			p.hit = m;
			p.before = p.last;
		}
		p.last = m;
	}
	p.flat = object->count && !jsonc_breaks(str_part(d->text, open, p.first.key));
	return p;
}

/* Follows the first `n` keys as far as there are members for them. */
static enum err jsonc_follow(struct call *c, const struct jsonc_doc *d, const char *const *path,
			     size_t n, struct place *p)
{
	*p = jsonc_look(d, d->root, d->open, path[0]);
	p->keys = 1;
	while (p->value && p->keys < n) {
		struct place outer = *p;

		if (outer.value->type != VALUE_OBJECT)
			return jsonc_refuse(c, d, outer.hit.from,
					    "a value on the path is not an object");
		*p = jsonc_look(d, outer.value, outer.hit.from, path[outer.keys]);
		p->keys = outer.keys + 1;
		p->flat |= outer.flat && !p->object->count;
	}
	return ERR_OK;
}

static size_t path_length(const char *const *path)
{
	size_t n = 0;

	while (path[n])
		n++;
	assert(n);
	return n;
}

/* How a new value is laid out: on one line, or on lines that begin with `indent`. */
struct layout {
	struct buf out;
	struct str newline, unit, indent;
	bool flat;
};

static void jsonc_break_line(struct layout *l, size_t depth)
{
	if (l->flat)
		return;
	buf_put(&l->out, l->newline);
	buf_put(&l->out, l->indent);
	while (depth--)
		buf_put(&l->out, l->unit);
}

static void write_value(struct layout *l, const struct value *v, size_t depth);

static void write_member(struct layout *l, const struct value *v, size_t depth)
{
	struct json j = { .out = l->out };

	json_str(&j, v->key);
	l->out = j.out;
	buf_put(&l->out, STR(": "));
	write_value(l, v, depth);
}

static void write_items(struct layout *l, const struct value *v, size_t depth)
{
	bool object = v->type == VALUE_OBJECT;

	buf_char(&l->out, object ? '{' : '[');
	for (size_t i = 0; i < v->count; i++) {
		if (i)
			buf_put(&l->out, l->flat ? STR(", ") : STR(","));
		jsonc_break_line(l, depth + 1);
		(object ? write_member : write_value)(l, &v->item[i], depth + 1);
	}
	if (v->count)
		jsonc_break_line(l, depth);
	buf_char(&l->out, object ? '}' : ']');
}

static void write_value(struct layout *l, const struct value *v, size_t depth)
{
	if (v->type == VALUE_OBJECT || v->type == VALUE_ARRAY) {
		write_items(l, v, depth);
		return;
	}

	struct json j = { .out = l->out };

	json_value(&j, v);
	l->out = j.out;
}

/* A new output that begins with the text before `until`. */
static struct layout jsonc_begin(struct call *c, const struct jsonc_doc *d, size_t until)
{
	struct layout l = { .out.mem = &c->mem, .newline = d->newline, .unit = d->unit };

	buf_put(&l.out, d->bom);
	buf_put(&l.out, str_head(d->text, until));
	return l;
}

static struct str jsonc_finish(const struct jsonc_doc *d, struct layout *l, size_t from)
{
	buf_put(&l->out, str_skip(d->text, from));
	return buf_str(&l->out);
}

static struct str jsonc_replace(struct call *c, const struct jsonc_doc *d, const struct place *p,
				const struct value *v)
{
	struct layout l = jsonc_begin(c, d, p->hit.from);

	l.indent = indent_at(d, p->hit.key);
	l.flat = p->flat && l.indent.p + l.indent.n < d->text.p + p->hit.key;
	write_value(&l, v, 0);
	return jsonc_finish(d, &l, p->hit.to);
}

static struct str inner_indent(struct call *c, const struct jsonc_doc *d, const struct place *p)
{
	struct str outer = indent_at(d, p->open);

	if (p->object->count && !p->flat)
		return indent_at(d, p->first.key);
	return arena_fmt(&c->mem, STR_FMT STR_FMT, STR_ARG(outer), STR_ARG(d->unit));
}

/*
 * Puts a member into an empty object. The new lines replace the white space between the braces,
 * which would otherwise be trailing blanks or empty lines.
 */
static struct str jsonc_fill(struct call *c, const struct jsonc_doc *d, const struct place *p,
			     const struct value *v)
{
	struct layout l = jsonc_begin(c, d, p->open + 1);

	l.flat = p->flat;
	l.indent = inner_indent(c, d, p);
	jsonc_break_line(&l, 0);
	write_member(&l, v, 0);
	l.indent = indent_at(d, p->open);
	jsonc_break_line(&l, 0);
	return jsonc_finish(d, &l, p->close);
}

/*
 * Puts a member after the last member or comment; after a line comment it has to begin a new line.
 * If the last member has a trailing comma, the new one gets one too: jsonc_remove() sees by that
 * which of the two commas to remove.
 */
static struct str jsonc_append(struct call *c, const struct jsonc_doc *d, const struct place *p,
			       const struct value *v)
{
	size_t end = back_space(d->mark, p->close);
	size_t comma = p->object->count && !p->last.comma ? p->last.to : 0;
	struct layout l = jsonc_begin(c, d, comma ? comma : end);

	if (comma) {
		buf_char(&l.out, ',');
		buf_put(&l.out, str_part(d->text, comma, end));
	}
	l.flat = p->object->count ? p->flat && d->mark.p[end - 1] != LINE :
				    !jsonc_breaks(str_part(d->text, p->open, p->close));
	l.indent = inner_indent(c, d, p);
	if (l.flat)
		buf_char(&l.out, ' ');
	jsonc_break_line(&l, 0);
	write_member(&l, v, 0);
	if (p->last.comma)
		buf_char(&l.out, ',');
	return jsonc_finish(d, &l, end);
}

static struct str jsonc_insert(struct call *c, const struct jsonc_doc *d, const struct place *p,
			       const struct value *v)
{
	bool bare = back_space(d->mark, p->close) == p->open + 1;

	return (bare ? jsonc_fill : jsonc_append)(c, d, p, v);
}

/* Wraps `v` in an object for each key but the first. */
static const struct value *jsonc_wrap(struct arena *mem, const char *const *keys,
				      const struct value *v)
{
	struct value *member = arena_new(mem, struct value);

	*member = *v;
	for (size_t i = path_length(keys); i--;) {
		member->key = str_of(keys[i]);
		if (!i)
			break;

		struct value *outer = arena_new(mem, struct value);

		*outer = (struct value){ .type = VALUE_OBJECT, .count = 1, .item = member };
		member = outer;
	}
	return member;
}

static bool is_empty(struct str text)
{
	return !text.n || !str_trim(str_skip(text, bom_of(text).n)).n;
}

static struct str new_document(struct call *c, struct str text)
{
	struct str bom = bom_of(text);
	bool crlf = text.n && memchr(text.p, '\r', text.n);

	return arena_fmt(&c->mem, STR_FMT "{}%s", STR_ARG(bom), crlf ? "\r\n" : "\n");
}

static enum err jsonc_put_part(struct call *c, struct str text, const char *const *path,
			       struct str value, struct str *out)
{
	struct value_error wrong;
	const struct value *v = value_parse(&c->mem, value, &wrong);
	struct jsonc_doc d, done;
	struct place p;
	enum err e;

	if (!v)
		return call_fail(c, ERR_INVALID_INPUT, "the new value: %s", wrong.why);
	for (size_t i = 0; path[i]; i++)
		if (!utf8_valid(str_of(path[i])))
			return call_fail(c, ERR_INVALID_INPUT,
					 "the new key '%s' is not valid UTF-8", path[i]);
	if ((e = jsonc_open_doc(c, is_empty(text) ? new_document(c, text) : text, &d)) ||
	    (e = jsonc_follow(c, &d, path, path_length(path), &p)))
		return e;
	if (!p.value)
		*out = jsonc_insert(c, &d, &p, jsonc_wrap(&c->mem, path + p.keys - 1, v));
	else if (str_eq(json_canonical_text(&c->mem, p.value), json_canonical_text(&c->mem, v)))
		*out = text;
	else
		*out = jsonc_replace(c, &d, &p, v);

	/* The result may be nested too deeply. */
	return jsonc_open_doc(c, *out, &done);
}

enum err jsonc_put(struct call *c, struct str text, const char *const *path, struct str value,
		   struct str *out)
{
	struct call part = call_part(c);
	struct str made;
	enum err e = jsonc_put_part(&part, text, path, value, &made);

	if (!e)
		*out = arena_copy(&c->mem, made);
	return call_part_end(c, &part, e);
}

/* Whether the object would be empty without its member. */
static bool is_alone(const struct jsonc_doc *d, const struct place *p)
{
	size_t to = p->hit.comma ? p->hit.comma + 1 : p->hit.to;

	return p->object->count == 1 &&
	       jsonc_is_blank(str_part(d->mark, p->open + 1, p->hit.key)) &&
	       jsonc_is_blank(str_part(d->mark, p->hit.to, to - !!p->hit.comma)) &&
	       jsonc_is_blank(str_part(d->mark, to, p->close));
}

/* Whether only the brace on its own line follows `to`, as jsonc_fill() writes it. */
static bool is_filled(const struct jsonc_doc *d, const struct place *p, size_t to)
{
	struct str rest = str_part(d->text, to, p->close);

	return is_alone(d, p) && str_starts(rest, d->newline) &&
	       str_eq(str_skip(rest, d->newline.n), indent_at(d, p->open));
}

/*
 * The bytes of the member, with its line if the member is alone on it. The text after it must not
 * move onto the line of a line comment.
 */
static struct jsonc_span member_span(const struct jsonc_doc *d, const struct place *p, size_t to)
{
	struct str mark = d->mark;
	size_t key = p->hit.key, start = back_space(mark, key);
	size_t line = line_start(d->text, key), rest = jsonc_skip_blanks(mark, to);
	bool ends = mark.p[rest] == '\n' || mark.p[rest] == '\r';
	bool shares = !ends && (mark.p[rest] != '}' || mark.p[start - 1] == LINE);

	if (line <= start && mark.p[start - 1] != '{' && mark.p[start - 1] != LINE)
		return (struct jsonc_span){ start, to };
	if (line <= start || shares)
		return (struct jsonc_span){ key, rest };
	line -= line - start > 1 && mark.p[line - 2] == '\r' ? 2 : 1;
	return (struct jsonc_span){ line, is_filled(d, p, to) ? p->close : to };
}

/*
 * The text without the member and its comma: the one after it, or else the one before it. There
 * may be a comment between the member and its comma.
 */
static struct str jsonc_cut(struct call *c, const struct jsonc_doc *d, const struct place *p)
{
	size_t at = p->hit.comma ? p->hit.comma : p->before.comma;
	bool joined = p->hit.comma && jsonc_is_blank(str_part(d->mark, p->hit.to, at));
	struct jsonc_span member = member_span(d, p, joined ? at + 1 : p->hit.to);
	struct jsonc_span comma = { 0 };

	if (at && !joined)
		comma = (struct jsonc_span){ at, at + 1 };

	bool early = comma.from < member.from;
	struct jsonc_span first = early ? comma : member, second = early ? member : comma;
	struct layout l = jsonc_begin(c, d, first.from);

	buf_put(&l.out, str_part(d->text, first.to, second.from));
	return jsonc_finish(d, &l, second.to);
}

static enum err jsonc_remove_part(struct call *c, struct str text, const char *const *path,
				  struct str *out)
{
	size_t n = path_length(path);
	struct jsonc_doc d;
	struct place p;
	enum err e;

	*out = text;
	if (is_empty(text))
		return ERR_OK;
	if ((e = jsonc_open_doc(c, text, &d)) || (e = jsonc_follow(c, &d, path, n, &p)))
		return e;
	if (!p.value)
		return ERR_OK;
	while (n > 1 && is_alone(&d, &p))
		if ((e = jsonc_follow(c, &d, path, --n, &p)))
			return e;
	*out = jsonc_cut(c, &d, &p);
	return ERR_OK;
}

enum err jsonc_remove(struct call *c, struct str text, const char *const *path, struct str *out)
{
	struct call part = call_part(c);
	struct str made;
	enum err e = jsonc_remove_part(&part, text, path, &made);

	if (!e)
		*out = arena_copy(&c->mem, made);
	return call_part_end(c, &part, e);
}

enum err jsonc_find(struct call *c, struct str text, const char *const *path, struct str *out)
{
	struct jsonc_doc d;
	struct place p;
	enum err e;

	*out = STR_NONE;
	if (is_empty(text))
		return ERR_OK;
	if ((e = jsonc_open_doc(c, text, &d)) ||
	    (e = jsonc_follow(c, &d, path, path_length(path), &p)))
		return e;
	if (p.value)
		*out = str_part(d.text, p.hit.from, p.hit.to);
	return ERR_OK;
}

enum err jsonc_parse(struct call *c, struct str text, const struct value **out)
{
	struct jsonc_doc d;
	enum err e;

	*out = NULL;
	if (is_empty(text))
		return ERR_OK;
	if (!(e = jsonc_open_doc(c, text, &d)))
		*out = d.root;
	return e;
}
