#ifndef OPS_WORK_PARALLEL_H
#define OPS_WORK_PARALLEL_H

#include "ops/bead/bead_ops.h"

/* 'bd ready --parallel': beads that several agents can work on at once, because they collide
 * neither with each other nor with what is in progress; see agents/forecast/forecast.h. */
struct parallel {
	int64_t count;     /* how many beads; 0: not asked for */
	int64_t least;     /* the score from which two beads collide */
	struct list names; /* the agents to claim them for; none: the actor */
	bool claim, explain;
	int64_t lease;
};

enum { PARALLEL_SEEN_MOST = 500, PARALLEL_MOST = 100 };

/* Brings the history up to date, without the lock. */
enum err parallel_look(struct call *c);

/* Writes the beads, in the order of the filter; with `explain` also those that were left out. */
enum err parallel_run(struct call *c, struct beads *b, const struct bead_filter *filter,
		      const struct parallel *ask, const struct shape *shape, struct json *reply);

#endif
