#include "base/text/utf8.h"

#include "unit/test.h"

#define COUNT(row) (sizeof(row) / sizeof *(row))

#define ELLIPSIS "\xe2\x80\xa6"
#define EMOJI    "\xef\xb8\x8f"
#define ACUTE    "\xcc\x81"     /* combining acute accent */
#define JOINER   "\xe2\x80\x8d" /* zero width joiner */
#define NIHON    "\xe6\x97\xa5\xe6\x9c\xac"
#define WOMAN    "\xf0\x9f\x91\xa9"
#define LAPTOP   "\xf0\x9f\x92\xbb"
#define SHALOM   "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d"

/* Every code point, encoded by the book, is read back; surrogates are refused. */
static void utf8_decodes_every_code_point(void **state)
{
	(void)state;
	for (uint32_t cp = 0; cp <= 0x10ffff; cp++) {
		bool surrogate = cp >= 0xd800 && cp <= 0xdfff;
		size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
		char bytes[4];
		uint32_t got = 0;

		for (size_t i = n; i-- > 1;)
			bytes[i] = (char)(0x80 | (cp >> 6 * (n - 1 - i) & 0x3f));
		bytes[0] = (char)(n == 1 ? cp : (0xf00 >> n & 0xff) | cp >> 6 * (n - 1));
		if (utf8_decode((struct str){ bytes, n }, &got) != (surrogate ? 0 : n) ||
		    (!surrogate && got != cp))
			fail_msg("U+%04X", (unsigned)cp);
		for (size_t cut = 0; cut < n; cut++)
			assert_int_equal(utf8_decode((struct str){ bytes, cut }, &got), 0);
	}
}

static void utf8_refuses_what_no_character_is_spelled_with(void **state)
{
	static const char *const text[] = {
		"\x80", /* a continuation alone */
		"\xbf",
		"\xc0\x80", /* overlong */
		"\xc0\xaf",
		"\xc1\xbf",
		"\xe0\x80\xaf",
		"\xe0\x9f\xbf",
		"\xf0\x80\x80\xaf",
		"\xf0\x8f\xbf\xbf",
		"\xed\xa0\x80", /* surrogates */
		"\xed\xaf\xbf",
		"\xed\xb0\x80",
		"\xed\xbf\xbf",
		"\xf4\x90\x80\x80", /* past the last plane */
		"\xf5\x80\x80\x80",
		"\xf8\x88\x80\x80\x80",
		"\xfc\x84\x80\x80\x80\x80",
		"\xfe",
		"\xff",
		"\xc3", /* cut off */
		"\xc3(",
		"\xe2\x82",
		"\xe2\x28\xa1",
		"\xe2\x82\x28",
		"\xf0\x90\x8d",
		"\xf0\x28\x8c\xbc",
		"\xf0\x90\x28\xbc",
		"\xf0\x28\x8c\x28",
		"\xc3\xc3\xa9",
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(text); i++) {
		uint32_t cp;

		if (utf8_decode(str_of(text[i]), &cp) || utf8_valid(str_of(text[i])))
			fail_msg("row %zu", i);
		assert_false(utf8_valid(arena_fmt(&mem, "good %s", text[i])));
		assert_false(utf8_valid(arena_fmt(&mem, "%s good", text[i])));
	}
	assert_true(utf8_valid(STR("")));
	assert_true(utf8_valid(STR_NONE));
	assert_true(utf8_valid(STR("a\0b \xc3\xa9 " NIHON " " WOMAN)));
	arena_release(&mem);
}

