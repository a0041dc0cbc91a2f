#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdint.h>

#include "base/arena.h"

/* Decimal integer with an optional minus; false: not one, or past 64 bits. */
bool number_int(struct str text, int64_t *out);

/* A JSON number as RFC 8785 prints it; integers keep all their digits. */
struct str number_canonical(struct arena *mem, struct str text);

#endif
