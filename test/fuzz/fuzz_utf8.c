/* The decoder agrees with the table of the standard, nothing is cut in two, and text that was
 * made safe is safe. */
#include "base/text/utf8.h"
#include "fuzz.h"

enum { EMOJI = 0xfe0f }; /* makes the narrow character before it wide */

/* Unicode, table 3-7: the well-formed byte sequences. */
static const unsigned char well_formed[][8] = {
	/* first byte, second byte, third, fourth: from, to */
	{ 0xc2, 0xdf, 0x80, 0xbf },
	{ 0xe0, 0xe0, 0xa0, 0xbf, 0x80, 0xbf },
	{ 0xe1, 0xec, 0x80, 0xbf, 0x80, 0xbf },
	{ 0xed, 0xed, 0x80, 0x9f, 0x80, 0xbf },
	{ 0xee, 0xef, 0x80, 0xbf, 0x80, 0xbf },
	{ 0xf0, 0xf0, 0x90, 0xbf, 0x80, 0xbf, 0x80, 0xbf },
	{ 0xf1, 0xf3, 0x80, 0xbf, 0x80, 0xbf, 0x80, 0xbf },
	{ 0xf4, 0xf4, 0x80, 0x8f, 0x80, 0xbf, 0x80, 0xbf },
};

static size_t matches(struct str s, const unsigned char row[8])
{
	size_t n = 0;

	for (; n < 4 && row[2 * n]; n++) {
		unsigned char byte = n < s.n ? (unsigned char)s.p[n] : 0;

		if (byte < row[2 * n] || byte > row[2 * n + 1])
			return 0;
	}
	return n;
}

static size_t by_the_table(struct str s)
{
	size_t n;

	if (s.n && (unsigned char)s.p[0] < 0x80)
		return 1;
	for (size_t i = 0; i < COUNT(well_formed); i++)
		if ((n = matches(s, well_formed[i])))
			return n;
	return 0;
}

static void check_columns(struct arena *mem, struct str text, bool valid, size_t columns)
{
	struct str head = utf8_head(text, columns), brief = utf8_shorten(mem, text, columns);

	rule(str_starts(text, head) && utf8_width(head) <= columns,
	     "the head is a head, and no wider than it may be");
	rule(utf8_width(brief) <= columns, "a shortened text is no wider than it may be");
	rule(!valid || (utf8_valid(head) && utf8_valid(brief)), "no character is cut in two");
	if (utf8_width(text) <= columns)
		rule(head.n == text.n && str_eq(brief, text), "a text that fits is not shortened");
}

static void check_safe(struct arena *mem, struct str text, bool valid)
{
	struct str safe = utf8_safe(mem, text), clean = utf8_clean(mem, text),
		   line = utf8_line(mem, safe);
	bool plain = valid;
	uint32_t cp;
	size_t n;

	rule(utf8_valid(safe) && utf8_valid(clean), "text that was made safe is UTF-8");
	rule(!valid || str_eq(clean, text), "text that is UTF-8 is clean");
	rule(str_eq(utf8_safe(mem, safe), safe), "safe text stays as it is");
	for (struct str rest = safe; rest.n; rest = str_skip(rest, n)) {
		n = utf8_decode(rest, &cp);
		rule(cp == '\n' || cp == '\t' || !utf8_is_unsafe(cp), "safe text is safe");
	}
	for (struct str rest = text; plain && rest.n; rest = str_skip(rest, n)) {
		n = utf8_decode(rest, &cp);
		plain = cp == '\n' || cp == '\t' || !utf8_is_unsafe(cp);
	}
	rule(!plain || str_eq(safe, text), "text that is safe is not changed");
	rule(utf8_valid(line) && str_eq(utf8_safe(mem, line), line), "a line of safe text is safe");
	rule(str_eq(utf8_line(mem, line), line), "a line stays as it is");
	rule(!memchr(line.p ? line.p : "", '\n', line.n), "a line has no newline");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena mem = { 0 };
	struct str text = fuzz_text(data, size < 256 ? size : 256);
	size_t width = 0, more, n;
	bool valid = true, narrow = false;

	for (struct str rest = text; rest.n; rest = str_skip(rest, n ? n : 1)) {
		uint32_t cp = 0;

		n = utf8_decode(rest, &cp);
		rule(n == by_the_table(rest), "the decoder agrees with the table");
		more = cp == EMOJI ? narrow : utf8_width(str_head(rest, n ? n : 1));
		narrow = cp != EMOJI && more == 1;
		width += more;
		valid = valid && n;
	}
	rule(utf8_valid(text) == valid, "a text is valid if its parts are");
	rule(utf8_width(text) == width, "a text is as wide as its parts");
	for (size_t columns = 0; columns <= width + 2; columns++)
		check_columns(&mem, text, valid, columns);
	check_safe(&mem, text, valid);
	arena_release(&mem);
	return 0;
}
