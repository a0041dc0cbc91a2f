#ifndef BASE_TEXT_ITEMS_H
#define BASE_TEXT_ITEMS_H

#include "base/reader.h"
#include "base/text/value.h"

/* Reads the items of a JSON array, one by one, from a text that may be larger than memory. */
struct items {
	struct reader text;
	size_t count; /* of items so far */
	size_t place; /* of the last one */
	bool ended, damaged;
};

/* `mem` is for the part of the text that is in memory. */
static inline struct items items_new(struct arena *mem, const struct buf *text)
{
	return (struct items){ .text = reader_new(mem, text) };
}

/*
 * The next item, in `mem`; its texts are valid until the next call. NULL: there are no more, or,
 * if `damaged` is set, the text is not a JSON array.
 */
const struct value *items_next(struct items *list, struct arena *mem);

/* An item that was read before, by its place; with items_around(), after any other. */
const struct value *items_again(struct items *list, size_t place, struct arena *mem);

/* For a list of which items are read again in another order: less of it is read at once. */
static inline struct items items_around(struct arena *mem, const struct buf *text)
{
	struct items list = items_new(mem, text);

	list.text.step = 1 << 12;
	return list;
}

#endif
