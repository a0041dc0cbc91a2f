#include "base/moment.h"

#include <time.h>

#include "unit/test.h"

#define COUNT(row) (sizeof(row) / sizeof *(row))

static void moment_reads_rfc_3339(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} row[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "1970-01-01T00:00:00.001Z", 1 },
		{ "1969-12-31T23:59:59.999Z", -1 },
		{ "1969-12-31T23:59:59Z", -1000 },
		{ "2001-09-09T01:46:40Z", 1000000000000 },
		{ "2026-11-15T21:31:59.123Z", 1794778319123 },
		{ "2026-11-15t21:31:59.123z", 1794778319123 },
		{ "2038-01-19T03:14:08Z", 2147483648000 },
		{ "0000-01-01T00:00:00Z", -62167219200000 },
		{ "9999-12-31T23:59:59.999Z", 253402300799999 },
		/* leap years */
		{ "2024-02-29T00:00:00Z", 1709164800000 },
		{ "2000-02-29T12:00:00Z", 951825600000 },
		{ "2000-03-01T00:00:00Z", 951868800000 },
		{ "1900-03-01T00:00:00Z", -2203891200000 },
		{ "2100-03-01T00:00:00Z", 4107542400000 },
		/* a leap second is the moment that follows it */
		{ "2016-12-31T23:59:60Z", 1483228800000 },
		/* offsets */
		{ "2026-11-15T22:31:59.123+01:00", 1794778319123 },
		{ "2026-11-15T16:01:59.123-05:30", 1794778319123 },
		{ "2026-11-16T21:30:59.123+23:59", 1794778319123 },
		{ "1970-01-01T00:00:00-00:00", 0 },
		{ "1970-01-01T00:00:00+00:01", -60000 },
		{ "2024-03-01T00:30:00+01:00", 1709249400000 },
		/* one to nine digits of a fraction, and more; the rest is dropped */
		{ "1970-01-01T00:00:00.1Z", 100 },
		{ "1970-01-01T00:00:00.12Z", 120 },
		{ "1970-01-01T00:00:00.1234Z", 123 },
		{ "1970-01-01T00:00:00.123999999Z", 123 },
		{ "1970-01-01T00:00:00.000000001Z", 0 },
		{ "1970-01-01T00:00:00.9999999999999999999999Z", 999 },
		{ "1970-01-01T00:00:00.999999999+00:00", 999 },
		{ "1969-12-31T23:59:59.9999Z", -1 },
		/* as SQLite writes it */
		{ "2026-11-15 21:31:59", 1794778319000 },
		{ "2026-11-15 21:31:59.123", 1794778319123 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		int64_t ms = INT64_MIN;

		if (!moment_parse(str_of(row[i].text), &ms) || ms != row[i].ms)
			fail_msg("%s: %lld", row[i].text, (long long)ms);
	}
}

