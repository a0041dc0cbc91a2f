#include "store/db/db_memory.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum {
	STEP = 16,        /* sizes are multiples of it */
	SMALL = 1024,     /* larger pieces come from malloc() */
	CHUNK = 16 * 1024 /* allocated at once for small pieces */
};

/*
 * Precedes each piece. In an unused piece, the pointer to the next unused one of that size follows.
 */
struct db_piece {
	size_t size;
};

static struct db_piece *unused[SMALL / STEP + 1];
static char *chunk;
static size_t chunk_left;

static struct db_piece *piece_of(void *p)
{
	return (struct db_piece *)p - 1;
}

static struct db_piece *piece_next(const struct db_piece *piece)
{
	struct db_piece *next;

	memcpy(&next, piece + 1, sizeof next);
	return next;
}

static int memory_round(int n)
{
	return (n + STEP - 1) & ~(STEP - 1);
}

/* The rest of the previous chunk, less than one piece, is wasted. */
static struct db_piece *piece_new(size_t size)
{
	struct db_piece *piece;

	if (size > SMALL) {
		piece = malloc(sizeof *piece + size);
	} else {
		if (chunk_left < sizeof *piece + size) {
			chunk = malloc(CHUNK);
			chunk_left = chunk ? CHUNK : 0;
		}
		piece = (struct db_piece *)(void *)chunk;
		if (piece) {
			chunk += sizeof *piece + size;
			chunk_left -= sizeof *piece + size;
		}
	}
	if (piece)
		piece->size = size;
	return piece;
}

static void *memory_take(int n)
{
	size_t size = (size_t)memory_round(n);
	struct db_piece *piece = size <= SMALL ? unused[size / STEP] : NULL;

	if (piece)
		unused[size / STEP] = piece_next(piece);
	else
		piece = piece_new(size);
	return piece ? piece + 1 : NULL;
}

static void memory_give(void *p)
{
	struct db_piece *piece = piece_of(p);

	if (piece->size > SMALL) {
		free(piece);
		return;
	}
	memcpy(p, &unused[piece->size / STEP], sizeof piece);
	unused[piece->size / STEP] = piece;
}

static int memory_size(void *p)
{
	return p ? (int)piece_of(p)->size : 0;
}

static void *memory_change(void *p, int n)
{
	struct db_piece *piece = piece_of(p);
	size_t size = (size_t)memory_round(n), old = piece->size;
	void *changed;

	if (size == old)
		return p;
	if (size > SMALL && old > SMALL) {
		if (!(piece = realloc(piece, sizeof *piece + size)))
			return NULL;
		piece->size = size;
		return piece + 1;
	}
	if ((changed = memory_take(n))) {
		memcpy(changed, p, size < old ? size : old);
		memory_give(p);
	}
	return changed;
}

static int memory_begin(void *arg)
{
	(void)arg;
	return SQLITE_OK;
}

static void memory_end(void *arg)
{
	(void)arg;
}

void db_memory_use(void)
{
	static const sqlite3_mem_methods methods = { .xMalloc = memory_take,
						     .xFree = memory_give,
						     .xRealloc = memory_change,
						     .xSize = memory_size,
						     .xRoundup = memory_round,
						     .xInit = memory_begin,
						     .xShutdown = memory_end };

	sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}
