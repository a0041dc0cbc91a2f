#include "agents/scope.h"

#include "agents/liveness.h"
#include "unit/test.h"

static struct str normal(struct call *c, const char *text)
{
	struct str out = { 0 };

	scope_normalise(c, STR("/home/me/project"), str_of(text), &out);
	return out;
}

static const struct {
	const char *text, *want; /* NULL: refused */
} scopes[] = {
	{ "src", "src" },
	{ "src/", "src" },
	{ "src/*", "src" },
	{ "src/**", "src" },
	{ "src\\lib\\x.c", "src/lib/x.c" }, /* as other systems write it */
	{ "src\\*", "src" },
	{ ".\\src\\", "src" },
	{ "src\\..\\..\\x", NULL },
	{ "./src//lib/./x.c", "src/lib/x.c" },
	{ "src/lib/../x.c", "src/x.c" },
	{ "/", "" },
	{ ".", "" },
	{ "*", "" },
	{ "**", "" },
	{ "./", "" },
	{ "/home/me/project", "" },
	{ "/home/me/project/src/*", "src" },
	{ "über/straße/*", "über/straße" },
	{ "a b/c", "a b/c" },
	{ "", NULL },
	{ "..", NULL },
	{ "../other", NULL },
	{ "src/../../x", NULL },
	{ "/home/me/project2", NULL },
	{ "/etc/passwd", NULL },
	{ "src/*.c", NULL },
	{ "s*c/lib", NULL },
	{ "src/*/lib", NULL },
	{ "a\nb", NULL },
	{ "a\xff", NULL },
};

static void a_scope_has_one_spelling(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
		struct call c = { 0 };
		struct str got = normal(&c, scopes[i].text);

		if (!scopes[i].want)
			assert_int_equal(c.code, ERR_INVALID_INPUT);
		else
			assert_str(got, scopes[i].want);
		call_release(&c);
	}
}

static const struct {
	const char *a, *b;
	enum overlap want;
} pairs[] = {
	/* of the protocol, section 5.3 */
	{ "src/*", "src/lib/parser.ts", OVERLAP_PARTIAL },
	{ "src/lib", "src/lib/parser.ts", OVERLAP_PARTIAL },
	{ "src/lib/parser.ts", "src/lib/parser.ts", OVERLAP_EXACT },
	{ "src/lib", "src/components", OVERLAP_DISJOINT },
	/* and the ways it could break */
	{ "src", "src/*", OVERLAP_EXACT },
	{ "src/", "src/**", OVERLAP_EXACT },
	{ "src\\lib", "src/lib", OVERLAP_EXACT },
	{ "src\\*", "src/lib/parser.ts", OVERLAP_PARTIAL },
	{ "src", "srcs", OVERLAP_DISJOINT },
	{ "src/lib", "src/library/x", OVERLAP_DISJOINT },
	{ "/", "README.md", OVERLAP_PARTIAL },
	{ "/", ".", OVERLAP_EXACT },
	{ "a/b/c", "a", OVERLAP_PARTIAL },
	{ "ü", "ü/x", OVERLAP_PARTIAL },
	{ "a", "b", OVERLAP_DISJOINT },
};

static void scopes_overlap_as_folders_do(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct call c = { 0 };
		struct str a = normal(&c, pairs[i].a), b = normal(&c, pairs[i].b);

		assert_int_equal(scope_overlap(a, b), pairs[i].want);
		assert_int_equal(scope_overlap(b, a), pairs[i].want);
		call_release(&c);
	}
}

static void an_agent_is_stale_and_then_evicted(void **arg)
{
	enum { MINUTE = 60000 };

	(void)arg;
	assert_int_equal(liveness_of(0, 0, 15), LIVENESS_ACTIVE);
	assert_int_equal(liveness_of(0, 15 * MINUTE - 1, 15), LIVENESS_ACTIVE);
	assert_int_equal(liveness_of(0, 15 * MINUTE, 15), LIVENESS_STALE);
	assert_int_equal(liveness_of(0, 30 * MINUTE - 1, 15), LIVENESS_STALE);
	assert_int_equal(liveness_of(0, 30 * MINUTE, 15), LIVENESS_EVICTED);
	assert_int_equal(liveness_of(0, 2 * MINUTE, 1), LIVENESS_EVICTED);
	assert_int_equal(liveness_of(MINUTE, 0, 15), LIVENESS_ACTIVE); /* clocks differ */
}

int scope_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scope_has_one_spelling),
		cmocka_unit_test(scopes_overlap_as_folders_do),
		cmocka_unit_test(an_agent_is_stale_and_then_evicted),
	};

	return cmocka_run_group_tests_name("scope", tests, NULL, NULL);
}
