#ifndef BASE_TEXT_ITEMS_H
#define BASE_TEXT_ITEMS_H

#include "base/reader.h"
#include "base/text/value.h"

/* Reads the items of a JSON array, one by one, from a text that may be larger than memory. */
struct items {
	struct reader text;
	size_t count; /* of items so far */
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

#endif
