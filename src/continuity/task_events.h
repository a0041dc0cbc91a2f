#ifndef CONTINUITY_TASK_EVENTS_H
#define CONTINUITY_TASK_EVENTS_H

#include "continuity/continuity.h"
#include "continuity/tasks.h"

/*
 * The events that vybe notes about its own changes of tasks. continuity_absorb() notes what `bd`,
 * the page and other clones did, with the same kinds and members.
 */

/* Notes one event about a task, and that its present state is known. */
enum err task_note(struct call *c, struct continuity *k, const char *kind, const struct task *t,
		   struct str message, int64_t *event);

struct task_moved {
	struct task task;
	int64_t status_event;
	int64_t close_event; /* 0: the task is not finished */
};

/*
 * Sets the status of a task, and notes `task_status` and, if the work ends with it (completed or
 * blocked), `task_closed`. Every command and hook that completes a task calls this function.
 */
enum err task_complete(struct call *c, struct continuity *k, const struct task_move *move,
		       struct task_moved *out);

#endif
