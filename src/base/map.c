#include "base/map.h"

#include <pthread.h>
#include <sodium/crypto_shorthash.h>
#include <stdlib.h>

#include "base/system/platform.h"

/*
 * SipHash with a random key per process. Keys come from other people's commits, and with a
 * predictable hash they could be chosen to collide.
 */
static unsigned char secret[crypto_shorthash_KEYBYTES];

static void choose_secret(void)
{
	platform_random(secret, sizeof secret);
}

static uint32_t hash_of(struct str key)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	unsigned char digest[crypto_shorthash_BYTES];
	uint32_t h;

	pthread_once(&once, choose_secret);
	crypto_shorthash(digest, (const unsigned char *)key.p, key.n, secret);
	memcpy(&h, digest, sizeof h);
	return h;
}

/* The slot of the key, or the free slot for it. */
static uint32_t *slot_of(const struct map *m, struct str key, uint32_t hash)
{
	for (size_t i = hash & (m->slots - 1);; i = (i + 1) & (m->slots - 1)) {
		uint32_t at = m->slot[i];

		if (!at || (m->entry[at - 1].hash == hash && str_eq(m->entry[at - 1].key, key)))
			return &m->slot[i];
	}
}

static void map_grow(struct map *m)
{
	size_t cap = m->cap ? m->cap * 2 : 8;

	m->entry = arena_grow(m->mem, m->entry, m->cap * sizeof *m->entry, cap * sizeof *m->entry);
	m->cap = cap;
	m->slot = arena_stretch(m->mem, m->slot, m->slots * sizeof *m->slot,
				cap * 2 * sizeof *m->slot);
	m->slots = cap * 2;
	memset(m->slot, 0, m->slots * sizeof *m->slot);
	for (size_t i = 0; i < m->count; i++)
		*slot_of(m, m->entry[i].key, m->entry[i].hash) = (uint32_t)i + 1;
}

void **map_find(const struct map *m, struct str key)
{
	uint32_t at = m->slots ? *slot_of(m, key, hash_of(key)) : 0;

	return at ? &m->entry[at - 1].value : NULL;
}

void **map_put(struct map *m, struct str key)
{
	uint32_t hash = hash_of(key), *slot;

	if (m->count == m->cap)
		map_grow(m);
	slot = slot_of(m, key, hash);
	if (!*slot) {
		m->entry[m->count] = (struct map_entry){ .key = key, .hash = hash };
		*slot = (uint32_t)++m->count;
	}
	return &m->entry[*slot - 1].value;
}

int64_t *map_number(struct map *m, struct str key)
{
	void **at = map_find(m, key);

	if (!at) {
		at = map_put(m, arena_copy(m->mem, key));
		*at = arena_new(m->mem, int64_t);
	}
	return *at;
}

static int map_by_key(const void *a, const void *b)
{
	return str_cmp((*(const struct map_entry *const *)a)->key,
		       (*(const struct map_entry *const *)b)->key);
}

const struct map_entry **map_sorted(const struct map *m, struct arena *mem)
{
	const struct map_entry **out = arena_array(mem, m->count, sizeof(*out));

	for (size_t i = 0; i < m->count; i++)
		out[i] = &m->entry[i];
	qsort(out, m->count, sizeof *out, map_by_key);
	return out;
}