static void moment_refuses_everything_else(void **state)
{
	const struct str row[] = {
		STR(""),
		STR("now"),
		STR("0"),
		STR("1794778319123"),
		STR("2026"),
		STR("2026-11-15"),
		STR("2026-11-15T"),
		STR("2026-11-15T21:31"),
		STR("2026-11-15T21:31Z"),
		STR("2026-11-15T21:31:59.Z"),
		STR("2026-11-15T21:31:59."),
		STR("2026-11-15T21:31:59,5Z"),
		STR("2026-11-15T21:31:59ZZ"),
		STR("2026-11-15T21:31:59Z "),
		STR(" 2026-11-15T21:31:59Z"),
		STR("2026-11-15  21:31:59"),
		STR("2026-11-15_21:31:59Z"),
		STR("26-11-15T21:31:59Z"),
		STR("02026-11-15T21:31:59Z"),
		STR("+2026-11-15T21:31:59Z"),
		STR("-2026-11-15T21:31:59Z"),
		STR("2026-1-15T21:31:59Z"),
		STR("2026-11-5T21:31:59Z"),
		STR("2026/11/15T21:31:59Z"),
		STR("20261115T213159Z"),
		STR("2026-00-15T21:31:59Z"),
		STR("2026-13-15T21:31:59Z"),
		STR("2026-11-00T21:31:59Z"),
		STR("2026-11-31T21:31:59Z"),
		STR("2026-01-32T21:31:59Z"),
		STR("2026-02-29T21:31:59Z"),
		STR("2024-02-30T21:31:59Z"),
		STR("1900-02-29T21:31:59Z"),
		STR("2100-02-29T21:31:59Z"),
		STR("2026-11-15T24:00:00Z"),
		STR("2026-11-15T21:60:00Z"),
		STR("2026-11-15T21:31:61Z"),
		STR("2026-11-15T-1:31:59Z"),
		STR("2026-11-15T2a:31:59Z"),
		STR("2026-11-15T21:31:59+1:00"),
		STR("2026-11-15T21:31:59+01"),
		STR("2026-11-15T21:31:59+0100"),
		STR("2026-11-15T21:31:59+24:00"),
		STR("2026-11-15T21:31:59+01:60"),
		STR("2026-11-15T21:31:59+01:00Z"),
		STR("2026-11-15T21:31:59 UTC"),
		STR("2026-11-15T21:31:59\xe2\x88\x92"
		    "01:00"), /* a minus sign, not a hyphen */
		/* a NUL is not a separator */
		STR("2026\00011\00015T21:31:59Z"),
		STR("2026-11-15\00021:31:59Z"),
		STR("2026-11-15T21:31:59\0"),
		STR("2026-11-15T21:31:59Z\0"),
		/* moments that have no four-digit year in UTC */
		STR("0000-01-01T00:00:00+00:01"),
		STR("9999-12-31T23:59:59-00:01"),
		STR("9999-12-31T23:59:60Z"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		int64_t ms;

		if (moment_parse(row[i], &ms))
			fail_msg("accepted " STR_FMT, STR_ARG(row[i]));
	}
	assert_false(moment_parse(STR_NONE, &(int64_t){ 0 }));
}

static void moment_formats_utc_with_milliseconds(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} row[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ -1, "1969-12-31T23:59:59.999Z" },
		{ -86400000, "1969-12-31T00:00:00.000Z" },
		{ 1794778319123, "2026-11-15T21:31:59.123Z" },
		{ 951825600000, "2000-02-29T12:00:00.000Z" },
		{ 1709251199999, "2024-02-29T23:59:59.999Z" },
		{ -62167219200000, "0000-01-01T00:00:00.000Z" },
		{ 253402300799999, "9999-12-31T23:59:59.999Z" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		assert_str(moment_format(&mem, row[i].ms), row[i].text);
	assert_non_null(moment_format(&mem, INT64_MIN).p); /* no overflow on the way */
	assert_non_null(moment_format(&mem, INT64_MAX).p);
	arena_release(&mem);
}

/* Steps of a day and some, so that every time of the day is met. */
static void moment_comes_back_from_every_year(void **state)
{
	enum { STEP = 86400000 + 12345678 + 1 };
	struct arena mem = { 0 };
	struct str before = { 0 };

	(void)state;
	for (int64_t ms = -62167219200000; ms <= 253402300799999; ms += STEP) {
		struct str text = moment_format(&mem, ms);
		int64_t back;

		if (!moment_parse(text, &back) || back != ms)
			fail_msg("%lld: " STR_FMT, (long long)ms, STR_ARG(text));
		if (before.p)
			assert_true(str_cmp(before, text) < 0);
		before = text;
		if (ms % 1000 == 0) {
			arena_reset(&mem);
			before = STR_NONE;
		}
	}
	arena_release(&mem);
}

static void moment_agrees_with_the_c_library(void **state)
{
	struct arena mem = { 0 };

	(void)state;
	for (int64_t day = -719528; day < 2932897; day += 61) {
		time_t t = (time_t)(day * 86400 + 45296);
		struct tm tm;
		char want[64];

		gmtime_r(&t, &tm);
		snprintf(want, sizeof want, "%04d-%02d-%02dT%02d:%02d:%02d.000Z", tm.tm_year + 1900,
			 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
		assert_str(moment_format(&mem, (int64_t)t * 1000), want);
		arena_reset(&mem);
	}
	arena_release(&mem);
}

static void duration_reads_a_count_and_a_unit(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} row[] = {
		{ "0s", 0 },          { "1s", 1000 },        { "30s", 30000 },
		{ "10m", 600000 },    { "1h", 3600000 },     { "2d", 172800000 },
		{ "1w", 604800000 },  { "007d", 604800000 }, { "999999999w", 604799999395200000 },
		{ "1d1h", 90000000 }, { "1h30m", 5400000 },  { "1w2d3h4m5s", 788645000 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		int64_t ms = -1;

		if (!duration_parse(str_of(row[i].text), &ms) || ms != row[i].ms)
			fail_msg("%s: %lld", row[i].text, (long long)ms);
	}
}

static void duration_refuses_everything_else(void **state)
{
	const struct str row[] = {
		STR(""),
		STR("s"),
		STR("1"),
		STR("10"),
		STR("-1s"),
		STR("+1s"),
		STR("1.5h"),
		STR("1 s"),
		STR(" 1s"),
		STR("1s "),
		STR("1S"),
		STR("1M"),
		STR("1y"),
		STR("1ms"),
		STR("1min"),
		STR("1h30"),
		STR("1h1d"),
		STR("1h2h"),
		STR("1h30m "),
		STR("s1"),
		STR("0x1s"),
		STR("1e3s"),
		STR("1\0"),
		STR("1s\0"),
		STR("1_s"),
		STR("\xc2\xb2s"),
		STR("10000000000s"),
		STR("99999999999999999999w"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		int64_t ms;

		if (duration_parse(row[i], &ms))
			fail_msg("accepted " STR_FMT, STR_ARG(row[i]));
	}
}

static void duration_format_takes_the_largest_unit(void **state)
{
	static const char *const text[] = { "0s", "1s",  "59s", "61s", "1m", "90m",
					    "1h", "25h", "1d",  "8d",  "2w" };
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(text); i++) {
		int64_t ms;

		assert_true(duration_parse(str_of(text[i]), &ms));
		assert_str(duration_format(&mem, ms), text[i]);
	}
	assert_str(duration_format(&mem, 7 * 86400000), "1w");
	assert_str(duration_format(&mem, 1500), "1s");
	arena_release(&mem);
}

static void duration_left_rounds_up_to_minutes_and_has_at_most_two_units(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} row[] = {
		{ 0, "0m" },          { 1, "1m" },          { 60000, "1m" },
		{ 60001, "2m" },      { 3599001, "1h" },    { 3600000, "1h" },
		{ 7199000, "2h" },    { 7140000, "1h59m" }, { 5400000, "1h30m" },
		{ 36060000, "10h" },  { 86400000, "1d" },   { 90000000, "1d1h" },
		{ 864000000, "10d" }, { 950400000, "11d" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		assert_str(duration_left(&mem, row[i].ms), row[i].text);
	arena_release(&mem);
}

int moment_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moment_reads_rfc_3339),
		cmocka_unit_test(moment_refuses_everything_else),
		cmocka_unit_test(moment_formats_utc_with_milliseconds),
		cmocka_unit_test(moment_comes_back_from_every_year),
		cmocka_unit_test(moment_agrees_with_the_c_library),
		cmocka_unit_test(duration_reads_a_count_and_a_unit),
		cmocka_unit_test(duration_refuses_everything_else),
		cmocka_unit_test(duration_format_takes_the_largest_unit),
		cmocka_unit_test(duration_left_rounds_up_to_minutes_and_has_at_most_two_units),
	};

	return cmocka_run_group_tests_name("moment", tests, NULL, NULL);
}
