#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool number_int(struct str text, int64_t *out)
{
	bool minus = text.n && text.p[0] == '-';
	uint64_t value = 0, limit = (uint64_t)INT64_MAX + minus;

	if (text.n == (size_t)minus)
		return false;
	for (size_t i = minus; i < text.n; i++) {
		unsigned digit = (unsigned)(text.p[i] - '0');

		if (digit > 9 || value > (limit - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = minus ? (int64_t)(0 - value) : (int64_t)value;
	return true;
}

/*
 * The fewest digits that read back as `v`, and the power of ten of the first digit. At a power of
 * two, where the gap below is half the gap above, the nearest decimal of a length may fail while
 * its upper neighbour succeeds, so both are tried.
 */
static int number_shortest(double v, char digits[18])
{
	for (int n = 1;; n++) {
		char text[32];
		int power, last;

		snprintf(text, sizeof text, "%.*e", n - 1, v);
		for (int up = 0; up < 2; up++) {
			if (strtod(text, NULL) == v || n == 17) {
				int count = 0;

				for (char *p = text; *p != 'e'; p++)
					if (*p != '.')
						digits[count++] = *p;
				digits[count] = '\0';
				power = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
				return power;
			}
			last = n == 1 ? 0 : n; /* index of the last digit, after the point */
			if (text[last] == '9')
				break;
			text[last]++;
		}
	}
}

/* ECMAScript's Number::toString, which RFC 8785 adopts. */
static struct str number_ecmascript(struct arena *mem, double v)
{
	char digits[18];
	int power = number_shortest(fabs(v), digits), n = (int)strlen(digits);
	const char *minus = v < 0 ? "-" : "";

	if (power >= 21 || power < -6)
		return arena_fmt(mem, "%s%c%s%se%+d", minus, digits[0], n > 1 ? "." : "",
				 digits + 1, power);
	if (power < 0)
		return arena_fmt(mem, "%s0.%.*s%s", minus, -power - 1, "000000", digits);
	if (power >= n - 1)
		return arena_fmt(mem, "%s%s%.*s", minus, digits, power - n + 1,
				 "00000000000000000000");
	return arena_fmt(mem, "%s%.*s.%s", minus, power + 1, digits, digits + power + 1);
}

struct str number_canonical(struct arena *mem, struct str text)
{
	double v;

	if (str_is(text, "-0"))
		return STR("0");
	if (!memchr(text.p, '.', text.n) && !memchr(text.p, 'e', text.n) &&
	    !memchr(text.p, 'E', text.n))
		return text;
	v = strtod(arena_cstr(mem, text), NULL);
	if (v == 0)
		return STR("0");
	return isfinite(v) ? number_ecmascript(mem, v) : text;
}

struct str number_size(struct arena *mem, int64_t bytes)
{
	int64_t most = (int64_t)1 << 20;

	while (most < bytes && most < (int64_t)1 << 50)
		most *= 2;
	return most < (int64_t)1 << 30 ? arena_fmt(mem, "%lldm", (long long)(most >> 20)) :
					 arena_fmt(mem, "%lldg", (long long)(most >> 30));
}
