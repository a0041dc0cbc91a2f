#ifndef MACHINES_CONTEST_H
#define MACHINES_CONTEST_H

#include "base/arena.h"

/* One of the live reservations of all machines. */
struct contender {
	struct str machine, agent;
	struct str scope;           /* normalised, see agents/scope.h */
	const struct contender *by; /* the earliest one that contests it; or NULL */
};

/*
 * Sets `by` of all contenders; the list begins with the earliest. One is contested by an earlier one
 * of another machine and another agent, whose scope overlaps and which is not contested itself.
 *
 * Anybody who can push can make thousands of long scopes: the cost is proportional to their length.
 */
void contest_decide(struct arena *mem, struct contender *list, size_t count);

#endif
