#ifndef AGENTS_GUARD_H
#define AGENTS_GUARD_H

#include "agents/reservation.h"

/*
 * May these files be changed? Not if they lie in what another agent has reserved and still has.
 * The agent that asks need not be registered: other agents' reservations hold either way.
 */
struct guard_path {
	struct str path; /* from the project's root, or from that of the disk */
	bool follow;     /* who writes to it writes to what its links lead to */
	struct guard_path *next;
};

struct guard_ask {
	struct str agent; /* absent: nobody has told */
	int64_t epoch;    /* of the reservation that it believes to hold; 0: any */
	struct str tree;  /* the root of the worktree it works in */
	struct guard_path *paths;
};

/* A file that is another's. */
struct guard_finding {
	struct str path;
	struct reservation held;
	enum liveness owner;
	struct guard_finding *next;
};

struct guard_answer {
	struct guard_finding *denied; /* in the order that was asked */
	size_t checked;
	bool lost; /* the agent does not hold the epoch that it named */
};

enum err guard_paths(struct call *c, struct agent_files *f, const struct guard_ask *ask,
		     struct guard_answer *out);

#endif
