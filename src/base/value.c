/*
 * A recursive descent over the bytes. Children are gathered on one stack that
 * grows as needed, and moved to the arena when their array or object closes,
 * so that the items of a value lie side by side.
 */
#include "base/value.h"

#include <stdlib.h>

#include "base/number.h"
#include "base/utf8.h"

struct parser {
	struct arena *mem;
	const char *start, *p, *end;
	struct value *stack;
	size_t used, cap;
	unsigned depth;
	const char *why;
};

static bool refuse(struct parser *ps, const char *why)
{
	if (!ps->why)
		ps->why = why;
	return false;
}

static void skip_space(struct parser *ps)
{
	while (ps->p < ps->end &&
	       (*ps->p == ' ' || *ps->p == '\n' || *ps->p == '\r' || *ps->p == '\t'))
		ps->p++;
}

static bool parse_word(struct parser *ps, struct str word)
{
	if ((size_t)(ps->end - ps->p) < word.n || memcmp(ps->p, word.p, word.n))
		return refuse(ps, "not a JSON value");
	ps->p += word.n;
	return true;
}

static bool digit(const struct parser *ps)
{
	return ps->p < ps->end && *ps->p >= '0' && *ps->p <= '9';
}

static bool skip_digits(struct parser *ps)
{
	if (!digit(ps))
		return refuse(ps, "a digit is missing in a number");
	while (digit(ps))
		ps->p++;
	return true;
}

static bool parse_number(struct parser *ps, struct value *v)
{
	const char *from = ps->p;

	if (*ps->p == '-')
		ps->p++;
	if (ps->p < ps->end && *ps->p == '0')
		ps->p++;
	else if (!skip_digits(ps))
		return false;
	if (digit(ps))
		return refuse(ps, "a number begins with a zero");
	if (ps->p < ps->end && *ps->p == '.') {
		ps->p++;
		if (!skip_digits(ps))
			return false;
	}
	if (ps->p < ps->end && (*ps->p == 'e' || *ps->p == 'E')) {
		ps->p++;
		if (ps->p < ps->end && (*ps->p == '+' || *ps->p == '-'))
			ps->p++;
		if (!skip_digits(ps))
			return false;
	}
	v->type = VALUE_NUMBER;
	v->text = (struct str){ from, (size_t)(ps->p - from) };
	return true;
}

static bool parse_hex4(struct parser *ps, uint32_t *out)
{
	*out = 0;
	if (ps->end - ps->p < 4)
		return refuse(ps, "a \\u escape is cut off");
	for (int i = 0; i < 4; i++, ps->p++) {
		char ch = *ps->p;
		char lower = (char)(ch | 0x20);

		if (ch >= '0' && ch <= '9')
			*out = *out << 4 | (uint32_t)(ch - '0');
		else if (lower >= 'a' && lower <= 'f')
			*out = *out << 4 | (uint32_t)(lower - 'a' + 10);
		else
			return refuse(
				ps,
				"a \\u escape has a character that is not hexadecimal");
	}
	return true;
}

static char *encode(char *out, uint32_t cp)
{
	if (cp < 0x80) {
		*out++ = (char)cp;
		return out;
	}
	if (cp < 0x800) {
		*out++ = (char)(0xc0 | cp >> 6);
	} else {
		if (cp < 0x10000) {
			*out++ = (char)(0xe0 | cp >> 12);
		} else {
			*out++ = (char)(0xf0 | cp >> 18);
			*out++ = (char)(0x80 | (cp >> 12 & 0x3f));
		}
		*out++ = (char)(0x80 | (cp >> 6 & 0x3f));
	}
	*out++ = (char)(0x80 | (cp & 0x3f));
	return out;
}

