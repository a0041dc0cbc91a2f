#ifndef TEST_UNIT_STATES_H
#define TEST_UNIT_STATES_H

#include <stdint.h>

struct arena;
struct state;

/*
 * A random state: the same for the same number, on every machine. There are few ids, actors and
 * stamps, so that ids collide, deletions meet edits and marks are equal. Some have seen others,
 * and tell who left which id. An edge is only between beads that the state knows.
 */
struct state *any_state(struct arena *mem, uint64_t number);

/*
 * The same with few beads and many parents, so that there are circles; beads come and go, and
 * become epics.
 */
struct state *any_family(struct arena *mem, uint64_t number);

#endif
