/*
 * The text is divided into items of whole lines: blanks, comments, tables and pairs; a pair
 * includes all lines of its value. A section is one or more runs of items, since the subtables of a
 * table need not follow it directly. Blanks and comments after the last table or pair of a run
 * belong to the next header.
 */
#include "base/text/toml.h"

#include "base/buf.h"
#include "base/text/utf8.h"

enum {
	NESTED = 100,        /* maximum nesting of brackets; maximum parts of a key */
	ITEMS_MOST = 262144, /* each item takes many times the memory of a line */
};

enum kind { BLANK, COMMENT, PAIR, TABLE, TABLES };

/* A part of a dotted key, without its quotes; `escapes`: it had double quotes. */
struct part {
	struct str raw;
	bool escapes;
};

struct key {
	struct part *part;
	size_t count;
};

struct toml_item {
	enum kind kind;
	size_t from, to; /* including the end of its last line */
	size_t line;
	struct key key;
};

struct toml_doc {
	struct call *c;
	struct str text, newline;
	size_t start;    /* after a byte order mark */
	size_t at, line; /* how far the text is divided */
	struct toml_item *item;
	size_t count, cap;
};

/* A run of items that belong to the section, beginning with a header. */
struct toml_run {
	size_t first, last;
};

struct section {
	struct toml_run *run;
	size_t count;
};

static enum err toml_refuse(struct call *c, size_t line, const char *why)
{
	return call_fail(c, ERR_INVALID_INPUT, "line %zu: %s", line, why);
}

static bool toml_more(const struct toml_doc *d)
{
	return d->at < d->text.n;
}

/* The byte at an offset of n; NUL after the end. */
static char toml_peek(const struct toml_doc *d, size_t n)
{
	return d->at + n < d->text.n ? d->text.p[d->at + n] : '\0';
}

static void toml_skip_blanks(struct toml_doc *d)
{
	while (toml_peek(d, 0) == ' ' || toml_peek(d, 0) == '\t')
		d->at++;
}

static void toml_skip_comment(struct toml_doc *d)
{
	while (toml_more(d) && toml_peek(d, 0) != '\n')
		d->at++;
}

static bool at_break(const struct toml_doc *d)
{
	return toml_peek(d, 0) == '\n' || (toml_peek(d, 0) == '\r' && toml_peek(d, 1) == '\n');
}

static void take_break(struct toml_doc *d)
{
	if (!toml_more(d))
		return;
	d->at += toml_peek(d, 0) == '\r' ? 2 : 1;
	d->line++;
}

static bool is_quote(char ch)
{
	return ch == '"' || ch == '\'';
}

static enum err scan_short_string(struct toml_doc *d)
{
	char quote = toml_peek(d, 0);

	for (d->at++; toml_more(d) && !at_break(d); d->at++) {
		if (toml_peek(d, 0) == quote) {
			d->at++;
			return ERR_OK;
		}
		if (quote == '"' && toml_peek(d, 0) == '\\' && toml_peek(d, 1) != '\n')
			d->at++;
	}
	return toml_refuse(d->c, d->line, "a string is not closed");
}

static bool at_triple(const struct toml_doc *d, char quote)
{
	return toml_peek(d, 0) == quote && toml_peek(d, 1) == quote && toml_peek(d, 2) == quote;
}

static enum err scan_long_string(struct toml_doc *d)
{
	char quote = toml_peek(d, 0);
	size_t line = d->line;

	for (d->at += 3; toml_more(d); d->at++) {
		if (at_triple(d, quote)) {
			/* Up to two more quotes belong to the string. */
			d->at += 3;
			for (int i = 0; i < 2 && toml_peek(d, 0) == quote; i++)
				d->at++;
			return ERR_OK;
		}
		if (quote == '"' && toml_peek(d, 0) == '\\')
			d->at++;
		d->line += toml_peek(d, 0) == '\n';
	}
	return toml_refuse(d->c, line, "a string is not closed");
}

static enum err scan_string(struct toml_doc *d)
{
	return at_triple(d, toml_peek(d, 0)) ? scan_long_string(d) : scan_short_string(d);
}

/* The closing characters of the open brackets. */
struct nest {
	char close[NESTED];
	size_t depth;
};

static enum err scan_bracket(struct toml_doc *d, struct nest *nest)
{
	char ch = toml_peek(d, 0);

