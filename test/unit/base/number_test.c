#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/test.h"

#define COUNT(row) (sizeof(row) / sizeof *(row))

static double from_bits(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

/* A number that reads back as `v`, written with more digits than it needs. */
static struct str long_form(struct arena *mem, double v)
{
	return arena_fmt(mem, "%.25e", v);
}

/* RFC 8785, appendix B; the integers are read from a form with an exponent. */
static void number_canonical_prints_appendix_b_of_rfc_8785(void **state)
{
	static const struct {
		uint64_t bits;
		const char *text;
	} row[] = {
		{ 0x0000000000000000, "0" },
		{ 0x8000000000000000, "0" },
		{ 0x0000000000000001, "5e-324" },
		{ 0x8000000000000001, "-5e-324" },
		{ 0x7fefffffffffffff, "1.7976931348623157e+308" },
		{ 0xffefffffffffffff, "-1.7976931348623157e+308" },
		{ 0x4340000000000000, "9007199254740992" },
		{ 0xc340000000000000, "-9007199254740992" },
		{ 0x4430000000000000, "295147905179352830000" },
		{ 0x44b52d02c7e14af5, "9.999999999999997e+22" },
		{ 0x44b52d02c7e14af6, "1e+23" },
		{ 0x44b52d02c7e14af7, "1.0000000000000001e+23" },
		{ 0x444b1ae4d6e2ef4e, "999999999999999700000" },
		{ 0x444b1ae4d6e2ef4f, "999999999999999900000" },
		{ 0x444b1ae4d6e2ef50, "1e+21" },
		{ 0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7" },
		{ 0x3eb0c6f7a0b5ed8d, "0.000001" },
		{ 0x41b3de4355555553, "333333333.3333332" },
		{ 0x41b3de4355555554, "333333333.33333325" },
		{ 0x41b3de4355555555, "333333333.3333333" },
		{ 0x41b3de4355555556, "333333333.3333334" },
		{ 0x41b3de4355555557, "333333333.33333343" },
		{ 0xbecbf647612f3696, "-0.0000033333333333333333" },
		{ 0x43143ff3c1cb0959, "1424953923781206.2" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		struct str text = long_form(&mem, from_bits(row[i].bits));

		assert_str(number_canonical(&mem, text), row[i].text);
	}
	arena_release(&mem);
}

static void number_canonical_follows_ecmascript(void **state)
{
	static const struct {
		const char *text, *want;
	} row[] = {
		{ "0", "0" },
		{ "-0", "0" },
		{ "-0.0", "0" },
		{ "0e99999", "0" },
		{ "1.0", "1" },
		{ "-1.50", "-1.5" },
		{ "1e0", "1" },
		{ "1e20", "100000000000000000000" },
		{ "123e18", "123000000000000000000" },
		{ "1e21", "1e+21" },
		{ "-1e21", "-1e+21" },
		{ "12e20", "1.2e+21" },
		{ "1e-6", "0.000001" },
		{ "1e-7", "1e-7" },
		{ "12e-8", "1.2e-7" },
		{ "0.1", "0.1" },
		{ "0.10000000000000001", "0.1" },
		{ "0.1000000000000000055511151231257827", "0.1" },
		{ "4.35", "4.35" },
		{ "2.2250738585072014e-308", "2.2250738585072014e-308" },
		{ "2.2250738585072011e-308", "2.225073858507201e-308" },
		{ "4.9e-324", "5e-324" },
		{ "2e-324", "0" },
		{ "1.7976931348623159e308", "1.7976931348623159e308" }, /* infinite: kept */
		{ "1e400", "1e400" },
		{ "9007199254740993.0", "9007199254740992" },
		{ "9007199254740993", "9007199254740993" }, /* an integer: kept */
		{ "2e-44", "2e-44" },
		{ "9.5367431640625e-7", "9.5367431640625e-7" }, /* 2^-20 */
		{ "5.960464477539063e-8", "5.960464477539063e-8" },
		{ "9.210042987525612e-292", "9.210042987525612e-292" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		struct str once = number_canonical(&mem, str_of(row[i].text));

		assert_str(once, row[i].want);
		assert_str(number_canonical(&mem, once), row[i].want);
	}
	arena_release(&mem);
}

/* At a power of two the gap below is half the gap above: the hard case. */
static void number_canonical_reads_back_and_is_shortest_at_powers_of_two(void **state)
{
	struct arena mem = { 0 };

	(void)state;
	for (int power = -1074; power <= 1023; power++) {
		for (int near = -1; near <= 1; near++) {
			double v = ldexp(1, power);
			struct str text;
			size_t digits = 0;

			v = near < 0 ? nextafter(v, 0) : near > 0 ? nextafter(v, 1e308) : v;
			if (v == 0)
				continue;
			text = number_canonical(&mem, long_form(&mem, v));
			assert_true(strtod(arena_cstr(&mem, text), NULL) == v);
			for (size_t i = 0; i < text.n && text.p[i] != 'e'; i++)
				digits += text.p[i] >= '0' && text.p[i] <= '9';
			if (memchr(text.p, 'e', text.n))
				assert_true(digits <= 17);
		}
		arena_reset(&mem);
	}
	arena_release(&mem);
}

static void number_int_takes_64_bits_and_no_more(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t value;
	} row[] = {
		{ "0", true, 0 },
		{ "-0", true, 0 },
		{ "7", true, 7 },
		{ "-7", true, -7 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "9223372036854775810", false, 0 },
		{ "18446744073709551616", false, 0 },
		{ "18446744073709551617", false, 0 },
		{ "99999999999999999999", false, 0 },
		{ "1000000000000000000000000000000", false, 0 },
		{ "", false, 0 },
		{ "-", false, 0 },
		{ "--1", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "1.0", false, 0 },
		{ "1e1", false, 0 },
		{ "0x1", false, 0 },
		{ "1-", false, 0 },
		{ "/", false, 0 },
		{ ":", false, 0 },
		{ "\xef\xbc\x91", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		int64_t got = 0;

		if (number_int(str_of(row[i].text), &got) != row[i].ok)
			fail_msg("%s", row[i].text);
		assert_true(got == row[i].value);
	}
	assert_false(number_int(STR_NONE, &(int64_t){ 0 }));
	assert_false(number_int(STR("1\0"), &(int64_t){ 0 }));
}

static void number_size_is_the_next_power_of_two(void **state)
{
	static const struct {
		int64_t bytes;
		const char *text;
	} row[] = {
		{ 0, "1m" },
		{ 1 << 20, "1m" },
		{ (1 << 20) + 1, "2m" },
		{ 300 << 20, "512m" },
		{ (INT64_C(1) << 30) - 1, "1g" },
		{ INT64_C(2500) << 20, "4g" },
		{ INT64_MAX, "1048576g" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		assert_string_equal(number_size(&mem, row[i].bytes).p, row[i].text);
	arena_release(&mem);
}

int number_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_canonical_prints_appendix_b_of_rfc_8785),
		cmocka_unit_test(number_canonical_follows_ecmascript),
		cmocka_unit_test(number_canonical_reads_back_and_is_shortest_at_powers_of_two),
		cmocka_unit_test(number_int_takes_64_bits_and_no_more),
		cmocka_unit_test(number_size_is_the_next_power_of_two),
	};

	return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
