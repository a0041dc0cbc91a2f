#ifndef MACHINES_CONTEST_H
#define MACHINES_CONTEST_H

#include "base/arena.h"

/* A live reservation, of any machine. */
struct contender {
	struct str machine, agent;
	struct str scope;           /* normalised, see agents/scope.h */
	const struct contender *by; /* the earliest one that contests it; or NULL */
};

/*
 * Sets `by` of all contenders; the list begins with the earliest. A reservation is contested by an
 * earlier one if that is of another machine and another agent, their scopes overlap, and the
 * earlier one is not contested itself.
 *
 * Anybody who can push can make thousands of long scopes: the cost is proportional to their length.
 */
void contest_decide(struct arena *mem, struct contender *list, size_t count);

#endif
