#ifndef STORE_DB_BEAD_SIMILAR_H
#define STORE_DB_BEAD_SIMILAR_H

#include "store/db/bead_cache.h"

/*
 * Open beads whose title is like another one. The score, in percent, is twice the number of words
 * that both titles have, divided by the words of both; letter case does not count.
 */
struct similar {
	struct str id, title;
	int score;
};

enum { SIMILAR_MOST = 3, SIMILAR_LEAST = 60, SIMILAR_SAME = 90 };

/*
 * At most SIMILAR_MOST beads with a score of at least SIMILAR_LEAST, the most similar first. Only
 * beads that share the longest word or the third longest, and the second or the fourth, are
 * compared, and at most 50 of them, so that the time does not grow with the store.
 */
enum err similar_find(struct call *c, struct cache *cache, struct str title,
		      struct similar out[SIMILAR_MOST], size_t *count);

#endif
