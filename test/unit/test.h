#ifndef TEST_UNIT_TEST_H
#define TEST_UNIT_TEST_H

/* cmocka wants these before it, in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/str.h"

/*
 * A file thing_test.c tests thing.c. It ends with a group that lists its tests,
 *
 *	int thing_group(void)
 *	{
 *		const struct CMUnitTest tests[] = { cmocka_unit_test(...), ... };
 *
 *		return cmocka_run_group_tests_name("thing", tests, NULL, NULL);
 *	}
 *
 * and that has a line in groups.def. Rules are rows of a table where they can be.
 */

#define GROUP(name) int name##_group(void);
#include "unit/groups.def"
#undef GROUP

/* The number of random cases: all with ABACUS_THOROUGH, else a fifth. Sanitizers take a fifth. */
static inline uint64_t trials(uint64_t all)
{
#ifdef SANITIZED
	all /= 5;
#endif
	return getenv("ABACUS_THOROUGH") ? all : all / 5;
}

#define assert_str(got, want) assert_str_at((got), str_of(want), __FILE__, __LINE__)

static inline void assert_str_at(struct str got, struct str want, const char *file, int line)
{
	if (str_eq(got, want) && !got.p == !want.p)
		return;
	print_error("got \"" STR_FMT "\", want \"" STR_FMT "\"\n", STR_ARG(got), STR_ARG(want));
	_fail(file, line);
}

#endif
