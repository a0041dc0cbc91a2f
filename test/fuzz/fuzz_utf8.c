/* The decoder agrees with the table of the standard; nothing is cut in two. */
#include "base/utf8.h"
#include "fuzz.h"

static const char *const corpus[] = {
	"",
	"plain text",
	"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80"
	"\xf4\x8f\xbf\xbf",
	"e\xcc\x81 \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
	"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb \xef\xb8\x8f "
	"\xe1\x84\x92\xe1\x85\xa1",
	"tab\tand \x1b[31mred\xc2\x9b",
};

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

static const char *check_columns(struct arena *mem, struct str text, bool valid,
				 size_t columns)
{
	struct str head = utf8_head(text, columns),
		   brief = utf8_shorten(mem, text, columns);

	if (!str_starts(text, head) || utf8_width(head) > columns)
		return "the head is too wide, or no head";
	if (utf8_width(brief) > columns)
		return "the shortened text is too wide";
	if (valid && (!utf8_valid(head) || !utf8_valid(brief)))
		return "a character was cut in two";
	if (utf8_width(text) <= columns && (head.n != text.n || !str_eq(brief, text)))
		return "a text that fits was shortened";
	return NULL;
}

static const char *check(struct arena *mem, struct str text, bool *taken)
{
	const char *rule;
	size_t width = 0, n;
	bool valid = true;

	for (struct str rest = text; rest.n; rest = str_skip(rest, n ? n : 1)) {
		uint32_t cp;

		n = utf8_decode(rest, &cp);
		if (n != by_the_table(rest))
			return "the decoder and the table differ";
		width += utf8_width(str_head(rest, n ? n : 1));
		valid = valid && n;
	}
	if (utf8_valid(text) != valid)
		return "valid as a whole, but not in its parts";
	if (utf8_width(text) != width)
		return "the whole is not as wide as its parts";
	*taken = valid;
	for (size_t columns = 0; columns <= width + 2; columns++)
		if ((rule = check_columns(mem, text, valid, columns)))
			return rule;
	return NULL;
}

int main(int argc, char **argv)
{
	return fuzz_run(argc, argv, corpus, COUNT(corpus), check);
}
