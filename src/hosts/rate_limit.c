/*
 * A message is recognised by a phrase for the limit; the end of the limit is looked for after it or
 * anywhere else in the output, in the order of the rules below, from the exact to the vague.
 */
#include "hosts/rate_limit.h"

#include <time.h>

enum {
	UNKNOWN_MS = 5 * 60 * 1000,
	DAY_MS = 24 * 3600 * 1000,
	DIGITS = 10,         /* of a number; more is no time */
	PART_MOST = 1000000, /* of one unit in a duration */
};

static const int64_t longest_ms = INT64_C(8) * DAY_MS; /* a week's limit */

static const char *const signs[] = {
	"limit reached", "hit your",          "rate limit",   "rate_limit",
	"ratelimit",     "http 429",          "error 429",    "error: 429",
	"status 429",    "code 429",          "\"code\":429", "resource_exhausted",
	"quota",         "too many requests", "usage limit",  "limit · resets",
};

/* The letters of ASCII in lower case. */
static struct str rate_limit_lower(struct arena *mem, struct str text)
{
	struct str copy = arena_copy(mem, text);
	char *p = (char *)copy.p;

	for (size_t i = 0; i < copy.n; i++)
		if (p[i] >= 'A' && p[i] <= 'Z')
			p[i] |= 0x20;
	return copy;
}

/* The text after the last occurrence of a phrase; absent: there is none. */
static struct str rate_limit_after(struct str text, const char *phrase)
{
	struct str found = STR_NONE, word = str_of(phrase);
	const char *at;

	while ((at = str_find(text, word))) {
		text = str_skip(text, (size_t)(at - text.p) + word.n);
		found = text;
	}
	return found;
}

static void rate_limit_skip(struct str *text, const char *bytes)
{
	while (text->n && strchr(bytes, text->p[0]))
		*text = str_skip(*text, 1);
}

/* Digits at the start of the text, which moves on. */
static bool rate_limit_number(struct str *text, int64_t *out)
{
	size_t n = 0;

	for (*out = 0; n < text->n && text->p[n] >= '0' && text->p[n] <= '9'; n++)
		if (n < DIGITS)
			*out = *out * 10 + (text->p[n] - '0');
	*text = str_skip(*text, n);
	return n && n <= DIGITS;
}

/* The unit at the start of the text, which moves on behind the word; 0: none. */
static int64_t rate_limit_unit(struct str *text)
{
	static const struct {
		const char *word;
		int64_t ms;
	} units[] = { { "ms", 1 },   { "min", 60000 }, { "m", 60000 },
		      { "s", 1000 }, { "h", 3600000 }, { "d", DAY_MS } };

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (!str_starts(*text, str_of(units[i].word)))
			continue;
		while (text->n && text->p[0] >= 'a' && text->p[0] <= 'z')
			*text = str_skip(*text, 1);
		return units[i].ms;
	}
	return 0;
}

/* "2 days 17 hours 14 minutes", "18h24m3s", "34.07s"; a number without a unit is seconds. */
static bool rate_limit_duration(struct str text, int64_t *ms)
{
	bool some = false;
	int64_t n, unit, fraction;

	for (*ms = 0;; some = true) {
		rate_limit_skip(&text, " ,");
		if (str_starts(text, STR("and ")))
			text = str_skip(text, 4);
		if (!rate_limit_number(&text, &n))
			return some;
		if (n > PART_MOST || *ms > longest_ms)
			return false;
		if (text.n > 1 && text.p[0] == '.' && text.p[1] >= '0' && text.p[1] <= '9') {
			text = str_skip(text, 1);
			rate_limit_number(&text, &fraction);
			n++; /* rounded up */
		}
		rate_limit_skip(&text, " ");
		if (!(unit = rate_limit_unit(&text)) && some)
			return true;
		*ms += n * (unit ? unit : 1000);
		if (!unit)
			return true;
	}
}

static int rate_limit_month(struct str *text)
{
	static const char months[] = "janfebmaraprmayjunjulaugsepoctnovdec";

	for (int i = 0; i < 12; i++) {
		if (!str_starts(*text, (struct str){ months + 3 * i, 3 }))
			continue;
		while (text->n && text->p[0] >= 'a' && text->p[0] <= 'z')
			*text = str_skip(*text, 1);
		return i;
	}
	return -1;
}

