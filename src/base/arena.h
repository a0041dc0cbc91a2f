#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/str.h"

/*
 * Memory with one lifetime. Allocation never fails (it ends the process); there is no free(), only
 * arena_release() for everything at once. A zeroed struct is an empty arena.
 */
struct arena {
	struct arena_page *page, *large;
	size_t used; /* bytes used of the first page */
};

enum { ARENA_EXHAUSTED = 71 }; /* exit status of a process that ran out of memory; EX_OSERR */

/* Prints an error and ends the process with that status. */
_Noreturn void arena_exhausted(void);

void *arena_alloc(struct arena *a, size_t size);               /* zeroed */
void *arena_array(struct arena *a, size_t count, size_t size); /* zeroed */
void arena_release(struct arena *a);
size_t arena_size(const struct arena *a); /* the allocated bytes, or a few more */

/* Frees all allocations, but keeps a page for later ones. */
void arena_reset(struct arena *a);

/*
 * Frees all allocations since a mark: for text that turns out to be unneeded. Memory from before
 * the mark must not be stretched in between.
 */
struct arena arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena mark);

/*
 * A larger copy of `p`; grows in place if `p` was the last allocation. The new bytes are not
 * zeroed, and `p` may be NULL, so this also allocates unzeroed memory.
 */
void *arena_grow(struct arena *a, void *p, size_t old_size, size_t new_size);

/*
 * Like arena_grow(), if nothing else points to `p`: a large piece is reallocated, so that no old
 * copy stays.
 */
void *arena_stretch(struct arena *a, void *p, size_t old_size, size_t new_size);

/* Frees the end of `p`. False: `p` is not the last small allocation, so nothing was freed. */
bool arena_trim(struct arena *a, const void *p, size_t old_size, size_t new_size);

/*
 * Makes room for one more item in a list of `count` items that grows only by this function. The
 * capacity doubles when the list is full, so that appending takes constant time on average.
 */
void *arena_room(struct arena *a, void *list, size_t count, size_t size);

/*
 * The same for a stack, from which items are also removed. `most` is the largest count so far, at
 * first 0. With arena_room(), a stack that is full would be copied at every push after a pop.
 */
void *arena_stack(struct arena *a, void *list, size_t count, size_t *most, size_t size);

/*
 * Memory for text, not zeroed and not aligned: texts are many and short, and with alignment they
 * would take twice the memory.
 */
char *arena_text(struct arena *a, size_t size);

struct str arena_copy(struct arena *a, struct str s); /* absent stays absent */
struct str arena_join(struct arena *a, struct str first, struct str second);
const char *arena_cstr(struct arena *a, struct str s);
struct str arena_fmt(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct str arena_vfmt(struct arena *a, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))

#endif
