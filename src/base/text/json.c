#include "base/text/json.h"

#include <assert.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/system/spool.h"
#include "base/text/utf8.h"
#include "base/text/value.h"

static void json_separate(struct json *j)
{
	if (j->comma)
		buf_char(&j->out, ',');
	j->comma = true;
}

static void json_word(struct json *j, struct str s)
{
	json_separate(j);
	buf_put(&j->out, s);
}

static void json_open(struct json *j, char open, char close)
{
	assert(j->depth < sizeof j->close);
	json_separate(j);
	buf_char(&j->out, open);
	j->close[j->depth++] = close;
	j->comma = false;
}

static void json_escape(struct buf *b, unsigned char ch)
{
	static const char *const brief[] = {
		['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n",  ['\f'] = "\\f",
		['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\",
	};

	if (brief[ch])
		buf_put(b, str_of(brief[ch]));
	else
		buf_fmt(b, "\\u%04x", ch);
}

/*
 * Might one of the next eight bytes need an escape? One subtraction finds control characters and,
 * since the XOR moves the quote next to them, quotes; another finds backslashes. A borrow between
 * bytes can only cause false positives.
 */
static bool json_suspect(const char *p)
{
	static const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t w, low, slash;

	memcpy(&w, p, sizeof w);
	low = (w ^ ones * 2) - ones * 0x21;
	slash = (w ^ ones * '\\') - ones;
	return (low | slash) & ~w & ones << 7;
}

static size_t json_plain(struct str s, size_t from)
{
	size_t i = from;

	for (;;) {
		while (s.n - i >= 8 && !json_suspect(s.p + i))
			i += 8;
		for (size_t end = s.n - i > 8 ? i + 8 : s.n;; i++) {
			unsigned char ch;

			if (i == s.n)
				return i;
			if (i == end)
				break;
			ch = (unsigned char)s.p[i];
			if (ch < 0x20 || ch == '"' || ch == '\\')
				return i;
		}
	}
}

/* Paths and branch names are bytes and may not be UTF-8, so the text is cleaned first. */
static void json_quoted(struct json *j, struct str s)
{
	struct buf *b = &j->out;

	s = utf8_clean(b->mem, s);
	buf_char(b, '"');
	for (size_t from = 0, i;; from = i + 1) {
		i = json_plain(s, from);
		buf_put(b, str_part(s, from, i));
		if (i == s.n)
			break;
		json_escape(b, (unsigned char)s.p[i]);
	}
	buf_char(b, '"');
}

void json_restart(struct json *j)
{
	struct buf out = { .mem = j->out.mem, .spool = j->out.spool };

	if (out.spool)
		spool_release(out.spool);
	*j = (struct json){ .out = out };
}

void json_object(struct json *j)
{
	json_open(j, '{', '}');
}

void json_array(struct json *j)
{
	json_open(j, '[', ']');
}

void json_end(struct json *j)
{
	assert(j->depth > 0);
	buf_char(&j->out, j->close[--j->depth]);
	j->comma = true;
}

void json_key(struct json *j, struct str key)
{
	json_separate(j);
	json_quoted(j, key);
	buf_char(&j->out, ':');
	j->comma = false;
}

void json_name(struct json *j, struct str key)
{
	char *at;

	json_separate(j);
	at = buf_room(&j->out, key.n + 3);
	*at = '"';
	memcpy(at + 1, key.p, key.n);
	memcpy(at + 1 + key.n, "\":", 2);
	j->out.n += key.n + 3;
	j->comma = false;
}

void json_put_members(struct json *j, struct str object)
{
	assert(object.n > 2);
	json_word(j, (struct str){ object.p + 1, object.n - 2 });
}

void json_str(struct json *j, struct str s)
{
	if (!s.p) {
		json_null(j);
		return;
	}
	json_separate(j);
	json_quoted(j, s);
}

void json_int(struct json *j, int64_t v)
{
	char digits[20], *end = digits + sizeof digits, *at = end;
	uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	json_separate(j);
	do
		*--at = (char)('0' + rest % 10);
	while (rest /= 10);
	if (v < 0)
		buf_char(&j->out, '-');
	buf_put(&j->out, (struct str){ at, (size_t)(end - at) });
}

void json_bool(struct json *j, bool v)
{
	json_word(j, v ? STR("true") : STR("false"));
}

void json_null(struct json *j)
{
	json_word(j, STR("null"));
}

void json_raw(struct json *j, struct str text)
{
	json_word(j, text.p ? text : STR("null"));
}

/* UTF-16 order puts surrogates before U+E000. */
int json_key_cmp(struct str x, struct str y)
{
	uint32_t cx = 0, cy = 0;
	size_t nx, ny;

	for (; x.n && y.n; x = str_skip(x, nx), y = str_skip(y, ny)) {
		nx = utf8_decode(x, &cx);
		ny = utf8_decode(y, &cy);
		if (cx == cy)
			continue;
		if ((cx > 0xffff) != (cy > 0xffff)) {
			uint32_t bmp = cx > 0xffff ? cy : cx;
			bool x_first = (cx > 0xffff) == (bmp >= 0xe000);

			return x_first ? -1 : 1;
		}
		return cx < cy ? -1 : 1;
	}
	return (x.n > 0) - (y.n > 0);
}

static int json_by_key(const void *a, const void *b)
{
	return json_key_cmp((*(const struct value *const *)a)->key,
			    (*(const struct value *const *)b)->key);
}

static const struct value **json_sorted(struct arena *mem, const struct value *v)
{
	const struct value **order = arena_array(mem, v->count, sizeof(*order));

	for (size_t i = 0; i < v->count; i++)
		order[i] = &v->item[i];
	qsort(order, v->count, sizeof *order, json_by_key);
	return order;
}

static void json_write(struct json *j, const struct value *v, bool canonical);

static void write_object(struct json *j, const struct value *v, bool canonical)
{
	const struct value **order = canonical ? json_sorted(j->out.mem, v) : NULL;

	json_object(j);
	for (size_t i = 0; i < v->count; i++) {
		const struct value *member = canonical ? order[i] : &v->item[i];

		json_key(j, member->key);
		json_write(j, member, canonical);
	}
	json_end(j);
}

static void json_write(struct json *j, const struct value *v, bool canonical)
{
	switch (v->type) {
	case VALUE_NULL:
		json_null(j);
		break;
	case VALUE_BOOL:
		json_bool(j, v->yes);
		break;
	case VALUE_NUMBER:
		json_word(j, canonical ? number_canonical(j->out.mem, v->text) : v->text);
		break;
	case VALUE_STRING:
		json_str(j, v->text);
		break;
	case VALUE_ARRAY:
		json_array(j);
		VALUE_EACH(one, v)
			json_write(j, one, canonical);
		json_end(j);
		break;
	case VALUE_OBJECT:
		write_object(j, v, canonical);
		break;
	}
}

void json_value(struct json *j, const struct value *v)
{
	json_write(j, v, false);
}

void json_canonical(struct json *j, const struct value *v)
{
	json_write(j, v, true);
}

void json_strs(struct json *j, const struct str *list, size_t count)
{
	json_array(j);
	for (size_t i = 0; i < count; i++)
		json_str(j, list[i]);
	json_end(j);
}

struct str json_text(struct json *j)
{
	assert(j->depth == 0);
	return buf_str(&j->out);
}

void json_put_member(struct json *j, const struct value *member)
{
	json_key(j, member->key);
	json_value(j, member);
}

struct str json_str_text(struct arena *mem, struct str s)
{
	struct json j = json_new(mem);

	json_str(&j, s);
	return json_text(&j);
}

struct str json_canonical_text(struct arena *mem, const struct value *v)
{
	struct json j = json_new(mem);

	json_canonical(&j, v);
	return json_text(&j);
}
