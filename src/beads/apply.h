#ifndef BEADS_APPLY_H
#define BEADS_APPLY_H

#include "store/db/bead_cache.h"

struct bead;
struct state;

/* Writes states of the lattice to the cache, as rows. */

/* Joins a change to the cache; `added` counts the ids that are new to it. */
enum err apply_change(struct call *c, struct cache *cache, const struct state *change,
		      int64_t *added);

/* The same for a change that is not in the journal yet: INVALID_INPUT if a bead gets larger than
 * limits.h allows. A repair may copy a bead of any size that can be read. */
enum apply_writer { APPLY_COMMAND, APPLY_REPAIR };
enum err apply_write(struct call *c, struct cache *cache, const struct state *change,
		     enum apply_writer writer, int64_t *added);

/* Fills an empty cache with a whole state. */
enum err apply_all(struct call *c, struct cache *cache, const struct state *s);

#endif