static void utf8_sees_control_characters(void **state)
{
	const struct {
		struct str text;
		bool has;
	} row[] = {
		{ STR(""), false },
		{ STR("plain text"), false },
		{ STR("a\0"), true },
		{ STR("\n"), true },
		{ STR("a\tb"), true },
		{ STR("\x1b[31m"), true },
		{ STR("\x1f"), true },
		{ STR("\x7f"), true },
		{ STR("a\xc2\x80"), true },
		{ STR("\xc2\x9b[31m"), true }, /* the one-character form of ESC [ */
		{ STR("\xc2\x9f"), true },
		{ STR("\xc2\xa0"), false },
		{ STR("\xc3\xa9 " NIHON), false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		if (utf8_has_control(row[i].text) != row[i].has)
			fail_msg("row %zu", i);
}

static void utf8_plain_ends_before_the_first_other_byte(void **state)
{
	char text[20];

	(void)state;
	for (unsigned ch = 0; ch < 256; ch++)
		for (size_t at = 0; at < sizeof text; at++) {
			bool plain = ch >= 0x20 && ch < 0x7f;

			memset(text, at % 2 ? ' ' : '~', sizeof text);
			text[at] = (char)ch;
			assert_int_equal(utf8_plain((struct str){ text, sizeof text }),
					 plain ? sizeof text : at);
			assert_int_equal(utf8_plain((struct str){ text, at }), at);
		}
}

static void utf8_width_counts_columns(void **state)
{
	const struct {
		struct str text;
		size_t columns;
	} row[] = {
		{ STR(""), 0 },
		{ STR("plain"), 5 },
		{ STR("\xc3\xa9"), 1 },
		{ STR("e" ACUTE), 1 },
		{ STR("e" ACUTE ACUTE ACUTE), 1 },
		{ STR(ACUTE), 0 },
		{ STR(NIHON), 4 },
		{ STR("a" NIHON "b"), 6 },
		{ STR("\xef\xbc\xa1"), 2 },                         /* full width A */
		{ STR("\xef\xbd\xb1"), 1 },                         /* half width katakana */
		{ STR("\xed\x95\x9c"), 2 },                         /* a Hangul syllable */
		{ STR("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"), 2 }, /* its three letters */
		{ STR(WOMAN), 2 },
		{ STR(JOINER), 0 },
		{ STR("a" JOINER "b"), 2 },
		{ STR("\xe2\x80\x8b"), 0 },       /* zero width space */
		{ STR(EMOJI), 0 },                /* variation selector */
		{ STR("\xe2\x98\xba" EMOJI), 2 }, /* makes an emoji of a narrow character */
		{ STR("1" EMOJI "\xe2\x83\xa3"), 2 },
		{ STR(WOMAN EMOJI), 2 },
		{ STR("\xef\xbb\xbf"), 0 }, /* byte order mark */
		{ STR(SHALOM), 4 },
		{ STR("\xd7\xa9\xd6\xb8\xd7\x9c"), 2 }, /* a vowel point is no column */
		{ STR("\xd8\xb3\xd9\x8e"), 1 },
		{ STR("\xe2\x80\xae"
		      "abc"),
		  3 }, /* right-to-left override */
		{ STR("\xe2\x86\x92"), 1 },
		{ STR(ELLIPSIS), 1 },
		{ STR("\xff\xfe"), 2 }, /* not UTF-8: a column for each byte */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		if (utf8_width(row[i].text) != row[i].columns)
			fail_msg("row %zu: %zu columns, want %zu", i, utf8_width(row[i].text),
				 row[i].columns);
}

static void utf8_head_fills_at_most_its_columns(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *want;
	} row[] = {
		{ "plain", 0, "" },
		{ "plain", 3, "pla" },
		{ "plain", 5, "plain" },
		{ "plain", 99, "plain" },
		{ NIHON, 1, "" },
		{ NIHON, 2, "\xe6\x97\xa5" },
		{ NIHON, 3, "\xe6\x97\xa5" },
		{ "a" NIHON, 2, "a" },
		/* what combines stays with its character */
		{ "e" ACUTE "x", 1, "e" ACUTE },
		{ "e" ACUTE "x", 2, "e" ACUTE "x" },
		{ "a1" EMOJI, 2, "a" },
		{ "a1" EMOJI, 3, "a1" EMOJI },
		{ "\xe2\x98\xba" EMOJI "x", 1, "" },
		{ WOMAN JOINER LAPTOP, 2, WOMAN JOINER },
		{ WOMAN JOINER LAPTOP, 3, WOMAN JOINER },
		{ SHALOM, 2, "\xd7\xa9\xd7\x9c" },
		{ "\xff\xff\xff", 2, "\xff\xff" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		assert_str(utf8_head(str_of(row[i].text), row[i].columns), row[i].want);
}

static void utf8_shorten_says_that_something_is_missing(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *want;
	} row[] = {
		{ "", 0, "" },
		{ "", 5, "" },
		{ "plain", 0, "" },
		{ "plain", 1, ELLIPSIS },
		{ "plain", 2, "p" ELLIPSIS },
		{ "plain", 4, "pla" ELLIPSIS },
		{ "plain", 5, "plain" },
		{ "plain", 6, "plain" },
		{ NIHON, 1, ELLIPSIS },
		{ NIHON, 2, ELLIPSIS },
		{ NIHON, 3, "\xe6\x97\xa5" ELLIPSIS },
		{ NIHON, 4, NIHON },
		{ "e" ACUTE "xy", 2, "e" ACUTE ELLIPSIS },
		{ "xe" ACUTE, 2, "xe" ACUTE },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		assert_str(utf8_shorten(&mem, str_of(row[i].text), row[i].columns), row[i].want);
	assert_true(str_eq(utf8_shorten(&mem, STR("a\0bcdef"), 5), STR("a\0bc" ELLIPSIS)));
	arena_release(&mem);
}

static void utf8_shorten_middle_keeps_both_ends(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *want;
	} row[] = {
		{ "", 5, "" },
		{ "src/a.c", 7, "src/a.c" },
		{ "src/a.c", 6, "sr" ELLIPSIS "a.c" },
		{ "src/a.c", 2, "s" ELLIPSIS },
		{ "src/a.c", 0, "" },
		{ "src/deep/folder/a.c", 11, "src/" ELLIPSIS "er/a.c" },
		{ "src/" NIHON "/a" ACUTE "b", 6, "sr" ELLIPSIS "/a" ACUTE "b" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		assert_str(utf8_shorten_middle(&mem, str_of(row[i].text), row[i].columns),
			   row[i].want);
	arena_release(&mem);
}

static void utf8_never_cuts_inside_a_character(void **state)
{
	static const char text[] =
		"a\xc3\xa9" NIHON "e" ACUTE WOMAN JOINER LAPTOP SHALOM "\xed\x95\x9c" ELLIPSIS "z";
	struct str whole = str_of(text);
	struct arena mem = { 0 };

	(void)state;
	for (size_t columns = 0; columns <= utf8_width(whole) + 1; columns++) {
		struct str head = utf8_head(whole, columns);
		struct str brief = utf8_shorten(&mem, whole, columns);
		struct str middle = utf8_shorten_middle(&mem, whole, columns);

		assert_true(utf8_valid(head));
		assert_true(str_starts(whole, head));
		assert_true(utf8_width(head) <= columns);
		assert_true(utf8_valid(brief));
		assert_true(utf8_width(brief) <= columns);
		assert_true(utf8_valid(middle));
		assert_true(utf8_width(middle) <= columns);
	}
	arena_release(&mem);
}

#define BAD "\xef\xbf\xbd"

static void utf8_safe_replaces_what_a_terminal_obeys(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "plain\ttext\n", "plain\ttext\n" },
		{ SHALOM " " NIHON " " WOMAN JOINER LAPTOP,
		  SHALOM " " NIHON " " WOMAN JOINER LAPTOP },
		{ "a\xe2\x80\x8c"
		  "b",
		  "a\xe2\x80\x8c"
		  "b" }, /* non-joiner */
		{ "\x1b[31mred", BAD "[31mred" },
		{ "a\rb\bc\x7f", "a" BAD "b" BAD "c" BAD },
		{ "\xc2\x9b"
		  "31m",
		  BAD "31m" }, /* CSI as one character */
		{ "\xe2\x80\xae"
		  "abc\xe2\x80\xac",
		  BAD "abc" BAD }, /* right-to-left override */
		{ "\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c\xe2\x80\x8f", BAD BAD BAD BAD },
		{ "\xe2\x80\xa8\xe2\x80\xa9", BAD BAD },
		{ "\xe2\x80\x8b\xef\xbb\xbf\xf3\xa0\x81\x81", BAD BAD BAD },
		{ "\xe2\xa0\x80\xe3\x85\xa4\xef\xbe\xa0\xc2\xad",
		  BAD BAD BAD BAD }, /* look blank */
		{ "\xff"
		  "a\xc3",
		  BAD "a" BAD },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str once = utf8_safe(&mem, str_of(rows[i].text));

		assert_str(once, rows[i].want);
		assert_ptr_equal(utf8_safe(&mem, once).p, once.p);
	}
	assert_str(utf8_safe(&mem, (struct str){ "a\0b", 3 }), "a" BAD "b");
	arena_release(&mem);
}

static void utf8_line_has_no_newline_and_no_run_of_blanks(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "a b c", "a b c" },
		{ "a  b   c ", "a b c " },
		{ "a\nb\tc", "a b c" },
		{ "  a \n\n b\n", " a b " },
		{ "a\xc2\xa0"
		  "b\xe3\x80\x80"
		  "c",
		  "a\xc2\xa0"
		  "b\xe3\x80\x80"
		  "c" }, /* one blank of another width stays */
		{ "a\xc2\xa0 b\xe3\x80\x80\xe3\x80\x80"
		  "c",
		  "a b c" },
		{ "a " JOINER " " JOINER "b", "a b" },
		{ WOMAN JOINER LAPTOP, WOMAN JOINER LAPTOP },
		{ NIHON "  " NIHON, NIHON " " NIHON },
		{ "\xff  \xff", "\xff \xff" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str once = utf8_line(&mem, str_of(rows[i].text));

		assert_str(once, rows[i].want);
		assert_ptr_equal(utf8_line(&mem, once).p, once.p);
	}
	arena_release(&mem);
}

int utf8_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8_decodes_every_code_point),
		cmocka_unit_test(utf8_refuses_what_no_character_is_spelled_with),
		cmocka_unit_test(utf8_sees_control_characters),
		cmocka_unit_test(utf8_safe_replaces_what_a_terminal_obeys),
		cmocka_unit_test(utf8_line_has_no_newline_and_no_run_of_blanks),
		cmocka_unit_test(utf8_plain_ends_before_the_first_other_byte),
		cmocka_unit_test(utf8_width_counts_columns),
		cmocka_unit_test(utf8_head_fills_at_most_its_columns),
		cmocka_unit_test(utf8_shorten_says_that_something_is_missing),
		cmocka_unit_test(utf8_shorten_middle_keeps_both_ends),
		cmocka_unit_test(utf8_never_cuts_inside_a_character),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
