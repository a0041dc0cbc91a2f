#include "base/buf.h"

#include <stdint.h>
#include <stdlib.h>

void buf_grow(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap * 2 : 256;

	if (n > SIZE_MAX / 4 - b->n)
		abort();
	while (cap - b->n < n)
		cap *= 2;
	b->p = arena_stretch(b->mem, b->p, b->cap, cap);
	b->cap = cap;
}

void buf_pad(struct buf *b, char ch, size_t count)
{
	if (!count)
		return;
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
