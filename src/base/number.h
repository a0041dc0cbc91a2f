#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdint.h>

#include "base/arena.h"

/* Parses a decimal integer with an optional minus; false: not an integer, or out of 64 bits. */
bool number_int(struct str text, int64_t *out);

/* Formats a JSON number as RFC 8785 does; integers keep all their digits. */
struct str number_canonical(struct arena *mem, struct str text);

/* The least power of two of at least `bytes`, from 1m on: "512m", "4g". */
struct str number_size(struct arena *mem, int64_t bytes);

#endif
