#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/str.h"

/*
 * Memory with one lifetime. Allocation never fails (it ends the process); there is no free, only
 * arena_release() for all of it at once. A zeroed struct is an empty arena.
 */
struct arena {
	struct arena_page *page, *large;
	size_t used; /* of the first page */
};

enum { ARENA_EXHAUSTED = 71 }; /* the status of a process that got no memory; EX_OSERR */

/* Ends the process with that status, and says so. */
_Noreturn void arena_exhausted(void);

void *arena_alloc(struct arena *a, size_t size);               /* zeroed */
void *arena_array(struct arena *a, size_t count, size_t size); /* zeroed */
void arena_release(struct arena *a);

/* Forgets all that was allocated, but keeps a page of memory for what comes next. */
void arena_reset(struct arena *a);

/*
 * Takes back all that was allocated since a mark: for text that turns out to be worthless. What
 * was allocated before the mark must not be stretched in between.
 */
struct arena arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena mark);

/*
 * A larger copy of `p`; in place where it was the last thing allocated. What is added is not
 * zeroed, and `p` may be NULL, so it also gives memory as it comes.
 */
void *arena_grow(struct arena *a, void *p, size_t old_size, size_t new_size);

/* The same where nothing else points to `p`: large memory is not kept twice. */
void *arena_stretch(struct arena *a, void *p, size_t old_size, size_t new_size);

/*
 * Room for one item more in a list of `count` that was made by this alone: it doubles each time
 * it is full, so that adding one after the other costs no more than all at once.
 */
void *arena_room(struct arena *a, void *list, size_t count, size_t size);

/* Bytes of a text, not zeroed and not aligned: texts are many and short, and with alignment they
 * would take twice the memory. */
char *arena_text(struct arena *a, size_t size);

struct str arena_copy(struct arena *a, struct str s); /* absent stays absent */
struct str arena_join(struct arena *a, struct str first, struct str second);
const char *arena_cstr(struct arena *a, struct str s);
struct str arena_fmt(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct str arena_vfmt(struct arena *a, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))

#endif
