#include "base/buf.h"

#include <stdint.h>
#include <stdlib.h>

char *buf_room(struct buf *b, size_t n)
{
	if (n > SIZE_MAX / 4 - b->n)
		abort();
	if (b->cap - b->n < n) {
		size_t cap = b->cap ? b->cap * 2 : 256;

		while (cap - b->n < n)
			cap *= 2;
		b->p = arena_grow(b->mem, b->p, b->cap, cap);
		b->cap = cap;
	}
	return b->p + b->n;
}

void buf_put(struct buf *b, struct str s)
{
	if (!s.n)
		return;
	memcpy(buf_room(b, s.n), s.p, s.n);
	b->n += s.n;
}

void buf_char(struct buf *b, char ch)
{
	*buf_room(b, 1) = ch;
	b->n++;
}

void buf_pad(struct buf *b, char ch, size_t count)
{
	memset(buf_room(b, count), ch, count);
	b->n += count;
}

void buf_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_put(b, arena_vfmt(b->mem, fmt, ap));
	va_end(ap);
}

struct str buf_str(struct buf *b)
{
	*buf_room(b, 1) = '\0';
	return (struct str){ b->p, b->n };
}