	d->at++;
	if (ch == '[' || ch == '{') {
		if (nest->depth == NESTED)
			return toml_refuse(d->c, d->line, "nested too deep");
		nest->close[nest->depth++] = ch == '[' ? ']' : '}';
		return ERR_OK;
	}
	if (!nest->depth || nest->close[--nest->depth] != ch)
		return toml_refuse(d->c, d->line, "a closing bracket has no opening one");
	return ERR_OK;
}

/* Skips one byte of a value, or a whole string or comment. */
static enum err scan_token(struct toml_doc *d, struct nest *nest)
{
	char ch = toml_peek(d, 0);

	if (is_quote(ch))
		return scan_string(d);
	if (ch && strchr("[]{}", ch))
		return scan_bracket(d, nest);
	if (ch == '#')
		toml_skip_comment(d);
	else if (at_break(d))
		take_break(d);
	else
		d->at++;
	return ERR_OK;
}

/* Skips a value up to the end of the line on which all brackets are closed. */
static enum err scan_value(struct toml_doc *d)
{
	struct nest nest = { .depth = 0 };
	size_t line = d->line;
	enum err e;

	toml_skip_blanks(d);
	if (!toml_more(d) || at_break(d) || strchr("#=,", toml_peek(d, 0)))
		return toml_refuse(d->c, line, "a value is missing");
	while (toml_more(d) && (nest.depth || !at_break(d)))
		if ((e = scan_token(d, &nest)))
			return e;
	return nest.depth ? toml_refuse(d->c, line, "a bracket is not closed") : ERR_OK;
}

