#include "hosts/rate_limit.h"

#include "unit/test.h"

#include <stdlib.h>
#include <time.h>

#include "base/moment.h"

/* Tuesday, 12:00 in UTC; the zone of the tests is two hours ahead. */
static const char now[] = "2026-11-17T12:00:00.000Z";

static const struct {
	const char *output, *until; /* NULL: no message about a limit */
} rows[] = {
	{ "Claude AI usage limit reached|1794920400", "2026-11-17T13:00:00.000Z" },
	{ "Claude usage limit reached. Your limit will reset at 5pm (Europe/Athens).",
	  "2026-11-17T15:00:00.000Z" },
	{ "You've hit your session limit · resets 12:50am (Europe/Athens)",
	  "2026-11-17T22:50:00.000Z" },
	{ "You've hit your weekly limit · resets Nov 20, 10:59am", "2026-11-20T08:59:00.000Z" },
	{ "5-hour limit reached ∙ resets 2pm", "2026-11-18T12:00:00.000Z" },
	{ "You've hit your usage limit. Upgrade to Pro or try again in 2 days 17 hours 14 minutes.",
	  "2026-11-20T05:14:00.000Z" },
	{ "You’ve hit your usage limit. Visit the page or try again at 4:51 PM.",
	  "2026-11-17T14:51:00.000Z" },
	{ "rate limit: try again at 16:30 UTC", "2026-11-17T16:30:00.000Z" },
	{ "You exceeded your current quota. Please retry in 34.07s.", "2026-11-17T12:00:35.000Z" },
	{ "Your quota will reset after 18h24m3s.", "2026-11-18T06:24:03.000Z" },
	{ "{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{\"retryDelay\":\"59s\"}]}",
	  "2026-11-17T12:00:59.000Z" },
	{ "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 120\r\n", "2026-11-17T12:02:00.000Z" },
	{ "Error: 429 {\"type\":\"rate_limit_error\"}", "2026-11-17T12:05:00.000Z" },
	{ "Claude AI usage limit reached|1", "2026-11-17T12:05:00.000Z" },
	{ "usage limit reached|99999999999999999999", "2026-11-17T12:05:00.000Z" },
	{ "rate limit; resets at 25:99pm", "2026-11-17T12:05:00.000Z" },
	{ "rate limit; try again in 9999999999 days 9999999999 days", "2026-11-17T12:05:00.000Z" },
	{ "rate limit; try again in 900 days", "2026-11-17T12:05:00.000Z" },
	{ "make: *** [Makefile:4: all] Error 2", NULL },
	{ "the alarm resets at 3pm", NULL },
	{ "parser.c: line 429: expected ';'", NULL },
	{ "", NULL },
};

static void test_a_message_names_the_end_of_the_limit(void **state)
{
	(void)state;
	setenv("TZ", "EET-2", 1);
	tzset();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct call c = { 0 };
		int64_t until = 0;
		bool found;

		assert_true(moment_parse(str_of(now), &c.now_ms));
		found = rate_limit_find(&c, str_of(rows[i].output), true, &until);
		if (found != !!rows[i].until ||
		    (found && !str_is(moment_format(&c.mem, until), rows[i].until)))
			fail_msg("%s: %s", rows[i].output, moment_format(&c.mem, until).p);
		call_release(&c);
	}
}

static void test_without_an_end_only_the_output_of_a_failed_command_counts(void **state)
{
	struct str vague = STR("The parser now reports a rate limit."),
		   exact = STR("rate limit: try again in 20s");
	struct call c = { .now_ms = 1000 };
	int64_t until;

	(void)state;
	assert_true(rate_limit_find(&c, vague, true, &until));
	assert_false(rate_limit_find(&c, vague, false, &until));
	assert_true(rate_limit_find(&c, exact, false, &until));
	assert_int_equal(until, 21000);
	call_release(&c);
}

int rate_limit_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_message_names_the_end_of_the_limit),
		cmocka_unit_test(test_without_an_end_only_the_output_of_a_failed_command_counts),
	};

	return cmocka_run_group_tests_name("rate_limit", tests, NULL, NULL);
}