/* "3pm", "2:51 pm", "18:44", and before it "jan 12, "; the next such moment. */
static bool rate_limit_clock(struct call *c, struct str text, int64_t *until_ms)
{
	time_t now = (time_t)(c->now_ms / 1000), at;
	int64_t day = 0, hour, minute = 0;
	int month = rate_limit_month(&text);
	bool utc, half;
	struct tm tm;

	rate_limit_skip(&text, " ");
	if (month >= 0 && !rate_limit_number(&text, &day))
		return false;
	rate_limit_skip(&text, " ,at");
	if (!rate_limit_number(&text, &hour) || hour > 23)
		return false;
	if (str_starts(text, STR(":"))) {
		text = str_skip(text, 1);
		if (!rate_limit_number(&text, &minute) || minute > 59)
			return false;
	}
	rate_limit_skip(&text, " ");
	half = str_starts(text, STR("am")) || str_starts(text, STR("pm"));
	if (half && (hour < 1 || hour > 12))
		return false;
	if (half)
		hour = hour % 12 + (text.p[0] == 'p' ? 12 : 0);
	utc = str_has(str_head(text, text.n < 10 ? text.n : 10), STR("utc"));
	if (utc ? !gmtime_r(&now, &tm) : !localtime_r(&now, &tm))
		return false;
	tm.tm_hour = (int)hour;
	tm.tm_min = (int)minute;
	tm.tm_sec = 0;
	tm.tm_isdst = -1;
	if (month >= 0) {
		tm.tm_year += month < tm.tm_mon - 6;
		tm.tm_mon = month;
		tm.tm_mday = (int)day;
	}
	at = utc ? timegm(&tm) : mktime(&tm);
	if (month < 0 && at <= now) {
		tm.tm_mday++;
		tm.tm_isdst = -1;
		at = utc ? timegm(&tm) : mktime(&tm);
	}
	*until_ms = (int64_t)at * 1000;
	return true;
}

/* A moment in seconds since 1970. */
static bool rate_limit_epoch(struct call *c, struct str text, int64_t *until_ms)
{
	int64_t seconds;

	(void)c;
	if (!rate_limit_number(&text, &seconds))
		return false;
	*until_ms = seconds * 1000;
	return true;
}

static bool rate_limit_left(struct call *c, struct str text, int64_t *until_ms)
{
	int64_t ms;

	rate_limit_skip(&text, " \t:=\"\\'");
	if (!rate_limit_duration(text, &ms))
		return false;
	*until_ms = c->now_ms + ms;
	return true;
}

static const struct {
	const char *phrase;
	bool (*read)(struct call *c, struct str text, int64_t *until_ms);
} rules[] = {
	{ "limit reached|", rate_limit_epoch }, { "retry-after", rate_limit_left },
	{ "retrydelay", rate_limit_left },      { "try again in", rate_limit_left },
	{ "retry in", rate_limit_left },        { "reset after", rate_limit_left },
	{ "resets in", rate_limit_left },       { "reset in", rate_limit_left },
	{ "try again at", rate_limit_clock },   { "resets at", rate_limit_clock },
	{ "reset at", rate_limit_clock },       { "resets", rate_limit_clock },
};

bool rate_limit_find(struct call *c, struct str output, bool failed, int64_t *until_ms)
{
	struct str text = rate_limit_lower(&c->mem, output);
	bool limited = false;

	for (size_t i = 0; !limited && i < sizeof signs / sizeof *signs; i++)
		limited = str_has(text, str_of(signs[i]));
	if (!limited)
		return false;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		struct str after = rate_limit_after(text, rules[i].phrase);

		rate_limit_skip(&after, " ");
		if (after.p && rules[i].read(c, after, until_ms) && *until_ms > c->now_ms &&
		    *until_ms - c->now_ms <= longest_ms)
			return true;
	}
	*until_ms = c->now_ms + UNKNOWN_MS;
	return failed;
}