static bool toml_is_bare(char ch)
{
	return (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z') ||
	       ch == '_' || ch == '-';
}

static enum err scan_part(struct toml_doc *d, struct part *part)
{
	size_t from = d->at;
	enum err e;

	if (is_quote(toml_peek(d, 0))) {
		if ((e = scan_short_string(d)))
			return e;
		part->raw = str_part(d->text, from + 1, d->at - 1);
		part->escapes = d->text.p[from] == '"';
		return ERR_OK;
	}
	while (toml_is_bare(toml_peek(d, 0)))
		d->at++;
	part->raw = str_part(d->text, from, d->at);
	return part->raw.n ? ERR_OK : toml_refuse(d->c, d->line, "a key is missing");
}

static void add_part(struct arena *mem, struct key *key, struct part part)
{
	size_t size = key->count * sizeof part;

	key->part = arena_grow(mem, key->part, size, size + sizeof part);
	key->part[key->count++] = part;
}

static enum err scan_key(struct toml_doc *d, struct key *key)
{
	enum err e;

	for (;;) {
		struct part part = { 0 };

		toml_skip_blanks(d);
		if ((e = scan_part(d, &part)))
			return e;
		if (key->count == NESTED)
			return toml_refuse(d->c, d->line, "a key has too many parts");
		add_part(&d->c->mem, key, part);
		toml_skip_blanks(d);
		if (toml_peek(d, 0) != '.')
			return ERR_OK;
		d->at++;
	}
}

static enum err scan_table(struct toml_doc *d, struct toml_item *item)
{
	size_t brackets = toml_peek(d, 1) == '[' ? 2 : 1;
	enum err e;

	item->kind = brackets == 2 ? TABLES : TABLE;
	d->at += brackets;
	if ((e = scan_key(d, &item->key)))
		return e;
	for (; brackets && toml_peek(d, 0) == ']'; brackets--)
		d->at++;
	toml_skip_blanks(d);
	if (toml_peek(d, 0) == '#')
		toml_skip_comment(d);
	if (brackets || (toml_more(d) && !at_break(d)))
		return toml_refuse(d->c, d->line, "not a table header");
	return ERR_OK;
}

static enum err scan_pair(struct toml_doc *d, struct toml_item *item)
{
	enum err e;

	item->kind = PAIR;
	if ((e = scan_key(d, &item->key)))
		return e;
	if (toml_peek(d, 0) != '=')
		return toml_refuse(d->c, d->line, "an equals sign is missing");
	d->at++;
	return scan_value(d);
}

static enum err scan_item(struct toml_doc *d, struct toml_item *item)
{
	enum err e = ERR_OK;

	*item = (struct toml_item){ .kind = BLANK, .from = d->at, .line = d->line };
	toml_skip_blanks(d);
	if (toml_peek(d, 0) == '#') {
		item->kind = COMMENT;
		toml_skip_comment(d);
	} else if (toml_peek(d, 0) == '[') {
		e = scan_table(d, item);
	} else if (toml_more(d) && !at_break(d)) {
		e = scan_pair(d, item);
	}
	if (e)
		return e;
	take_break(d);
	item->to = d->at;
	return ERR_OK;
}

static void add_item(struct toml_doc *d, struct toml_item item)
{
	if (d->count == d->cap) {
		size_t old = d->cap;

		d->cap = old ? old * 2 : 32;
		d->item =
			arena_stretch(&d->c->mem, d->item, old * sizeof item, d->cap * sizeof item);
	}
	d->item[d->count++] = item;
}

/* A lone carriage return does not end a line, but would if a line feed were written after it. */
static enum err check_returns(const struct toml_doc *d)
{
	size_t line = 1;

	for (size_t i = 0; i < d->text.n; i++) {
		line += d->text.p[i] == '\n';
		if (d->text.p[i] == '\r' && (i + 1 == d->text.n || d->text.p[i + 1] != '\n'))
			return toml_refuse(d->c, line, "a carriage return without a line feed");
	}
	return ERR_OK;
}

static enum err toml_open_doc(struct call *c, struct str text, struct toml_doc *d)
{
	struct toml_item item;
	enum err e;

	*d = (struct toml_doc){ .c = c, .text = text.p ? text : STR(""), .line = 1 };
	d->newline = str_newline(d->text);
	if (str_starts(d->text, STR("\xef\xbb\xbf")))
		d->at = d->start = 3;
	while (toml_more(d)) {
		if (d->count == ITEMS_MOST)
			return toml_refuse(c, d->line, "the file has too many lines");
		if ((e = scan_item(d, &item)))
			return e;
		add_item(d, item);
	}
	return check_returns(d);
}

/* Reads the number after `\u` or `\U`, of `digits` digits; fewer digits are accepted. */
static uint32_t take_hex(struct str *rest, size_t digits)
{
	uint32_t cp = 0;

	for (; digits && rest->n; digits--, *rest = str_skip(*rest, 1)) {
		char ch = rest->p[0], lower = (char)(ch | 0x20);

		if (ch >= '0' && ch <= '9')
			cp = cp << 4 | (uint32_t)(ch - '0');
		else if (lower >= 'a' && lower <= 'f')
			cp = cp << 4 | (uint32_t)(lower - 'a' + 10);
		else
			break;
	}
	return cp;
}

static uint32_t take_escape(struct str *rest)
{
	static const char plain[] = "btnfre", meant[] = "\b\t\n\f\r\x1b";
	char ch = rest->p[1];
	const char *found = memchr(plain, ch, sizeof plain - 1);

	*rest = str_skip(*rest, 2);
	if (ch == 'x' || ch == 'u' || ch == 'U')
		return take_hex(rest, ch == 'x' ? 2 : ch == 'u' ? 4 : 8);
	return (uint32_t)(found ? meant[found - plain] : ch);
}

/* Removes one character from the front of a part. */
static uint32_t take_char(struct part *part)
{
	uint32_t cp = 0;
	size_t n;

	if (part->escapes && part->raw.n > 1 && part->raw.p[0] == '\\')
		return take_escape(&part->raw);
	if (!(n = utf8_decode(part->raw, &cp))) {
		cp = UINT32_MAX - (unsigned char)part->raw.p[0];
		n = 1;
	}
	part->raw = str_skip(part->raw, n);
	return cp;
}

static bool part_eq(struct part a, struct part b)
{
	while (a.raw.n && b.raw.n)
		if (take_char(&a) != take_char(&b))
			return false;
	return a.raw.n == b.raw.n;
}

/* Do `table` with `key` below it and `path` agree, as far as both go? */
static bool toml_agree(struct key table, struct key key, struct key path)
{
	for (size_t i = 0; i < path.count && i < table.count + key.count; i++) {
		struct part part = i < table.count ? table.part[i] : key.part[i - table.count];

		if (!part_eq(part, path.part[i]))
			return false;
	}
	return true;
}

static bool is_header(const struct toml_item *item)
{
	return item->kind == TABLE || item->kind == TABLES;
}

static bool toml_is_below(struct key key, struct key path)
{
	return key.count >= path.count && toml_agree(key, (struct key){ 0 }, path);
}

static bool is_head(const struct toml_item *item, struct key path)
{
	return item->kind == TABLE && item->key.count == path.count &&
	       toml_is_below(item->key, path);
}

/*
 * Does the item define the path in another form than one table? `table` is the header above the
 * item.
 */
static bool is_other_form(const struct toml_item *item, struct key table, struct key path)
{
	if (item->kind == TABLES)
		return item->key.count <= path.count &&
		       toml_agree(item->key, (struct key){ 0 }, path);
	return item->kind == PAIR && !toml_is_below(table, path) &&
	       toml_agree(table, item->key, path);
}

static enum err check_forms(const struct toml_doc *d, struct key path)
{
	struct key table = { 0 };
	bool seen = false;

	for (size_t i = 0; i < d->count; i++) {
		const struct toml_item *item = &d->item[i];

		if (is_other_form(item, table, path))
			return toml_refuse(d->c, item->line, "the section exists in another form");
		if (seen && is_head(item, path))
			return toml_refuse(d->c, item->line, "the section exists twice");
		seen |= is_head(item, path);
		if (is_header(item))
			table = item->key;
	}
	return ERR_OK;
}

static void find_runs(const struct toml_doc *d, struct key path, struct section *s)
{
	bool inside = false;

	*s = (struct section){ .run = arena_array(&d->c->mem, d->count, sizeof *s->run) };
	for (size_t i = 0; i < d->count; i++) {
		const struct toml_item *item = &d->item[i];
		bool below = is_header(item) && toml_is_below(item->key, path);

		if (below && !inside)
			s->run[s->count++] = (struct toml_run){ i, i };
		if (is_header(item))
			inside = below;
		if (inside && (below || item->kind == PAIR))
			s->run[s->count - 1].last = i;
	}
}

static enum err parse_header(struct call *c, struct str header, struct key *path)
{
	struct toml_doc d = { .c = c, .text = header, .line = 1 };

	*path = (struct key){ 0 };
	if (!header.n || scan_key(&d, path) || toml_more(&d))
		return call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a key",
				 STR_ARG(header));
	return ERR_OK;
}

