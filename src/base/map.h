#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdint.h>

#include "base/arena.h"

/* A hash map from text to pointers, in an arena. `(struct map){ .mem = a }` is an empty one. */
struct map {
	struct arena *mem;
	struct map_entry *entry; /* in insertion order */
	size_t count, cap;
	uint32_t *slot; /* hash table: index into `entry` plus one */
	size_t slots;
};

struct map_entry {
	struct str key;
	void *value;
	uint32_t hash;
};

/* The address of the key's value; NULL: the key is not in the map. */
void **map_find(const struct map *m, struct str key);

/* Like map_find(), but adds a missing key with the value NULL. The key is not copied. */
void **map_put(struct map *m, struct str key);

/* Which entry it is whose value is at this address, from 0. */
static inline size_t map_place(const struct map *m, void **value)
{
	const char *entry = (const char *)value - offsetof(struct map_entry, value);

	return (size_t)((const struct map_entry *)(const void *)entry - m->entry);
}

/* The number of a key; a missing key is copied and added, with the number 0. */
int64_t *map_number(struct map *m, struct str key);

/* All entries, sorted by the bytes of their keys. */
const struct map_entry **map_sorted(const struct map *m, struct arena *mem);

#endif
