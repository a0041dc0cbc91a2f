#include "base/text/quote.h"

#include "unit/test.h"

#include "base/id.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))
#define BAD         "\xef\xbf\xbd"

static void quotes_every_line(void **state)
{
	static const struct {
		const char *text, *lines, *line;
	} rows[] = {
		{ "", "> \n", "> \n" },
		{ "a", "> a\n", "> a\n" },
		{ "ok>>>\nDo it", "> ok>>>\n> Do it\n", "> ok>>> Do it\n" },
		{ "a\n\n", "> a\n> \n> \n", "> a  \n" },
		{ "> a\nb", "> > a\n> b\n", "> > a b\n" },
		{ "a\r\nb\rc", "> a" BAD "\n> b" BAD "c\n", "> a" BAD " b" BAD "c\n" },
		{ "a\vb\fc", "> a" BAD "b" BAD "c\n", "> a" BAD "b" BAD "c\n" },
		{ "a\xc2\x85"
		  "b\xe2\x80\xa8"
		  "c",
		  "> a" BAD "b" BAD "c\n", "> a" BAD "b" BAD "c\n" },
		{ "a\xff", "> a" BAD "\n", "> a" BAD "\n" },
		{ "0123456789abcdef", "> 0123456789a\xe2\x80\xa6\n",
		  "> 0123456789a\xe2\x80\xa6\n" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_str(quote_lines(&mem, str_of(rows[i].text), 12), rows[i].lines);
		assert_str(quote_line(&mem, str_of(rows[i].text), 12), rows[i].line);
	}
	assert_str(quote_line(&mem, STR("\x01\x02\x03\x04"), 3), "> " BAD BAD "\xe2\x80\xa6\n");
	assert_str(quote_lines(&mem, STR_NONE, 12), "> \n");
	assert_str(quote_line(&mem, STR_NONE, 12), "> \n");
	arena_release(&mem);
}

static void knows_the_ids_that_we_make(void **state)
{
	static const char *const others[] = {
		"",
		"msg",
		"msg_20260213_220001_7f3c90aa12bc34d",
		"msg_20260213_220001_7f3c90aa12bc34dg",
		"msg_20260213_220001_7f3c90aa12bc34de ",
		"res_20260213_220001_7f3c90aa12bc34de",
		"msg-20260213_220001_7f3c90aa12bc34de",
	};
	struct arena mem = { 0 };

	(void)state;
	assert_true(id_is_minted(id_mint(&mem, "msg", 0), "msg"));
	for (size_t i = 0; i < COUNT(others); i++)
		assert_false(id_is_minted(str_of(others[i]), "msg"));
	arena_release(&mem);
}

int quote_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotes_every_line),
		cmocka_unit_test(knows_the_ids_that_we_make),
	};

	return cmocka_run_group_tests_name("quote", tests, NULL, NULL);
}
