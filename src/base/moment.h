#ifndef BASE_MOMENT_H
#define BASE_MOMENT_H

#include <stdint.h>

#include "base/arena.h"

struct json;
struct value;

/* A moment is milliseconds since 1970-01-01T00:00:00Z, without leap seconds. */

#define MOMENT_LAST INT64_C(253402300799999) /* end of the year 9999 */

int64_t moment_now(void);   /* the wall clock */
int64_t moment_ticks(void); /* monotonic ms, for measuring */
void moment_sleep(int64_t ms);

/* RFC 3339 in UTC with milliseconds: 2026-11-15T21:31:59.123Z */
struct str moment_format(struct arena *mem, int64_t ms);
void json_put_moment(struct json *j, const char *key, int64_t ms); /* 0: null */

/*
 * RFC 3339 with any offset and any number of fraction digits. Also SQLite's own form, with a
 * space for the T; without a zone it is UTC.
 */
bool moment_parse(struct str text, int64_t *ms);
int64_t value_moment(const struct value *v, const char *key); /* a member; 0: no moment */

/* "30s", "10m", "1h", "2d", "1w"; nothing else. */
bool duration_parse(struct str text, int64_t *ms);
struct str duration_format(struct arena *mem, int64_t ms);

/* A time that is left, for people: "45m", "1h59m", "3d"; whole minutes, rounded up. */
struct str duration_left(struct arena *mem, int64_t ms);

#endif
