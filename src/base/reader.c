#include "base/reader.h"

#include "base/system/spool.h"

enum { PART = 1 << 16 }; /* bytes that are read at once, or more if one read needs more */

/* The text from an offset on: up to n bytes of it, from the file or from the memory of the buf. */
static size_t reader_copy(const struct buf *text, size_t at, char *out, size_t n)
{
	size_t filed = text->spool ? (size_t)text->spool->size : 0;
	struct str rest = { text->p, text->n };

	if (at < filed) {
		if (!(n = spool_read_some(text->spool, (int64_t)at, out, n)))
			arena_exhausted(); /* the file stands in for memory */
		return n;
	}
	rest = str_head(str_skip(rest, at - filed), n);
	if (rest.n)
		memcpy(out, rest.p, rest.n);
	return rest.n;
}

void reader_seek(struct reader *r, size_t place)
{
	size_t from = r->at - r->part.n;

	if (place >= from && place <= r->at) {
		r->used = place - from;
		return;
	}
	r->part.n = r->used = 0;
	r->at = place;
}

bool reader_more(struct reader *r)
{
	struct str rest = reader_rest(r);
	size_t step = r->step ? r->step : PART,
	       n = rest.n > step ? rest.n : step; /* so that a large item takes few calls */

	if (r->used && rest.n)
		memmove(r->part.p, rest.p, rest.n);
	r->part.n = rest.n;
	r->used = 0;
	n = reader_copy(r->text, r->at, buf_room(&r->part, n), n);
	r->part.n += n;
	r->at += n;
	return n;
}

struct str reader_take(struct reader *r, size_t n)
{
	struct str taken;

	while (r->part.n - r->used < n)
		if (!reader_more(r))
			abort();
	taken = str_head(reader_rest(r), n);
	r->used += n;
	return taken;
}
