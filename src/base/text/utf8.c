#include "base/text/utf8.h"

#include "base/buf.h"

size_t utf8_decode(struct str s, uint32_t *cp)
{
	/* the smallest code point of each length: longer encodings of it are invalid */
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s.p;
	size_t n;

	if (!s.n)
		return 0;
	if (p[0] < 0x80) {
		*cp = p[0];
		return 1;
	}
	n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || s.n < n)
		return 0;

	uint32_t c = p[0] & (0xffU >> (n + 1));

	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*cp = c;
	return n;
}

/* Skips ASCII, eight bytes at a time: most text is ASCII. */
static struct str skip_ascii(struct str s)
{
	uint64_t w;

	for (; s.n >= sizeof w; s = str_skip(s, sizeof w)) {
		memcpy(&w, s.p, sizeof w);
		if (w & UINT64_C(0x8080808080808080))
			break;
	}
	while (s.n && (unsigned char)s.p[0] < 0x80)
		s = str_skip(s, 1);
	return s;
}

char *utf8_encode(char *out, uint32_t cp)
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

bool utf8_valid(struct str s)
{
	uint32_t cp;
	size_t n;

	for (s = skip_ascii(s); s.n; s = skip_ascii(str_skip(s, n)))
		if (!(n = utf8_decode(s, &cp)))
			return false;
	return true;
}

static bool utf8_printable(char ch)
{
	return ch >= 0x20 && ch < 0x7f;
}

/*
 * Tests eight bytes at a time: in printable ASCII no byte has its high bit set, even after adding 1
 * or subtracting 0x20.
 */
size_t utf8_plain(struct str s)
{
	const uint64_t each = UINT64_C(0x0101010101010101), high = each * 0x80;
	uint64_t word;
	size_t n = 0;

	for (; s.n - n >= sizeof word; n += sizeof word) {
		memcpy(&word, s.p + n, sizeof word);
		if ((word | (word + each) | (word - each * 0x20)) & high)
			break;
	}
	while (n < s.n && utf8_printable(s.p[n]))
		n++;
	return n;
}

struct str utf8_clean(struct arena *mem, struct str s)
{
	struct buf b = { .mem = mem };
	uint32_t cp;
	size_t n;

	if (utf8_valid(s))
		return s;
	for (; s.n; s = str_skip(s, n ? n : 1)) {
		n = utf8_decode(s, &cp);
		buf_put(&b, n ? str_head(s, n) : STR("\xef\xbf\xbd"));
	}
	return buf_str(&b);
}

bool utf8_has_control(struct str s)
{
	uint32_t cp;
	size_t n;

	for (; s.n; s = str_skip(s, n)) {
		n = 1;
		if (utf8_printable(s.p[0]))
			continue;
		if (!(n = utf8_decode(s, &cp)))
			return false;
		if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
			return true;
	}
	return false;
}

bool utf8_is_unsafe(uint32_t cp)
{
	static const struct {
		uint32_t first, last;
	} range[] = {
		{ 0x0, 0x1f },        { 0x7f, 0x9f },       { 0xad, 0xad },
		{ 0x34f, 0x34f },     { 0x61c, 0x61c },     { 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f },   { 0x200b, 0x200b },
		{ 0x200e, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x206f },
		{ 0x2800, 0x2800 },   { 0x3164, 0x3164 },   { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },   { 0x13441, 0x13442 },
		{ 0x16fe4, 0x16fe4 }, { 0x1bca0, 0x1bca3 }, { 0x1d159, 0x1d159 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof range / sizeof *range && cp >= range[i].first; i++)
		if (cp <= range[i].last)
			return true;
	return false;
}

/* Length of the first character of `s` if it is safe to show, else 0. */
static size_t utf8_shown(struct str s)
{
	uint32_t cp;
	size_t n;

	if (utf8_printable(s.p[0]) || s.p[0] == '\n' || s.p[0] == '\t')
		return 1;
	n = utf8_decode(s, &cp);
	return n && !utf8_is_unsafe(cp) ? n : 0;
}

struct str utf8_safe(struct arena *mem, struct str s)
{
	struct buf b = { .mem = mem };
	size_t at = 0, from = 0, n;
	uint32_t cp;

	for (; (at += utf8_plain(str_skip(s, at))) < s.n; at += n) {
		if ((n = utf8_shown(str_skip(s, at))))
			continue;
		buf_put(&b, str_part(s, from, at));
		buf_put(&b, STR("\xef\xbf\xbd"));
		n = utf8_decode(str_skip(s, at), &cp);
		n = n ? n : 1;
		from = at + n;
	}
	if (!b.n)
		return s;
	buf_put(&b, str_skip(s, from));
	return buf_str(&b);
}

bool utf8_is_blank(uint32_t cp)
{
	if (cp < 0xa0)
		return cp == ' ' || cp == '\n' || cp == '\t';
	return cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200a) || cp == 0x202f ||
	       cp == 0x205f || cp == 0x3000;
}

/* A joiner or a variation selector, which cannot be seen after a blank. */
static bool utf8_joins(uint32_t cp)
{
	return cp == 0x200c || cp == 0x200d || (cp >= 0xfe00 && cp <= 0xfe0f);
}

/* The length of the blanks at the start of `s`; 0 if there is none, or a single space of any width,
 * which may stay. */
static size_t utf8_gap(struct str s)
{
	size_t at = 0, first = 0, n;
	uint32_t cp;

	while ((n = utf8_decode(str_skip(s, at), &cp)) &&
	       (utf8_is_blank(cp) || (at && utf8_joins(cp)))) {
		first = at ? first : n;
		at += n;
	}
	return at == first && at && s.p[0] != '\n' && s.p[0] != '\t' ? 0 : at;
}

