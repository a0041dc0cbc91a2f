#ifndef OPS_VYBE_VYBE_OPS_H
#define OPS_VYBE_VYBE_OPS_H

#include "continuity/continuity.h"
#include "continuity/tasks.h"
#include "op/op.h"

/* What the operations of continuity share. */

#define VYBE_LOOKS OP_VYBE
/* Who does it has to say so, and every request has an id. */
#define VYBE_CHANGES (OP_VYBE | OP_WRITE | OP_ACTOR | OP_RECEIPT)

enum { MAX_ID = 200 };

extern const struct prop vybe_task_props[], vybe_event_props[], vybe_memory_props[],
	vybe_artifact_props[];

/* Notes what became of a task, and that it is known. */
enum err vybe_note_task(struct call *c, struct continuity *k, const char *kind,
			const struct task *t, struct str message, int64_t *event);

/* The events of a move to `to`: its status and, if the work ends with it (completed or blocked),
 * that it is closed; 0 otherwise. */
enum err vybe_note_moved(struct call *c, struct continuity *k, const struct task *t,
			 enum task_status to, struct str summary, int64_t *status,
			 int64_t *closing);

#endif
