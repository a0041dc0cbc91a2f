#include "base/str.h"

#include <stdlib.h>

int str_cmp(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n ? memcmp(a.p, b.p, n) : 0;

	return order ? order : (a.n > b.n) - (a.n < b.n);
}

static bool str_space(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

struct str str_trim(struct str s)
{
	while (s.n && str_space(s.p[0]))
		s = str_skip(s, 1);
	while (s.n && str_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

bool str_next(struct str *rest, char sep, struct str *part)
{
	if (!rest->p)
		return false;

	const char *end = rest->n ? memchr(rest->p, sep, rest->n) : NULL;

	if (!end) {
		*part = *rest;
		*rest = STR_NONE;
		return true;
	}
	*part = str_head(*rest, (size_t)(end - rest->p));
	*rest = str_skip(*rest, part->n + 1);
	return true;
}

const char *str_find(struct str s, struct str part)
{
	const char *at = s.p, *end;
	char last;

	if (!part.n)
		return at;
	if (s.n < part.n)
		return NULL;
	end = s.p + s.n;
	last = part.p[part.n - 1]; /* rules most places out without a call */
	while ((size_t)(end - at) >= part.n &&
	       (at = memchr(at, part.p[0], (size_t)(end - at) - part.n + 1))) {
		if (at[part.n - 1] == last && !memcmp(at, part.p, part.n))
			return at;
		at++;
	}
	return NULL;
}

/* Goes back in blocks, because memchr() is far faster than a loop over bytes. */
const char *str_find_last(struct str s, char ch)
{
	enum { BLOCK = 128 };
	const char *last = NULL;

	while (s.n && !last) {
		size_t n = s.n < BLOCK ? s.n : BLOCK;
		const char *end = s.p + s.n, *at = end - n;

		for (; at < end && (at = memchr(at, ch, (size_t)(end - at))); at++)
			last = at;
		s.n -= n;
	}
	return last;
}

size_t str_count(struct str s, char ch)
{
	const char *at = s.p, *end = str_end(s);
	size_t n = 0;

	for (; at < end && (at = memchr(at, ch, (size_t)(end - at))); at++)
		n++;
	return n;
}

static int by_bytes(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

void str_sort(struct str *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof *list, by_bytes);
}

struct str str_newline(struct str text)
{
	const char *lf = text.n ? memchr(text.p, '\n', text.n) : NULL;

	return lf && lf > text.p && lf[-1] == '\r' ? STR("\r\n") : STR("\n");
}
