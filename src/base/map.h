#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdint.h>

#include "base/arena.h"

/* From text to pointers, in an arena. `(struct map){ .mem = a }` is an empty one. */
struct map {
	struct arena *mem;
	struct map_entry *entry; /* in the order they were put */
	size_t count, cap;
	uint32_t *slot; /* hashed; index into `entry` plus one */
	size_t slots;
};

struct map_entry {
	struct str key;
	void *value;
	uint32_t hash;
};

/* Where the key's value lives; NULL: it has none. */
void **map_find(const struct map *m, struct str key);

/* The same, made where there was none, holding NULL. The key is not copied. */
void **map_put(struct map *m, struct str key);

/* The entries by their keys' bytes, ascending; as many as there are. */
const struct map_entry **map_sorted(const struct map *m, struct arena *mem);

#endif
