#ifndef BEADS_APPLY_H
#define BEADS_APPLY_H

#include "store/db/bead_cache.h"

struct bead;
struct state;

/* From the lattice to the cache: what the rows of a state are. */

/* Joins a change to what the cache has; `added` counts ids that are new to it. */
enum err apply_change(struct call *c, struct cache *cache, const struct state *change,
		      int64_t *added);

/*
 * The same for a change that is about to be written: INVALID_INPUT if a bead gets larger than
 * limits.h allows. A repair may also copy the largest bead there can be.
 */
enum apply_writer { APPLY_COMMAND, APPLY_REPAIR };
enum err apply_write(struct call *c, struct cache *cache, const struct state *change,
		     enum apply_writer writer, int64_t *added);

/* Fills a cache that is empty. */
enum err apply_all(struct call *c, struct cache *cache, const struct state *s);

#endif