/* After "\u": one character, which two escapes may spell. */
static bool parse_unicode(struct parser *ps, char **out)
{
	uint32_t cp, low;

	if (!parse_hex4(ps, &cp))
		return false;
	if (cp >= 0xdc00 && cp <= 0xdfff)
		return refuse(ps, "a low surrogate stands alone");
	if (cp >= 0xd800 && cp <= 0xdbff) {
		if (ps->end - ps->p < 2 || ps->p[0] != '\\' || ps->p[1] != 'u')
			return refuse(ps, "a high surrogate stands alone");
		ps->p += 2;
		if (!parse_hex4(ps, &low))
			return false;
		if (low < 0xdc00 || low > 0xdfff)
			return refuse(ps, "a high surrogate stands alone");
		cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
	}
	*out = encode(*out, cp);
	return true;
}

static bool parse_escape(struct parser *ps, char **out)
{
	static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (++ps->p == ps->end)
		return refuse(ps, "a string is not closed");
	if (*ps->p == 'u') {
		ps->p++;
		return parse_unicode(ps, out);
	}
	found = memchr(plain, *ps->p, sizeof plain - 1);
	if (!found)
		return refuse(ps, "an unknown escape in a string");
	*(*out)++ = meant[found - plain];
	ps->p++;
	return true;
}

/* Passes over characters that stand for themselves, eight ASCII ones at a time. */
static bool skip_plain(struct parser *ps)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	uint32_t cp;
	size_t n;

	for (;;) {
		while (ps->end - ps->p >= 8) {
			uint64_t w, quote, slash;

			memcpy(&w, ps->p, sizeof w);
			quote = w ^ (ones * '"');
			slash = w ^ (ones * '\\');
			if ((w | (w - ones * 0x20) | (quote - ones) | (slash - ones)) &
			    high)
				break;
			ps->p += 8;
		}
		if (ps->p == ps->end)
			return refuse(ps, "a string is not closed");
		if (*ps->p == '"' || *ps->p == '\\')
			return true;
		if ((unsigned char)*ps->p < 0x20)
			return refuse(ps, "a control character in a string");
		n = utf8_decode((struct str){ ps->p, (size_t)(ps->end - ps->p) }, &cp);
		if (!n)
			return refuse(ps, "not UTF-8");
		ps->p += n;
	}
}

static bool parse_string(struct parser *ps, struct str *out)
{
	const char *from = ++ps->p;
	char *copy, *at;

	if (!skip_plain(ps))
		return false;
	if (*ps->p == '"') {
		*out = (struct str){ from, (size_t)(ps->p++ - from) };
		return true;
	}

	/* No escape is shorter than what it stands for: the rest is room enough. */
	const char *close = ps->p;

	while (close < ps->end && *close != '"')
		close += *close == '\\' ? 2 : 1;
	if (close >= ps->end)
		return refuse(ps, "a string is not closed");
	copy = at = arena_alloc(ps->mem, (size_t)(close - from) + 1);
	for (;;) {
		memcpy(at, from, (size_t)(ps->p - from));
		at += ps->p - from;
		if (*ps->p == '"')
			break;
		if (!parse_escape(ps, &at))
			return false;
		from = ps->p;
		if (!skip_plain(ps))
			return false;
	}
	ps->p++;
	*out = (struct str){ copy, (size_t)(at - copy) };
	return true;
}

static struct value *push(struct parser *ps)
{
	if (ps->used == ps->cap) {
		ps->cap = ps->cap ? ps->cap * 2 : 64;
		ps->stack = realloc(ps->stack, ps->cap * sizeof *ps->stack);
		if (!ps->stack)
			abort();
	}
	return &ps->stack[ps->used++];
}

static int by_key(const void *a, const void *b)
{
	return str_cmp(((const struct value *)a)->key, ((const struct value *)b)->key);
}

/* True if two members have one key. Sorting, so that no input makes it slow. */
static bool repeats(struct parser *ps, const struct value *item, size_t count)
{
	enum { FEW = 16 };

	if (count <= FEW) {
		for (size_t i = 1; i < count; i++)
			for (size_t k = 0; k < i; k++)
				if (str_eq(item[i].key, item[k].key))
					return true;
		return false;
	}

	struct value *copy = arena_array(ps->mem, count, sizeof *copy);

	memcpy(copy, item, count * sizeof *copy);
	qsort(copy, count, sizeof *copy, by_key);
	for (size_t i = 1; i < count; i++)
		if (str_eq(copy[i - 1].key, copy[i].key))
			return true;
	return false;
}

