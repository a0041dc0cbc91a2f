#ifndef AGENTS_GUARD_H
#define AGENTS_GUARD_H

#include "agents/reservation.h"

/*
 * Whether an agent may change files: not if another agent has reserved them. The agent need not be
 * registered.
 */
struct guard_path {
	struct str path; /* relative to the project's root, or absolute */
	bool follow;     /* check the file that its links lead to, too */
	struct guard_path *next;
};

struct guard_ask {
	struct str agent; /* absent: unknown */
	int64_t epoch;    /* of the reservation that the agent believes to hold; 0: any */
	struct str tree;  /* the root of the agent's worktree */
	struct guard_path *paths;
};

/* A file that another agent has reserved. */
struct guard_finding {
	struct str path;  /* the reserved path, with links followed */
	struct str asked; /* the path as the caller gave it */
	struct reservation held;
	enum liveness owner;
	struct guard_finding *next;
};

struct guard_answer {
	struct guard_finding *denied; /* in the order of the paths */
	size_t checked;
	bool lost; /* the agent does not hold the epoch */
};

enum err guard_paths(struct call *c, struct agent_files *f, const struct guard_ask *ask,
		     struct guard_answer *out);

#endif
