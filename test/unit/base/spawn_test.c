#include "base/system/spawn.h"

#include "base/system/path.h"
#include "unit/test.h"

static void a_relative_path_is_never_started(void **state)
{
	const char *const paths[] = { "", "true", "./true", "bin/true", "../bin/true" };

	(void)state;
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		const char *argv[] = { paths[i], NULL };
		struct spawn s = { .argv = argv, .timeout_ms = 1000 };
		struct call c = { 0 };

		assert_int_equal(spawn_run(&c, &s), ERR_INTERNAL_ERROR);
		assert_false(spawn_away(argv));
		call_release(&c);
	}
}

static void the_place_of_the_program_is_absolute(void **state)
{
	struct arena mem = { 0 };
	struct str self = spawn_self(&mem), beside = spawn_beside(&mem, STR("x/y"));

	(void)state;
	assert_int_equal(self.p[0], '/');
	assert_str(path_name(self), "units");
	assert_int_equal(beside.p[0], '/');
	assert_true(str_ends(beside, STR("/x/y")));
	arena_release(&mem);
}

static void a_word_of_a_hint_is_quoted_where_a_shell_would_read_it(void **state)
{
	static const struct {
		const char *text, *word;
	} rows[] = {
		{ "/home/me/x-1_2.d/.bb", "/home/me/x-1_2.d/.bb" },
		{ "", "''" },
		{ "a b", "'a b'" },
		{ "a;b", "'a;b'" },
		{ "$(x)", "'$(x)'" },
		{ "it's", "'it'\\''s'" },
		{ "~/x", "'~/x'" },
		{ "*", "'*'" },
		{ "\xc3\xa4", "'\xc3\xa4'" },
		{ "\xef\xbf\xbd", "'\xef\xbf\xbd'" },
		{ "a\xff", "\"$(printf 'a\\377')\"" },
		{ "-\033[1m", "\"$(printf '\\055\\033\\1331m')\"" },
		{ "100% it's \xe2\x80\xaeit!",
		  "\"$(printf '100\\045 it\\047s \\342\\200\\256it\\041')\"" },
		{ "a\n", "\"$(printf 'a\\012/.')\"" },
		{ "a  b", "\"$(printf 'a \\040b')\"" },
		{ "a \xc2\xa0 b", "\"$(printf 'a \\302\\240\\040b')\"" },
		{ "\xc3\xa4\t", "\"$(printf '\xc3\xa4\\011')\"" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_str(spawn_word(&mem, str_of(rows[i].text)), rows[i].word);
	arena_release(&mem);
}

static void a_relative_entry_of_the_search_path_does_not_count(void **state)
{
	static const struct {
		const char *list, *absolute;
	} rows[] = {
		{ "/usr/bin:/bin", "/usr/bin:/bin" },
		{ "./node_modules/.bin:/usr/bin", "/usr/bin" },
		{ ":/usr/bin", "/usr/bin" },
		{ "/usr/bin:", "/usr/bin" },
		{ "/usr/bin::/bin", "/usr/bin:/bin" },
		{ "/usr/bin:.:..:bin:/bin", "/usr/bin:/bin" },
		{ ".", "" },
		{ ":", "" },
		{ "", "" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_str(spawn_absolute(&mem, str_of(rows[i].list)), rows[i].absolute);
	arena_release(&mem);
}

int spawn_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_relative_path_is_never_started),
		cmocka_unit_test(the_place_of_the_program_is_absolute),
		cmocka_unit_test(a_word_of_a_hint_is_quoted_where_a_shell_would_read_it),
		cmocka_unit_test(a_relative_entry_of_the_search_path_does_not_count),
	};

	return cmocka_run_group_tests_name("spawn", tests, NULL, NULL);
}