static bool parse_value(struct parser *ps, struct value *v);

static bool parse_member(struct parser *ps, struct value *v)
{
	if (ps->p == ps->end || *ps->p != '"')
		return refuse(ps, "a key is missing");
	if (!parse_string(ps, &v->key))
		return false;
	skip_space(ps);
	if (ps->p == ps->end || *ps->p++ != ':')
		return refuse(ps, "a colon is missing");
	return parse_value(ps, v);
}

static bool parse_items(struct parser *ps, bool object)
{
	char close = object ? '}' : ']';

	skip_space(ps);
	if (ps->p < ps->end && *ps->p == close) {
		ps->p++;
		return true;
	}
	for (;;) {
		struct value v = { 0 };

		skip_space(ps);
		if (!(object ? parse_member(ps, &v) : parse_value(ps, &v)))
			return false;
		*push(ps) = v;
		skip_space(ps);
		if (ps->p == ps->end)
			return refuse(ps, "an array or object is not closed");
		if (*ps->p == close) {
			ps->p++;
			return true;
		}
		if (*ps->p++ != ',')
			return refuse(ps, "a comma is missing");
	}
}

static bool parse_container(struct parser *ps, struct value *v, bool object)
{
	size_t base = ps->used;

	if (ps->depth == VALUE_DEPTH)
		return refuse(ps, "nested too deep");
	ps->p++;
	ps->depth++;
	if (!parse_items(ps, object))
		return false;
	ps->depth--;
	v->type = object ? VALUE_OBJECT : VALUE_ARRAY;
	v->count = ps->used - base;
	if (v->count) {
		v->item = arena_grow(ps->mem, NULL, 0, v->count * sizeof *v->item);
		memcpy(v->item, ps->stack + base, v->count * sizeof *v->item);
	}
	ps->used = base;
	if (object && repeats(ps, v->item, v->count))
		return refuse(ps, "a key stands twice in one object");
	return true;
}

static bool parse_value(struct parser *ps, struct value *v)
{
	skip_space(ps);
	if (ps->p == ps->end)
		return refuse(ps, "a value is missing");
	switch (*ps->p) {
	case '{':
		return parse_container(ps, v, true);
	case '[':
		return parse_container(ps, v, false);
	case '"':
		v->type = VALUE_STRING;
		return parse_string(ps, &v->text);
	case 't':
		v->type = VALUE_BOOL;
		v->yes = true;
		return parse_word(ps, STR("true"));
	case 'f':
		v->type = VALUE_BOOL;
		return parse_word(ps, STR("false"));
	case 'n':
		return parse_word(ps, STR("null"));
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
		return parse_number(ps, v);
	default:
		return refuse(ps, "not a JSON value");
	}
}

const struct value *value_parse(struct arena *mem, struct str text,
				struct value_error *error)
{
	struct parser ps = {
		.mem = mem, .start = text.p, .p = text.p, .end = text.p + text.n
	};
	struct value *v = arena_new(mem, struct value);

	if (parse_value(&ps, v)) {
		skip_space(&ps);
		if (ps.p < ps.end)
			refuse(&ps, "something follows the value");
	}
	free(ps.stack);
	*error = (struct value_error){ ps.why, (size_t)(ps.p - ps.start) };
	return ps.why ? NULL : v;
}

const struct value *value_find(const struct value *v, const char *key)
{
	if (!v || v->type != VALUE_OBJECT)
		return NULL;
	for (size_t i = 0; i < v->count; i++)
		if (str_is(v->item[i].key, key))
			return &v->item[i];
	return NULL;
}

struct str value_str(const struct value *v, const char *key)
{
	const struct value *member = value_find(v, key);

	return member && member->type == VALUE_STRING ? member->text : (struct str){ 0 };
}

bool value_int(const struct value *v, const char *key, int64_t *out)
{
	const struct value *member = value_find(v, key);

	return member && member->type == VALUE_NUMBER && number_int(member->text, out);
}
