#include "base/buf.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/system/file.h"
#include "base/system/spool.h"

void buf_grow(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap * 2 : 256;

	if (b->spool && b->n >= SPOOL_BLOCK && spool_add(b->spool, (struct str){ b->p, b->n })) {
		b->n = 0;
		if (b->cap >= n)
			return;
	}
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

/* Reads the beginning of the text back from the spool. */
static void buf_gather(struct buf *b)
{
	struct buf whole = { .mem = b->mem };
	size_t size = (size_t)b->spool->size;

	if (!spool_read(b->spool, buf_room(&whole, size + b->n + 1)))
		arena_exhausted(); /* the file stood in for memory, so this is a lack of memory */
	whole.n = size;
	buf_put(&whole, (struct str){ b->p, b->n });
	spool_release(b->spool);
	*b = whole;
}

struct str buf_str(struct buf *b)
{
	if (b->spool && b->spool->size)
		buf_gather(b);
	*buf_room(b, 1) = '\0';
	if (arena_trim(b->mem, b->p, b->cap, b->n + 1))
		b->cap = b->n + 1;
	return (struct str){ b->p, b->n };
}

bool buf_filled(const struct buf *b)
{
	return b->n || (b->spool && b->spool->size);
}

bool buf_write(const struct buf *b, int fd)
{
	return (!b->spool || spool_copy(b->spool, fd)) &&
	       file_write(fd, (struct str){ b->p, b->n });
}
