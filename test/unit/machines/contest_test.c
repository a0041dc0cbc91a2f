#include "machines/contest.h"

#include "agents/scope.h"
#include "unit/test.h"

enum { FEW = 16, ROUNDS = 20000, MANY = 100000 };

static uint32_t next_of(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 16) % below;
}

static struct contender any_contender(uint32_t *seed)
{
	static const char *const scopes[] = { "",        "a",    "a-",  "a/b", "a-/b",   "a/b/c",
					      "a/b/c/d", "a/b-", "a/c", "ab",  "a/b/c-", "a/c/d" };
	static const char *const names[] = { "1", "2", "3", "4", "5", "6", "7" };

	return (struct contender){ .machine = str_of(names[next_of(seed, 7)]),
				   .agent = str_of(names[next_of(seed, 7)]),
				   .scope = str_of(scopes[next_of(seed, 12)]) };
}

/* The rule, of all pairs. */
static const struct contender *contested_by(const struct contender *list,
					    const struct contender *one)
{
	for (; list < one; list++)
		if (!list->by && !str_eq(list->machine, one->machine) &&
		    !str_eq(list->agent, one->agent) && scope_overlap(list->scope, one->scope))
			return list;
	return NULL;
}

static void the_earliest_overlapping_one_contests(void **arg)
{
	uint32_t seed = 1;

	(void)arg;
	for (int round = 0; round < ROUNDS; round++) {
		struct arena mem = { 0 };
		struct contender list[FEW];

		for (size_t i = 0; i < FEW; i++)
			list[i] = any_contender(&seed);
		contest_decide(&mem, list, FEW);
		for (size_t i = 0; i < FEW; i++)
			assert_ptr_equal(list[i].by, contested_by(list, &list[i]));
		arena_release(&mem);
	}
}

/* Comparing all pairs would take hours. */
static void many_long_scopes_are_not_compared_in_pairs(void **arg)
{
	struct arena mem = { 0 };
	struct contender *list = arena_array(&mem, MANY, sizeof *list);
	struct str folder = arena_fmt(&mem, "%0500d", 0);

	(void)arg;
	for (size_t i = 0; i < MANY; i++)
		list[i] = (struct contender){
			.machine = arena_fmt(&mem, "%zu", i % 100),
			.agent = arena_fmt(&mem, "%zu", i % 1000),
			.scope = arena_fmt(&mem, STR_FMT "/%zu", STR_ARG(folder), i % (MANY / 2)),
		};
	contest_decide(&mem, list, MANY);
	for (size_t i = 0; i < MANY; i++)
		assert_null(list[i].by); /* the second of each scope is of the same agent */
	arena_release(&mem);
}

int contest_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_earliest_overlapping_one_contests),
		cmocka_unit_test(many_long_scopes_are_not_compared_in_pairs),
	};

	return cmocka_run_group_tests_name("contest", tests, NULL, NULL);
}
