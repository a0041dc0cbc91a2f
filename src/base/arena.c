#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAGE = 16 * 1024 };

struct arena_page {
	struct arena_page *next;
	alignas(max_align_t) char bytes[];
};

void arena_exhausted(void)
{
	fputs("error: out of memory. 'ulimit -v' shows the limit of a process.\n", stderr);
	_exit(ARENA_EXHAUSTED);
}

/* Resizes a page; NULL: allocates a new one. */
static struct arena_page *page_sized(struct arena_page *page, size_t cap)
{
	if (cap > SIZE_MAX - sizeof(struct arena_page))
		abort();
	page = realloc(page, sizeof *page + cap);
	if (!page)
		arena_exhausted();
	return page;
}

static struct arena_page *page_new(struct arena_page *next, size_t cap)
{
	struct arena_page *page = page_sized(NULL, cap);

	page->next = next;
	return page;
}

static char *arena_take_aligned(struct arena *a, size_t size, size_t align)
{
	size_t at = (a->used + align - 1) & ~(align - 1);

	if (size > PAGE) { /* a large piece gets a page of its own */
		a->large = page_new(a->large, size);
		return a->large->bytes;
	}
	if (!a->page || size > PAGE - at) {
		a->page = page_new(a->page, PAGE);
		at = 0;
	}
	a->used = at + size;
	return a->page->bytes + at;
}

static char *arena_take(struct arena *a, size_t size)
{
	return arena_take_aligned(a, size, alignof(max_align_t));
}

char *arena_text(struct arena *a, size_t size)
{
	return arena_take_aligned(a, size, 1);
}

void *arena_alloc(struct arena *a, size_t size)
{
	char *p = arena_take(a, size);

	return size ? memset(p, 0, size) : p;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / size)
		abort();
	return arena_alloc(a, count * size);
}

/* Was `p` the last allocation of the first page? */
static bool arena_is_last(const struct arena *a, const char *p, size_t size)
{
	return p && a->page && p + size == a->page->bytes + a->used;
}

void *arena_grow(struct arena *a, void *p, size_t old_size, size_t new_size)
{
	char *old = p, *bigger;

	if (arena_is_last(a, old, old_size) && new_size - old_size <= PAGE - a->used) {
		a->used += new_size - old_size;
		return old;
	}
	bigger = arena_take(a, new_size);
	if (old_size)
		memcpy(bigger, old, old_size);
	return bigger;
}

void *arena_stretch(struct arena *a, void *p, size_t old_size, size_t new_size)
{
	struct arena_page **at = &a->large;

	while (old_size > PAGE && *at && (*at)->bytes != p)
		at = &(*at)->next;
	if (old_size <= PAGE || !*at)
		return arena_grow(a, p, old_size, new_size);
	*at = page_sized(*at, new_size);
	return (*at)->bytes;
}

bool arena_trim(struct arena *a, const void *p, size_t old_size, size_t new_size)
{
	bool last = arena_is_last(a, p, old_size);

	if (last)
		a->used -= old_size - new_size;
	return last;
}

void *arena_room(struct arena *a, void *list, size_t count, size_t size)
{
	if (count & (count - 1)) /* the list is full at powers of two */
		return list;
	return arena_grow(a, list, count * size, (count ? 2 * count : 1) * size);
}

void *arena_stack(struct arena *a, void *list, size_t count, size_t *most, size_t size)
{
	if (count < *most)
		return list;
	*most = count + 1;
	return arena_room(a, list, count, size);
}

size_t arena_size(const struct arena *a)
{
	size_t pages = 0;

	for (const struct arena_page *page = a->page; page; page = page->next)
		pages++;
	for (const struct arena_page *page = a->large; page; page = page->next)
		pages++;
	return pages * PAGE;
}

/* Pages are chained from the newest to the oldest. */
static void free_pages_until(struct arena_page *page, const struct arena_page *kept)
{
	for (struct arena_page *next; page != kept; page = next) {
		next = page->next;
		free(page);
	}
}

static void free_pages(struct arena_page *page)
{
	free_pages_until(page, NULL);
}

struct arena arena_mark(const struct arena *a)
{
	return *a;
}

void arena_rewind(struct arena *a, struct arena mark)
{
	free_pages_until(a->large, mark.large);
	free_pages_until(a->page, mark.page);
	*a = mark;
}

void arena_release(struct arena *a)
{
	free_pages(a->large);
	free_pages(a->page);
	*a = (struct arena){ 0 };
}

void arena_reset(struct arena *a)
{
	free_pages(a->large);
	a->large = NULL;
	if (!a->page)
		return;
	free_pages(a->page->next);
	a->page->next = NULL;
	a->used = 0;
}

/* The copy is NUL-terminated, so it can also be handed to libc. */
struct str arena_copy(struct arena *a, struct str s)
{
	char *p;

	if (!s.p)
		return s;
	p = arena_text(a, s.n + 1);
	memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return (struct str){ p, s.n };
}

struct str arena_join(struct arena *a, struct str first, struct str second)
{
	char *p = arena_text(a, first.n + second.n + 1);

	if (first.n)
		memcpy(p, first.p, first.n);
	if (second.n)
		memcpy(p + first.n, second.p, second.n);
	p[first.n + second.n] = '\0';
	return (struct str){ p, first.n + second.n };
}

const char *arena_cstr(struct arena *a, struct str s)
{
	return s.p ? arena_copy(a, s).p : "";
}

/*
 * Formats directly into the rest of the page, where most texts fit; only longer ones are formatted
 * twice.
 */
struct str arena_vfmt(struct arena *a, const char *fmt, va_list ap)
{
	char *p = arena_text(a, 1);
	size_t room = PAGE - a->used + 1;
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(p, room, fmt, again);
	va_end(again);
	if (n < 0)
		abort();
	if ((size_t)n < room) {
		a->used += (size_t)n;
	} else {
		p = arena_text(a, (size_t)n + 1);
		vsnprintf(p, (size_t)n + 1, fmt, ap);
	}
	return (struct str){ p, (size_t)n };
}

struct str arena_fmt(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	struct str s;

	va_start(ap, fmt);
	s = arena_vfmt(a, fmt, ap);
	va_end(ap);
	return s;
}
