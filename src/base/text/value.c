/*
 * A recursive descent parser. Each function takes the position of its part and returns the position
 * after it, or NULL. Values are collected on one stack: the value being read is on top, and when an
 * array or object closes, its items are moved from above it to the arena, so that they are
 * contiguous.
 */
#include "base/text/value.h"

#include <limits.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/text/utf8.h"

enum {
	FEW_VALUES = 48, /* values on the C stack, before memory is allocated */
	FEW_KEYS = 32,   /* up to this many keys are compared pairwise instead of sorted */
};

struct value_parser {
	struct arena *mem;
	const char *end;
	struct value *stack, *few;
	size_t used, cap;
	size_t left; /* how many more values the text may have */
	unsigned depth;
	const char *why, *where;
};

static const char *value_refuse(struct value_parser *ps, const char *where, const char *why)
{
	ps->why = why;
	ps->where = where;
	return NULL;
}

static const char *skip_space(const struct value_parser *ps, const char *p)
{
	while (p < ps->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

static const char *parse_word(struct value_parser *ps, const char *p, struct str word)
{
	if (!str_starts((struct str){ p, (size_t)(ps->end - p) }, word))
		return value_refuse(ps, p, "not a JSON value");
	return p + word.n;
}

static const char *skip_digits(const struct value_parser *ps, const char *p)
{
	while (p < ps->end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Reads the digits that must follow a sign, a point or an E. */
static const char *need_digits(struct value_parser *ps, const char *p)
{
	const char *after = skip_digits(ps, p);

	return after > p ? after : value_refuse(ps, p, "a digit is missing in a number");
}

static const char *parse_number(struct value_parser *ps, const char *p, struct value *v)
{
	const char *from = p, *whole = p + (*p == '-');

	if (!(p = need_digits(ps, whole)))
		return NULL;
	if (*whole == '0' && p > whole + 1)
		return value_refuse(ps, whole + 1, "a number begins with a zero");
	if (p < ps->end && *p == '.' && !(p = need_digits(ps, p + 1)))
		return NULL;
	if (p < ps->end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < ps->end && (*p == '+' || *p == '-'))
			p++;
		if (!(p = need_digits(ps, p)))
			return NULL;
	}
	if (p - from > VALUE_NUMBER_MOST)
		return value_refuse(ps, from, "a number is too long");
	v->type = VALUE_NUMBER;
	v->text = (struct str){ from, (size_t)(p - from) };
	return p;
}

static const char *parse_hex4(struct value_parser *ps, const char *p, uint32_t *out)
{
	*out = 0;
	for (int i = 0; i < 4; i++, p++) {
		char ch = p < ps->end ? *p : '"', lower = (char)(ch | 0x20);

		if (ch >= '0' && ch <= '9')
			*out = *out << 4 | (uint32_t)(ch - '0');
		else if (lower >= 'a' && lower <= 'f')
			*out = *out << 4 | (uint32_t)(lower - 'a' + 10);
		else
			return value_refuse(ps, p, "a \\u escape is not four hexadecimal digits");
	}
	return p;
}

/* Parses the digits after "\u"; a surrogate pair takes two escapes. */
static const char *parse_unicode(struct value_parser *ps, const char *p, char **out)
{
	const char *from = p - 2;
	uint32_t cp, low;

	if (!(p = parse_hex4(ps, p, &cp)))
		return NULL;
	if (cp >= 0xdc00 && cp <= 0xdfff)
		return value_refuse(ps, from, "a low surrogate without a high one");
	if (cp >= 0xd800 && cp <= 0xdbff) {
		if (ps->end - p < 2 || p[0] != '\\' || p[1] != 'u')
			return value_refuse(ps, from, "a high surrogate without a low one");
		if (!(p = parse_hex4(ps, p + 2, &low)))
			return NULL;
		if (low < 0xdc00 || low > 0xdfff)
			return value_refuse(ps, from, "a high surrogate without a low one");
		cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
	}
	*out = utf8_encode(*out, cp);
	return p;
}

/* Parses an escape at a backslash. The string is known to be closed, so a byte follows. */
static const char *value_parse_escape(struct value_parser *ps, const char *p, char **out)
{
	static const char meant[UCHAR_MAX + 1] = {
		['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
		['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
	};
	char ch = meant[(unsigned char)p[1]];

	if (p[1] == 'u')
		return parse_unicode(ps, p + 2, out);
	if (!ch)
		return value_refuse(ps, p, "an unknown escape in a string");
	*(*out)++ = ch;
	return p + 2;
}

/*
 * Tests eight bytes at once. The result has the high bit set for each byte that is not literal in a
 * string (a control, a quote, a backslash, or not ASCII); it may be wrong for bytes after the first
 * such byte, but not before it. The XOR with 2 moves the quote next to the controls, so that one
 * subtraction finds both.
 */
static const uint64_t ones = UINT64_C(0x0101010101010101);

static uint64_t value_stops(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;
	uint64_t w = (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 |
		     (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 |
		     (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
	uint64_t low = (w ^ ones * 2) - ones * 0x21, slash = (w ^ ones * '\\') - ones;

	return (w | low | slash) & ones << 7;
}

/* The number of bytes before the first set high bit. */
static size_t value_before(uint64_t stop)
{
	return (((stop - 1) & ~stop & ones) * ones >> 56) - 1;
}

/* Skips literal characters. */
static inline const char *skip_plain(const char *p, const char *end)
{
	for (; end - p >= 8; p += 8) {
		uint64_t stop = value_stops(p);

		if (stop)
			return p + value_before(stop);
	}
	while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' &&
	       *p != '\\')
		p++;
	return p;
}

/* Finds the closing quote of a string; the meaning of escapes is not checked here. */
static const char *value_skip_string(struct value_parser *ps, const char *p, const char **slash)
{
	for (;;) {
		uint32_t cp;
		size_t n = 2;

		p = skip_plain(p, ps->end);
		if (p == ps->end)
			return value_refuse(ps, p, "a string is not closed");
		if (*p == '"')
			return p;
		if ((unsigned char)*p < 0x20)
			return value_refuse(ps, p, "a control character in a string");
		if (*p == '\\')
			*slash = *slash ? *slash : p;
		else if (!(n = utf8_decode((struct str){ p, (size_t)(ps->end - p) }, &cp)))
			return value_refuse(ps, p, "not UTF-8");
		if ((size_t)(ps->end - p) < n)
			return value_refuse(ps, ps->end, "a string is not closed");
		p += n;
	}
}

/*
 * An escape is never shorter than its character, so the length of the escaped text is enough room.
 */
static bool value_unescape(struct value_parser *ps, struct str s, const char *slash,
			   struct str *out)
{
	const char *p = s.p, *end = s.p + s.n;
	char *copy = arena_grow(ps->mem, NULL, 0, s.n), *at = copy;

	for (; slash; slash = memchr(p, '\\', (size_t)(end - p))) {
		memcpy(at, p, (size_t)(slash - p));
		at += slash - p;
		if (!(p = value_parse_escape(ps, slash, &at)))
			return false;
	}
	memcpy(at, p, (size_t)(end - p));
	at += end - p;
	*out = (struct str){ copy, (size_t)(at - copy) };
	return true;
}

/* Parses a string from `p` on, where its first escape or non-ASCII character is. */
static const char *parse_hard_string(struct value_parser *ps, const char *from, const char *p,
				     struct str *out)
{
	const char *slash = NULL;

	if (!(p = value_skip_string(ps, p, &slash)))
		return NULL;
	*out = (struct str){ from, (size_t)(p - from) };
	if (slash && !value_unescape(ps, *out, slash, out))
		return NULL;
	return p + 1;
}

static inline const char *parse_string(struct value_parser *ps, const char *p, struct str *out)
{
	const char *from = p + 1;

	p = skip_plain(from, ps->end);
	if (p == ps->end || *p != '"')
		return parse_hard_string(ps, from, p, out);
	*out = (struct str){ from, (size_t)(p - from) };
	return p + 1;
}

static void value_grow(struct value_parser *ps)
{
	struct value *more = malloc(2 * ps->cap * sizeof *more);

	if (!more)
		abort();
	memcpy(more, ps->stack, ps->used * sizeof *more);
	if (ps->stack != ps->few)
		free(ps->stack);
	ps->stack = more;
	ps->cap *= 2;
}

static struct value *value_push(struct value_parser *ps)
{
	if (ps->used == ps->cap)
		value_grow(ps);

	struct value *v = &ps->stack[ps->used++];

	*v = (struct value){ 0 };
	return v;
}

static int value_by_key(const void *a, const void *b)
{
	return str_cmp(((const struct value *)a)->key, ((const struct value *)b)->key);
}

/* Sorts the keys, so that no input takes quadratic time. */
static bool repeats_among_many(struct value_parser *ps, const struct value *item, size_t count)
{
	struct arena before = arena_mark(ps->mem);
	struct value *copy = arena_grow(ps->mem, NULL, 0, count * sizeof *copy);
	bool repeats = false;

	memcpy(copy, item, count * sizeof *copy);
	qsort(copy, count, sizeof *copy, value_by_key);
	for (size_t i = 1; i < count && !repeats; i++)
		repeats = str_eq(copy[i - 1].key, copy[i].key);
	arena_rewind(ps->mem, before);
	return repeats;
}

/* Do two members have the same key? A bit set of lengths and first bytes rules most repeats out. */
static bool value_repeats(struct value_parser *ps, const struct value *item, size_t count)
{
	uint64_t seen = 0;

	if (count > FEW_KEYS)
		return repeats_among_many(ps, item, count);
	for (size_t i = 0; i < count; i++) {
		struct str key = item[i].key;
		size_t mark = key.n ? key.n * 7 + (unsigned char)key.p[0] : 0;
		uint64_t bit = UINT64_C(1) << mark % 64;

		for (size_t k = 0; (seen & bit) && k < i; k++)
			if (str_eq(key, item[k].key))
				return true;
		seen |= bit;
	}
	return false;
}

static const char *value_parse_value(struct value_parser *ps, const char *p, struct value *v);

static const char *parse_member(struct value_parser *ps, const char *p, struct value *v)
{
	p = skip_space(ps, p);
	if (p == ps->end || *p != '"')
		return value_refuse(ps, p, "a key is missing");
	if (!(p = parse_string(ps, p, &v->key)))
		return NULL;
	p = skip_space(ps, p);
	if (p == ps->end || *p != ':')
		return value_refuse(ps, p, "a colon is missing");
	return value_parse_value(ps, p + 1, v);
}

/* Parses the items after the opening bracket; they are left on the stack. */
static const char *parse_items(struct value_parser *ps, const char *p, bool object)
{
	char close = object ? '}' : ']';

	p = skip_space(ps, p);
	if (p < ps->end && *p == close)
		return p + 1;
	for (;; p++) {
		struct value *v;

		if (!ps->left--)
			return value_refuse(ps, p, "too many values");
		v = value_push(ps);
		if (!(p = object ? parse_member(ps, p, v) : value_parse_value(ps, p, v)))
			return NULL;
		p = skip_space(ps, p);
		if (p == ps->end)
			return value_refuse(ps, p, "an array or object is not closed");
		if (*p == close)
			return p + 1;
		if (*p != ',')
			return value_refuse(ps, p, "a comma is missing");
	}
}

/* The value is on top of the stack, and may move while its items are read. */
static const char *parse_container(struct value_parser *ps, const char *p, bool object)
{
	size_t base = ps->used;

	if (ps->depth == VALUE_DEPTH)
		return value_refuse(ps, p, "nested too deep");
	ps->depth++;
	if (!(p = parse_items(ps, p + 1, object)))
		return NULL;
	ps->depth--;

	struct value *v = &ps->stack[base - 1];

	v->type = object ? VALUE_OBJECT : VALUE_ARRAY;
	v->count = ps->used - base;
	ps->used = base;
	if (!v->count)
		return p;
	v->item = arena_grow(ps->mem, NULL, 0, v->count * sizeof *v->item);
	memcpy(v->item, v + 1, v->count * sizeof *v->item);
	if (object && value_repeats(ps, v + 1, v->count))
		return value_refuse(ps, p, "a key occurs twice in one object");
	return p;
}

static const char *value_parse_value(struct value_parser *ps, const char *p, struct value *v)
{
	p = skip_space(ps, p);
	if (p == ps->end)
		return value_refuse(ps, p, "a value is missing");
	switch (*p) {
	case '{':
		return parse_container(ps, p, true);
	case '[':
		return parse_container(ps, p, false);
	case '"':
		v->type = VALUE_STRING;
		return parse_string(ps, p, &v->text);
	case 't':
		v->type = VALUE_BOOL;
		v->yes = true;
		return parse_word(ps, p, STR("true"));
	case 'f':
		v->type = VALUE_BOOL;
		return parse_word(ps, p, STR("false"));
	case 'n':
		return parse_word(ps, p, STR("null"));
	case '-':
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
	case '7':
	case '8':
	case '9':
		return parse_number(ps, p, v);
	default:
		return value_refuse(ps, p, "not a JSON value");
	}
}

const struct value *value_parse(struct arena *mem, struct str text, struct value_error *error)
{
	return value_parse_bounded(mem, text, SIZE_MAX, error);
}

unsigned value_depth(const struct value *v)
{
	unsigned deepest = 0;

	if (v->type != VALUE_ARRAY && v->type != VALUE_OBJECT)
		return 0;
	for (size_t i = 0; i < v->count; i++) {
		unsigned depth = value_depth(&v->item[i]);

		deepest = depth > deepest ? depth : deepest;
	}
	return deepest + 1;
}

/* Parses the value at the start of a text, and sets the offset after it. */
static const struct value *value_parse_at(struct arena *mem, struct str text, size_t most,
					  bool whole, struct value_error *error)
{
	struct value few[FEW_VALUES], *v = NULL;
	struct value_parser ps = {
		.mem = mem,
		.end = text.p + text.n,
		.stack = few,
		.few = few,
		.cap = FEW_VALUES,
		.left = most,
	};
	const char *p = value_parse_value(&ps, text.p, value_push(&ps));

	if (p && (p = skip_space(&ps, p)) < ps.end && whole)
		p = value_refuse(&ps, p, "text follows the value");
	if (p) {
		v = arena_grow(mem, NULL, 0, sizeof *v);
		*v = ps.stack[0];
	}
	*error = (struct value_error){ ps.why, (size_t)((p ? p : ps.where) - text.p) };
	if (ps.stack != few)
		free(ps.stack);
	return v;
}

const struct value *value_parse_bounded(struct arena *mem, struct str text, size_t most,
					struct value_error *error)
{
	return value_parse_at(mem, text.p ? text : STR(""), most, true, error);
}

const struct value *value_parse_first(struct arena *mem, struct str *text)
{
	struct value_error error;
	const struct value *v =
		value_parse_at(mem, text->p ? *text : STR(""), SIZE_MAX, false, &error);

	if (v)
		*text = str_skip(*text, error.offset);
	return v;
}

const struct value *value_member(const struct value *v, struct str key)
{
	if (!v || v->type != VALUE_OBJECT)
		return NULL;
	for (size_t i = 0; i < v->count; i++)
		if (str_eq(v->item[i].key, key))
			return &v->item[i];
	return NULL;
}

struct str value_text(const struct value *member)
{
	return member && member->type == VALUE_STRING ? member->text : STR_NONE;
}

bool value_number(const struct value *member, int64_t *out)
{
	return member && member->type == VALUE_NUMBER && number_int(member->text, out);
}
