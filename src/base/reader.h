#ifndef BASE_READER_H
#define BASE_READER_H

#include "base/buf.h"

/*
 * Reads a large text, a buf with its spool, from its beginning to its end, with only a part of it
 * in memory.
 */
struct reader {
	const struct buf *text;
	struct buf part; /* the part in memory; its memory is allocated here */
	size_t used;     /* how much of the part was read */
	size_t at;       /* where the text after the part begins */
	size_t step;     /* bytes that are read at once; 0: as many as suit a reader of all */
};

static inline struct reader reader_new(struct arena *mem, const struct buf *text)
{
	return (struct reader){ .text = text, .part.mem = mem };
}

/* What is in memory and was not read yet; reader_more() moves it. */
static inline struct str reader_rest(const struct reader *r)
{
	return str_part((struct str){ r->part.p, r->part.n }, r->used, r->part.n);
}

/* Where the rest begins in the text, and to go on at such a place. */
static inline size_t reader_place(const struct reader *r)
{
	return r->at - (r->part.n - r->used);
}
void reader_seek(struct reader *r, size_t place);

/* Adds more text to the rest. False: there is none. */
bool reader_more(struct reader *r);

/* The next n bytes, until the next call; the text must have as many. */
struct str reader_take(struct reader *r, size_t n);

#endif
