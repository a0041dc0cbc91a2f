#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/arena.h"

/* Text that grows, in an arena. `(struct buf){ .mem = a }` is an empty one. */
struct buf {
	struct arena *mem;
	char *p;
	size_t n, cap;
};

void buf_put(struct buf *b, struct str s);
void buf_char(struct buf *b, char ch);
void buf_pad(struct buf *b, char ch, size_t count);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Room for n more bytes; the caller fills them and then adds to b->n. */
char *buf_room(struct buf *b, size_t n);

/* What it holds now; never absent, and followed by a NUL. */
struct str buf_str(struct buf *b);

#endif
