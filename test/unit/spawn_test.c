#include "base/spawn.h"

#include "base/path.h"
#include "test.h"

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

int spawn_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_relative_path_is_never_started),
		cmocka_unit_test(the_place_of_the_program_is_absolute),
	};

	return cmocka_run_group_tests_name("spawn", tests, NULL, NULL);
}
