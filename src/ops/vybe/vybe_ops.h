#ifndef OPS_VYBE_VYBE_OPS_H
#define OPS_VYBE_VYBE_OPS_H

#include "continuity/task_events.h"
#include "op/op.h"

/* What the operations of continuity share. */

#define VYBE_LOOKS OP_VYBE
/* Who does it has to say so, and every request has an id. */
#define VYBE_CHANGES (OP_VYBE | OP_WRITE | OP_ACTOR | OP_RECEIPT)

enum { MAX_ID = 200 };

extern const struct prop vybe_task_props[], vybe_event_props[], vybe_memory_props[],
	vybe_artifact_props[];

#endif