static enum err toml_survey(struct call *c, struct str text, struct str header, struct toml_doc *d,
			    struct key *path, struct section *s)
{
	enum err e;

	if ((e = parse_header(c, header, path)) || (e = toml_open_doc(c, text, d)) ||
	    (e = check_forms(d, *path)))
		return e;
	find_runs(d, *path, s);
	return ERR_OK;
}

static struct str without_break(struct str s)
{
	if (str_ends(s, STR("\n")))
		s.n--;
	if (str_ends(s, STR("\r")))
		s.n--;
	return s;
}

/* The body up to its last table or pair; absent if it has neither. */
static enum err check_body(struct call *c, struct str body, struct key path, struct str *out)
{
	struct toml_doc d;
	enum err e;

	*out = STR_NONE;
	if ((e = toml_open_doc(c, body, &d)))
		return e;
	for (size_t i = 0; i < d.count; i++) {
		const struct toml_item *item = &d.item[i];

		if (is_header(item) &&
		    (item->key.count == path.count || !toml_is_below(item->key, path)))
			return toml_refuse(c, item->line,
					   "the body has a table of another section");
		if (is_header(item) || item->kind == PAIR)
			*out = without_break(str_head(body, item->to));
	}
	return ERR_OK;
}

static struct str item_text(const struct toml_doc *d, size_t i)
{
	return str_part(d->text, d->item[i].from, d->item[i].to);
}

/* Does the run end at the end of the text, without a line end? */
static bool is_open_ended(const struct toml_doc *d, struct toml_run run)
{
	return !str_ends(item_text(d, run.last), STR("\n"));
}

/* Writes `head` and the body's lines; the last line gets a line end only if `ended`. */
static void write_section(struct buf *out, struct str newline, struct str head, struct str body,
			  bool ended)
{
	struct str line;

	buf_put(out, head);
	while (str_next(&body, '\n', &line)) {
		buf_put(out, newline);
		buf_put(out, without_break(line));
	}
	if (ended)
		buf_put(out, newline);
}

