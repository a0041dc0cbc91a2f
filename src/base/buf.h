#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/arena.h"

struct spool;

/*
 * A growing text in an arena. `(struct buf){ .mem = a }` is an empty one. With a spool
 * (base/system/spool.h), the beginning of a large text is kept in a file, until buf_str() reads it
 * back.
 */
struct buf {
	struct arena *mem;
	char *p;
	size_t n, cap;
	struct spool *spool; /* or NULL */
};

/* Wraps a complete text, for functions that write a buf. */
static inline struct buf buf_of(struct str text)
{
	return (struct buf){ .p = (char *)text.p, .n = text.n };
}

void buf_pad(struct buf *b, char ch, size_t count);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void buf_grow(struct buf *b, size_t n);

/* Room for n more bytes; the caller fills them and then adds to b->n. */
static inline char *buf_room(struct buf *b, size_t n)
{
	if (!b->p || b->cap - b->n < n)
		buf_grow(b, n);
	return b->p + b->n;
}

static inline void buf_put(struct buf *b, struct str s)
{
	if (!s.n)
		return;
	memcpy(buf_room(b, s.n), s.p, s.n);
	b->n += s.n;
}

static inline void buf_char(struct buf *b, char ch)
{
	*buf_room(b, 1) = ch;
	b->n++;
}

/* Is there any text, in the buf or its spool? */
bool buf_filled(const struct buf *b);

/* Writes the text to a descriptor, without reading it back. False: errno says why. */
bool buf_write(const struct buf *b, int fd);

/* The text so far; never absent, and NUL-terminated. Unused room is given back if it can be. */
struct str buf_str(struct buf *b);

#endif
