#ifndef HOSTS_HOST_TASKS_H
#define HOSTS_HOST_TASKS_H

#include "base/call.h"

struct value;

/*
 * With the setting hosts.tasks, the entries of a host's own task list become beads below the
 * agent's current bead, and close with them: Claude Code's TodoWrite, which repeats the whole list,
 * and its TaskCreate and TaskUpdate. A bead carries the host's name of its entry as its external
 * reference, by which it is found again.
 */

/* Is this a call of such a tool, or the event that an entry is completed? Then it says nothing
 * about the agent's bead itself. */
bool host_tasks_about(const struct value *in);
bool host_tasks_on(struct call *c);

/* `bead` is the agent's current bead, `session` names the list. A failure is forgotten: the next
 * call repeats the list. */
void host_tasks_follow(struct call *c, const struct value *in, struct str bead, struct str session);

#endif