/*
 * Where to cut the text to remove a run. The blank line before the run is removed too, unless it
 * separates the remaining parts; and so is the line end that toml_put() added to a file without
 * one.
 */
static size_t cut_from(const struct toml_doc *d, struct toml_run run)
{
	size_t next = run.last + 1, i = run.first;

	if (!i || d->item[i - 1].kind != BLANK || (next < d->count && d->item[next].kind != BLANK))
		return d->item[i].from;
	i--;
	if (i && is_open_ended(d, run))
		return d->item[i].from -
		       (item_text(d, i - 1).n - without_break(item_text(d, i - 1)).n);
	return d->item[i].from;
}

/* Appends the text after `from`, without the runs from the nth one on. */
static struct str toml_finish(struct buf *out, const struct toml_doc *d, const struct section *s,
			      size_t nth, size_t from)
{
	for (; nth < s->count; nth++) {
		buf_put(out, str_part(d->text, from, cut_from(d, s->run[nth])));
		from = d->item[s->run[nth].last].to;
	}
	buf_put(out, str_skip(d->text, from));
	return buf_str(out);
}

/* The new section replaces the first run; an existing header keeps its spelling. */
static struct str toml_replace(const struct toml_doc *d, const struct section *s, struct key path,
			       struct str head, struct str body)
{
	struct buf out = { .mem = &d->c->mem };
	struct toml_run run = s->run[0];

	if (is_head(&d->item[run.first], path))
		head = without_break(item_text(d, run.first));
	buf_put(&out, str_head(d->text, d->item[run.first].from));
	write_section(&out, d->newline, head, body, !is_open_ended(d, run));
	return toml_finish(&out, d, s, 1, d->item[run.last].to);
}

/* Appends after the last line that is not blank; blank lines stay at the end of the text. */
static struct str toml_append(const struct toml_doc *d, const struct section *s, struct str head,
			      struct str body)
{
	struct buf out = { .mem = &d->c->mem };
	size_t i = d->count;
	bool ended = true;

	while (i && d->item[i - 1].kind == BLANK)
		i--;

	size_t at = i ? d->item[i - 1].to : d->start;

	buf_put(&out, str_head(d->text, at));
	if (i) {
		ended = str_ends(item_text(d, i - 1), STR("\n"));
		buf_put(&out, d->newline);
		if (!ended)
			buf_put(&out, d->newline);
	}
	write_section(&out, d->newline, head, body, ended);
	return toml_finish(&out, d, s, 0, at);
}

static enum err toml_put_part(struct call *c, struct str text, struct str header, struct str body,
			      struct str *out)
{
	struct toml_doc d;
	struct key path;
	struct section s;
	struct str lines, head = arena_fmt(&c->mem, "[" STR_FMT "]", STR_ARG(header));
	enum err e;

	if ((e = toml_survey(c, text, header, &d, &path, &s)) ||
	    (e = check_body(c, body, path, &lines)))
		return e;
	*out = s.count ? toml_replace(&d, &s, path, head, lines) : toml_append(&d, &s, head, lines);
	return ERR_OK;
}

enum err toml_put(struct call *c, struct str text, struct str header, struct str body,
		  struct str *out)
{
	struct call part = call_part(c);
	struct str made;
	enum err e = toml_put_part(&part, text, header, body, &made);

	if (!e)
		*out = arena_copy(&c->mem, made);
	return call_part_end(c, &part, e);
}

enum err toml_remove(struct call *c, struct str text, struct str header, struct str *out)
{
	struct call part = call_part(c);
	struct toml_doc d;
	struct key path;
	struct section s;
	struct buf rest = { .mem = &c->mem };
	enum err e = toml_survey(&part, text, header, &d, &path, &s);

	if (!e)
		*out = s.count ? toml_finish(&rest, &d, &s, 0, 0) : text;
	return call_part_end(c, &part, e);
}

enum err toml_find(struct call *c, struct str text, struct str header, struct str *out)
{
	struct call part = call_part(c);
	struct toml_doc d;
	struct key path;
	struct section s;
	enum err e = toml_survey(&part, text, header, &d, &path, &s);

	*out = STR_NONE;
	if (!e && s.count)
		*out = str_part(d.text, d.item[s.run[0].first].to, d.item[s.run[0].last].to);
	return call_part_end(c, &part, e);
}
