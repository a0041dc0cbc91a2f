#ifndef STORE_DB_BEAD_SIMILAR_H
#define STORE_DB_BEAD_SIMILAR_H

#include "store/db/bead_cache.h"

/*
 * An open bead whose title is similar to a given title. The score is twice the number of words that
 * both have, divided by the words of both, in percent; case is ignored.
 */
struct similar {
	struct str id, title;
	int score;
};

enum { SIMILAR_MOST = 3, SIMILAR_LEAST = 60, SIMILAR_SAME = 90 };

/*
 * Two titles are compared only if they share two of their four longest words, which are usually the
 * rarest. The table has a row for each pair of these words of each open bead.
 */
#define SIMILAR_SCHEMA "CREATE TABLE pairs (pair, n, PRIMARY KEY (pair, n)) WITHOUT ROWID;"

/* Updates the rows of bead `n`. `old` is NULL if the bead is new, `row` if it is deleted. */
enum err similar_update(struct call *c, struct cache *cache, int64_t n, const struct bead_row *old,
			const struct bead_row *row);

/* Adds the rows of all beads of a new cache. */
enum err similar_fill(struct call *c, struct cache *cache);

/*
 * At most SIMILAR_MOST beads with a score of at least SIMILAR_LEAST, the most similar first. For
 * each pair, only the first few beads are compared, so that the time does not grow with the store.
 */
enum err similar_find(struct call *c, struct cache *cache, struct str title,
		      struct similar out[SIMILAR_MOST], size_t *count);

#endif
