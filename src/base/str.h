#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * A borrowed run of bytes. It never owns memory: the bytes belong to an arena, a literal or the
 * caller, and must outlive the slice. A NULL pointer means an absent string, which differs from an
 * empty one.
 */
struct str {
	const char *p;
	size_t n;
};

#define STR(lit)   ((struct str){ "" lit, sizeof(lit) - 1 })
#define STR_NONE   ((struct str){ 0 }) /* absent */
#define STR_FMT    "%.*s"
#define STR_ARG(s) (int)(s).n, (s).p ? (s).p : ""

static inline struct str str_of(const char *z)
{
	return (struct str){ z, z ? strlen(z) : 0 };
}

static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

static inline bool str_is(struct str s, const char *z)
{
	return str_eq(s, str_of(z));
}

static inline bool str_starts(struct str s, struct str head)
{
	return s.n >= head.n && (!head.n || !memcmp(s.p, head.p, head.n));
}

static inline bool str_ends(struct str s, struct str tail)
{
	return s.n >= tail.n && (!tail.n || !memcmp(s.p + s.n - tail.n, tail.p, tail.n));
}

/* `s` without its first n bytes. */
static inline struct str str_skip(struct str s, size_t n)
{
	n = n < s.n ? n : s.n;
	return n ? (struct str){ s.p + n, s.n - n } : s;
}

/*
 * An absent text has no address to which even 0 may be added, so these two are used instead of
 * `s.p + n` where the text may be empty.
 */
static inline const char *str_end(struct str s)
{
	return s.n ? s.p + s.n : s.p;
}

static inline struct str str_part(struct str s, size_t from, size_t to)
{
	return (struct str){ from ? s.p + from : s.p, to - from };
}

static inline struct str str_head(struct str s, size_t n)
{
	return (struct str){ s.p, n < s.n ? n : s.n };
}

int str_cmp(struct str a, struct str b); /* like memcmp(); a prefix is smaller */

const char *str_find(struct str s, struct str part); /* the first occurrence; or NULL */

const char *str_find_last(struct str s, char ch); /* the last occurrence; or NULL */

static inline bool str_has(struct str s, struct str part)
{
	return !part.n || str_find(s, part);
}

size_t str_count(struct str s, char ch); /* number of occurrences */
void str_sort(struct str *list, size_t count);

/* How the first line ends: "\r\n" or "\n". */
struct str str_newline(struct str text);

/* Removes the ASCII white space at both ends. */
struct str str_trim(struct str s);

/* Removes the part before the next `sep` from the front of `rest`; false: no more parts. */
bool str_next(struct str *rest, char sep, struct str *part);

#endif
