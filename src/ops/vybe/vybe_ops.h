#ifndef OPS_VYBE_VYBE_OPS_H
#define OPS_VYBE_VYBE_OPS_H

#include "continuity/task_events.h"
#include "hosts/host.h"
#include "op/op.h"

/* Shared by the operations of vybe. */

#define VYBE_LOOKS OP_VYBE
/* A write needs an actor and a request id. */
#define VYBE_CHANGES (OP_VYBE | OP_WRITE | OP_ACTOR | OP_RECEIPT)

enum { MAX_ID = 200 };

/* Installs or removes the hooks of one host, as 'vybe hook' does. */
enum err vybe_hook_set_up(struct call *c, enum host_id host, bool project, bool install,
			  struct json *reply);

/*
 * For the `look` of an operation that claims a task: claims it at the remote if the setting
 * claim.exclusive says so. `begin`: as 'vybe task begin' does, else as a change of the status.
 * vybe_task_put_durability() then says in the reply that the remote has the claim.
 */
enum err vybe_task_claim_first(struct call *c, struct str id, const struct guard *guard, bool begin,
			       struct stores *s);
void vybe_task_put_durability(const struct stores *s, struct json *reply);
extern const struct op op_vybe_task_claim; /* run by the git process */

extern const struct prop vybe_task_props[], vybe_event_props[], vybe_memory_props[],
	vybe_artifact_props[];

#endif
