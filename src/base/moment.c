#include "base/moment.h"

#include <inttypes.h>
#include <time.h>

#include "base/text/json.h"
#include "base/text/value.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR };

/* The range of the years 0000 to 9999, which RFC 3339 can represent. */
static const int64_t FIRST = INT64_C(-62167219200000), LAST = INT64_C(253402300799999);

int64_t moment_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec / 1000000;
}

int64_t moment_ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec / 1000000;
}

void moment_sleep(int64_t ms)
{
	struct timespec t = { ms / SECOND, ms % SECOND * 1000000 };

	if (ms > 0)
		nanosleep(&t, NULL);
}

/* Days from 1970-01-01 to a date of the Gregorian calendar (years begin in March). */
static int64_t days_from_date(int64_t y, int64_t m, int64_t d)
{
	y -= m <= 2;

	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t year = y - era * 400;
	int64_t day = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;

	return era * 146097 + year * 365 + year / 4 - year / 100 + day - 719468;
}

static void put_digits(char *out, int n, int64_t value)
{
	for (; n-- > 0; value /= 10)
		out[n] = (char)('0' + value % 10);
}

struct str moment_format(struct arena *mem, int64_t ms)
{
	ms = ms < MOMENT_LAST ? ms : MOMENT_LAST; /* a year has four digits */

	int64_t days = ms / DAY - (ms % DAY < 0), rest = (ms % DAY + DAY) % DAY;
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	int64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
	int64_t y = yoe + era * 400 + (m <= 2);

	char *out = (char *)arena_copy(mem, STR("0000-00-00T00:00:00.000Z")).p;

	put_digits(out, 4, y);
	put_digits(out + 5, 2, m);
	put_digits(out + 8, 2, d);
	put_digits(out + 11, 2, rest / HOUR);
	put_digits(out + 14, 2, rest / MINUTE % 60);
	put_digits(out + 17, 2, rest / SECOND % 60);
	put_digits(out + 20, 3, rest % SECOND);
	return (struct str){ out, sizeof "0000-00-00T00:00:00.000Z" - 1 };
}

int64_t value_moment(const struct value *v, const char *key)
{
	int64_t ms = 0;

	return moment_parse(value_str(v, key), &ms) ? ms : 0;
}

void json_put_moment(struct json *j, const char *key, int64_t ms)
{
	json_put_str(j, key, ms ? moment_format(j->out.mem, ms) : STR_NONE);
}

/* Removes exactly n digits from the front; -1 if there are fewer. */
static int moment_digits(struct str *s, size_t n)
{
	int value = 0;

	if (s->n < n)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (s->p[i] < '0' || s->p[i] > '9')
			return -1;
		value = value * 10 + (s->p[i] - '0');
	}
	*s = str_skip(*s, n);
	return value;
}

static inline bool moment_take(struct str *s, const char *any)
{
	for (; s->n && *any; any++)
		if (s->p[0] == *any) {
			*s = str_skip(*s, 1);
			return true;
		}
	return false;
}

static int days_in(int y, int m)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return days[m - 1] + (m == 2 && y % 4 == 0 && (y % 100 || y % 400 == 0));
}

static bool moment_parse_date(struct str *s, int64_t *days)
{
	int y = moment_digits(s, 4), m, d;

	if (y < 0 || !moment_take(s, "-") || (m = moment_digits(s, 2)) < 1 || m > 12 ||
	    !moment_take(s, "-") || (d = moment_digits(s, 2)) < 1 || d > days_in(y, m))
		return false;
	*days = days_from_date(y, m, d);
	return true;
}

