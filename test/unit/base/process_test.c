#include "base/system/process.h"

#include <sys/wait.h>
#include <unistd.h>

#include "unit/test.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void ancestors_are_read_back_as_they_were_written(void **state)
{
	static const char *const line[] = { "12 34@host", "12 34 56 78 90 91 92@host", "34@host",
					    "9223372036854775807 1@h" };
	static const char *const junk[] = { "",
					    "x 34@host",
					    "-4 34@host",
					    "1 34@host",
					    "0 34@host",
					    "2 3 4 5 6 7 8 34@host",
					    "99999999999999999999 1@h",
					    "12  34@host" };
	struct arena mem = { 0 };
	struct ancestors a;

	(void)state;
	for (size_t i = 0; i < COUNT(line); i++) {
		a = ancestors_decode(&mem, str_of(line[i]));
		assert_str(ancestors_encode(&mem, &a), line[i]);
	}
	for (size_t i = 0; i < COUNT(junk); i++) {
		a = ancestors_decode(&mem, str_of(junk[i]));
		assert_false(a.id[0] || a.space.n);
	}
	arena_release(&mem);
}

/* Between two hooks of one session, the shells that ran them differ, the host does not. */
static void ancestors_common_is_the_nearest_of_both(void **state)
{
	static const struct {
		const char *a, *b;
		int64_t common;
	} row[] = {
		{ "20 9 5 1@h", "10 9 5 1@h", 9 },
		{ "9 5 1@h", "10 9 5 1@h", 9 },
		{ "20 9 5 1@h", "9 5 1@h", 9 },
		{ "9 5 1@h", "9 5 1@h", 9 },
		{ "20 5 1@h", "10 9 5 1@h", 5 },
		{ "20 9 1@h", "10 8 1@h", 0 },
		{ "9 5 1@h", "9 5 2@h", 0 },
		{ "9 5 1@h", "9 5 1@other", 0 },
		{ "9 5 1@h", "", 0 },
		{ "", "", 0 },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		struct ancestors a = ancestors_decode(&mem, str_of(row[i].a)),
				 b = ancestors_decode(&mem, str_of(row[i].b));

		assert_int_equal(ancestors_common(&a, &b), row[i].common);
	}
	arena_release(&mem);
}

static void process_ended_tells_a_dead_process_from_a_living_one(void **state)
{
	struct arena mem = { 0 };
	struct ancestors own = process_ancestors(&mem);
	pid_t child = fork();

	(void)state;
	if (!child)
		_exit(0);
	assert_true(child > 0 && waitpid(child, NULL, 0) == child);
	assert_true(process_ended(child));
	assert_false(process_ended(getpid()));
	assert_false(process_ended(INT64_MAX));
	assert_true(own.space.n > 0 && (getppid() < 2 || own.id[0] == getppid()));
	arena_release(&mem);
}

int process_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ancestors_are_read_back_as_they_were_written),
		cmocka_unit_test(ancestors_common_is_the_nearest_of_both),
		cmocka_unit_test(process_ended_tells_a_dead_process_from_a_living_one),
	};

	return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
