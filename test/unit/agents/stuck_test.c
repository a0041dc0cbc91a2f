#include "agents/stuck.h"

#include "store/vybe/vybe_rows.h"
#include "unit/test.h"

enum { MINUTE = 60000, AFTER = 10 * MINUTE, EVENTS = 8 };

/* An event, with its time in minutes; the message of a tool's event is the call. */
struct told {
	const char *kind;
	int minute;
	const char *message, *metadata;
};

#define FAILED(minute, call)                       \
	{                                          \
		"tool_failure", minute, call, NULL \
	}
#define FAILED_5                                                                    \
	FAILED(9, "make"), FAILED(8, "make"), FAILED(7, "make"), FAILED(6, "make"), \
		FAILED(5, "make")

static const struct {
	const char *name;
	int now, epoch; /* in minutes */
	struct told told[EVENTS];
	enum { FINE, SILENT, REPEATS } want;
	int since; /* of a stuck agent */
} cases[] = {
	{ "no report", 60, 1, { { 0 } }, FINE, 0 },
	{ "a report just in time", 10, 0, { { "tool_success", 1, "make", NULL } }, FINE, 0 },
	{ "silent", 11, 0, { { "tool_success", 1, "make", NULL } }, SILENT, 1 },
	{ "a claim counts like a report", 14, 5, { { "tool_success", 1, "make", NULL } }, FINE, 0 },
	{ "silent since the claim", 15, 5, { { "tool_success", 1, "make", NULL } }, SILENT, 5 },
	{ "an event of another kind is no report", 30, 0, { { "note", 29, "", NULL } }, FINE, 0 },
	{ "the newest report counts",
	  20,
	  0,
	  { { "host_event", 15, "", NULL }, { "tool_success", 1, "", NULL } },
	  FINE,
	  0 },
	{ "five equal failures", 10, 0, { FAILED_5 }, REPEATS, 5 },
	{ "four equal failures",
	  10,
	  0,
	  { FAILED(9, "make"), FAILED(8, "make"), FAILED(7, "make"), FAILED(6, "make") },
	  FINE,
	  0 },
	{ "a success ends the row", 10, 0, { { "tool_success", 9, "", NULL }, FAILED_5 }, FINE, 0 },
	{ "a prompt ends the row", 10, 0, { { "user_prompt", 9, "", NULL }, FAILED_5 }, FINE, 0 },
	{ "another call ends the row", 10, 0, { FAILED(9, "ls"), FAILED_5 }, FINE, 0 },
	{ "a checkpoint does not", 10, 0, { { "checkpoint", 9, "", NULL }, FAILED_5 }, REPEATS, 5 },
	{ "failures before the claim", 12, 10, { FAILED_5 }, FINE, 0 },
	{ "silent after failures that were too few",
	  19,
	  0,
	  { FAILED(9, "make"), FAILED(8, "make") },
	  SILENT,
	  9 },
	{ "a wait for a rate limit",
	  100,
	  0,
	  { { "rate_limit", 1, "", "{\"until\":\"1970-01-01T02:00:00Z\"}" } },
	  FINE,
	  0 },
	{ "the wait has just ended",
	  129,
	  0,
	  { { "rate_limit", 1, "", "{\"until\":\"1970-01-01T02:00:00Z\"}" } },
	  FINE,
	  0 },
	{ "silent after the wait",
	  130,
	  0,
	  { { "rate_limit", 1, "", "{\"until\":\"1970-01-01T02:00:00Z\"}" } },
	  SILENT,
	  120 },
	{ "a wait without an end", 11, 0, { { "rate_limit", 1, "", "{" } }, SILENT, 1 },
};

/* The events as a list, newest first. */
static struct event_row *list_of(const struct told *told, struct event_row *row)
{
	struct event_row *first = NULL, **tail = &first;

	for (int i = 0; i < EVENTS && told[i].kind; i++) {
		row[i] = (struct event_row){ .kind = str_of(told[i].kind),
					     .message = str_of(told[i].message),
					     .metadata = str_of(told[i].metadata),
					     .created = (int64_t)told[i].minute * MINUTE };
		*tail = &row[i];
		tail = &row[i].next;
	}
	return first;
}

static void test_rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct call c = { .now_ms = (int64_t)cases[i].now * MINUTE };
		struct event_row rows[EVENTS];
		struct stuck one = { .epoch.ms = (int64_t)cases[i].epoch * MINUTE };
		bool is = stuck_judge(&c, list_of(cases[i].told, rows), AFTER, &one);

		if (is != (cases[i].want != FINE) ||
		    (is &&
		     (one.reason != (cases[i].want == SILENT ? STUCK_SILENT : STUCK_REPEATS) ||
		      one.since_ms != (int64_t)cases[i].since * MINUTE)))
			fail_msg("%s: %d, reason %d, since minute %d", cases[i].name, is,
				 one.reason, (int)(one.since_ms / MINUTE));
		call_release(&c);
	}
}

static void test_what_is_said_about_it(void **state)
{
	struct call c = { .now_ms = 130 * MINUTE + 59000 };
	struct event_row rows[EVENTS];
	struct told wait = { "rate_limit", 1, "", stuck_wait(&c, 150 * MINUTE).p };
	struct told again[EVENTS] = { FAILED_5 };
	struct stuck one = { .since_ms = 60 * MINUTE };

	(void)state;
	assert_str(stuck_text(&c, &one), "has reported nothing for 70m");
	assert_false(stuck_judge(&c, list_of((struct told[EVENTS]){ wait }, rows), AFTER, &one));
	assert_int_equal(one.waits_ms, 150 * MINUTE);
	one = (struct stuck){ 0 };
	assert_true(stuck_judge(&c, list_of(again, rows), AFTER, &one));
	assert_int_equal(one.times, 5);
	assert_str(stuck_text(&c, &one), "has repeated a failing call 5 times: make");
	call_release(&c);
}

int stuck_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule),
		cmocka_unit_test(test_what_is_said_about_it),
	};

	return cmocka_run_group_tests_name("stuck", tests, NULL, NULL);
}