/*
 * Tests eight bytes at a time, as utf8_plain() does. A byte that is a space gets its high bit set
 * in `spaces`, and sometimes the byte after it, which only costs time.
 */
static bool utf8_word_is_line(const char *p)
{
	const uint64_t each = UINT64_C(0x0101010101010101), high = each * 0x80;
	uint64_t word, other, spaces;

	memcpy(&word, p, sizeof word);
	other = word ^ each * ' ';
	spaces = (other - each) & ~other & high;
	return !(((word | (word + each) | (word - each * 0x20)) & high) | (spaces & spaces << 8));
}

bool utf8_is_line(struct str s)
{
	const size_t step = sizeof(uint64_t);
	size_t n = 0;

	if (s.n < step) {
		for (; n < s.n; n++)
			if (!utf8_printable(s.p[n]) || (n && s.p[n] == ' ' && s.p[n - 1] == ' '))
				return false;
		return true;
	}
	/* the words overlap by a byte, so that any two adjacent spaces are in one word */
	for (; n + step <= s.n; n += step - 1)
		if (!utf8_word_is_line(s.p + n))
			return false;
	return utf8_word_is_line(s.p + s.n - step);
}

struct str utf8_line(struct arena *mem, struct str s)
{
	struct buf b = { .mem = mem };
	size_t at = 0, from = 0, gap;

	if (utf8_is_line(s))
		return s;
	while (at < s.n) {
		if ((s.p[at] > ' ' && s.p[at] < 0x7f) || !(gap = utf8_gap(str_skip(s, at)))) {
			at++;
			continue;
		}
		buf_put(&b, str_part(s, from, at));
		buf_char(&b, ' ');
		from = at += gap;
	}
	if (!b.n)
		return s;
	buf_put(&b, str_skip(s, from));
	return buf_str(&b);
}

static size_t columns_of(uint32_t cp)
{
	static const struct {
		uint32_t first, last;
		unsigned columns;
	} range[] = {
#define RANGE(first, last, columns) { first, last, columns },
#include "base/text/width.def"
#undef RANGE
	};
	size_t low = 0, high = sizeof range / sizeof *range;

	if (cp < range[0].first)
		return 1;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (cp > range[mid].last)
			low = mid + 1;
		else if (cp < range[mid].first)
			high = mid;
		else
			return range[mid].columns;
	}
	return 1;
}

/*
 * The width of the characters up to `limit` columns; `stop` is where that ends. U+FE0F makes an
 * emoji of a narrow character, and some terminals draw that two columns wide.
 */
static size_t utf8_measure(struct str s, size_t limit, size_t *stop)
{
	enum { EMOJI = 0xfe0f };
	size_t columns = 0, at = 0, n;
	size_t last = 0; /* bytes of the character before this one, if that is narrow */

	for (; at < s.n; at += n) {
		struct str rest = str_skip(s, at);
		size_t more = n = utf8_plain(str_head(rest, limit - columns));
		uint32_t cp = 0;

		if (!n)
			more = (n = utf8_decode(rest, &cp)) ? columns_of(cp) : 1;
		if (cp == EMOJI)
			more = last > 0;
		n = n ? n : 1;
		if (more > limit - columns) {
			if (cp == EMOJI) {
				at -= last;
				columns--;
			}
			break;
		}
		columns += more;
		last = cp == EMOJI || (cp && more != 1) ? 0 : cp ? n : 1;
	}
	*stop = at;
	return columns;
}

size_t utf8_width(struct str s)
{
	size_t stop;

	return utf8_measure(s, SIZE_MAX, &stop);
}

struct str utf8_head(struct str s, size_t columns)
{
	size_t stop;

	utf8_measure(s, columns, &stop);
	return str_head(s, stop);
}

struct str utf8_shorten(struct arena *mem, struct str s, size_t columns)
{
	struct buf b = { .mem = mem };
	struct str fits;

	if (s.n <= columns) /* no character has more columns than bytes */
		return s;
	fits = utf8_head(s, columns);
	if (!columns || fits.n == s.n)
		return fits;
	buf_put(&b, utf8_head(s, columns - 1));
	buf_put(&b, STR("\xe2\x80\xa6"));
	return buf_str(&b);
}

/* The longest end of `s` of at most `columns` width, in whole characters, none of them combining
 * with the character before it. */
static struct str utf8_tail(struct str s, size_t columns)
{
	struct str tail = { str_end(s), 0 };
	size_t at = s.n;
	uint32_t cp;

	while (at > 0) {
		do
			at--;
		while (at > 0 && ((unsigned char)s.p[at] & 0xc0) == 0x80);
		if (utf8_width(str_skip(s, at)) > columns)
			break;
		tail = str_skip(s, at);
	}
	while (tail.n && !utf8_width(str_head(tail, utf8_decode(tail, &cp))))
		tail = str_skip(tail, utf8_decode(tail, &cp) ? utf8_decode(tail, &cp) : 1);
	return tail;
}

struct str utf8_shorten_middle(struct arena *mem, struct str s, size_t columns)
{
	struct buf b = { .mem = mem };
	struct str head;

	if (columns < 3 || utf8_head(s, columns).n == s.n)
		return utf8_shorten(mem, s, columns);
	head = utf8_head(s, (columns - 1) * 2 / 5);
	buf_put(&b, head);
	buf_put(&b, STR("\xe2\x80\xa6"));
	buf_put(&b, utf8_tail(s, columns - 1 - utf8_width(head)));
	return buf_str(&b);
}