static bool parse_clock(struct str *s, int64_t *ms)
{
	int h = moment_digits(s, 2), m, sec, weight = 100, fraction = 0;

	if (h < 0 || h > 23 || !moment_take(s, ":") || (m = moment_digits(s, 2)) < 0 || m > 59 ||
	    !moment_take(s, ":") || (sec = moment_digits(s, 2)) < 0 || sec > 60)
		return false;
	if (moment_take(s, ".")) {
		int digit = moment_digits(s, 1);

		if (digit < 0)
			return false;
		for (; digit >= 0; digit = moment_digits(s, 1), weight /= 10)
			fraction += digit * weight;
	}
	*ms = h * (int64_t)HOUR + m * (int64_t)MINUTE + sec * (int64_t)SECOND + fraction;
	return true;
}

static bool parse_zone(struct str *s, int64_t *offset)
{
	bool west = s->n && s->p[0] == '-';
	int h, m;

	*offset = 0;
	if (!s->n || moment_take(s, "Zz"))
		return true;
	if (!moment_take(s, "+-") || (h = moment_digits(s, 2)) < 0 || h > 23 ||
	    !moment_take(s, ":") || (m = moment_digits(s, 2)) < 0 || m > 59)
		return false;
	*offset = (h * (int64_t)HOUR + m * (int64_t)MINUTE) * (west ? -1 : 1);
	return true;
}

bool moment_parse(struct str text, int64_t *ms)
{
	int64_t days, clock, offset;

	if (!moment_parse_date(&text, &days) || !moment_take(&text, "Tt ") ||
	    !parse_clock(&text, &clock) || !parse_zone(&text, &offset) || text.n)
		return false;
	*ms = days * DAY + clock - offset;
	return *ms >= FIRST && *ms <= LAST; /* an offset may lead out of the four-digit years */
}

static const struct {
	char unit;
	int64_t ms;
} units[] = {
	{ 'w', INT64_C(7) * DAY }, { 'd', DAY }, { 'h', HOUR }, { 'm', MINUTE }, { 's', SECOND },
};
enum { UNITS = sizeof units / sizeof *units };

/* Reads a number of at most nine digits and its unit. */
static bool take_part(struct str *rest, int64_t *count, size_t *unit)
{
	size_t n = 0;

	*count = 0;
	for (; n < rest->n && n < 9 && rest->p[n] >= '0' && rest->p[n] <= '9'; n++)
		*count = *count * 10 + (rest->p[n] - '0');
	if (!n || n == rest->n)
		return false;
	for (*unit = 0; *unit < UNITS; ++*unit)
		if (rest->p[n] == units[*unit].unit) {
			*rest = str_skip(*rest, n + 1);
			return true;
		}
	return false;
}

bool duration_parse(struct str text, int64_t *ms)
{
	size_t unit, next = 0; /* each unit must be smaller than the one before */
	int64_t count;

	*ms = 0;
	do {
		if (!take_part(&text, &count, &unit) || unit < next)
			return false;
		*ms += count * units[unit].ms;
		next = unit + 1;
	} while (text.n);
	return true;
}

struct str duration_left(struct arena *mem, int64_t ms)
{
	int64_t minutes = (ms + MINUTE - 1) / MINUTE, hours = minutes / 60, days = hours / 24;

	if (days)
		return days < 10 && hours % 24 ?
			       arena_fmt(mem, "%" PRId64 "d%" PRId64 "h", days, hours % 24) :
			       arena_fmt(mem, "%" PRId64 "d", days);
	if (hours)
		return hours < 10 && minutes % 60 ?
			       arena_fmt(mem, "%" PRId64 "h%" PRId64 "m", hours, minutes % 60) :
			       arena_fmt(mem, "%" PRId64 "h", hours);
	return arena_fmt(mem, "%" PRId64 "m", minutes);
}

struct str duration_format(struct arena *mem, int64_t ms)
{
	for (size_t i = 0; i < UNITS; i++)
		if (ms % units[i].ms == 0 && ms)
			return arena_fmt(mem, "%" PRId64 "%c", ms / units[i].ms, units[i].unit);
	return arena_fmt(mem, "%" PRId64 "s", ms / SECOND);
}
