#ifndef STORE_SLOTS_H
#define STORE_SLOTS_H

#include "base/call.h"

/*
 * Counted resources of this machine and user, such as two builds at a time. A slot is a byte of a
 * file, locked by the process that holds it: the lock is kept when the process becomes another
 * program (exec), is not inherited by its children, and ends with the process, however it dies.
 * Waiting processes have numbered tickets, which are locked bytes too, and take turns by number.
 */

enum { SLOTS_MOST = 1000, SLOT_NAME_MOST = 64 };

/* Letters, digits, '-' and '_'. */
bool slots_name_valid(struct str name);

/* Sets how many slots there are; 0 removes the resource. */
enum err slots_set(struct call *c, struct str name, int64_t count);

struct slot_need {
	struct str name;
	int64_t count;
};

/*
 * Takes all slots that are needed, and keeps them until the process ends. Waits up to `wait_ms`
 * (0: for ever), then fails with DATABASE_BUSY. NOT_FOUND: no such resource. INVALID_INPUT: it has
 * fewer slots. `what` is shown to others.
 */
enum err slots_take(struct call *c, struct slot_need *needs, size_t count, int64_t wait_ms,
		    struct str what);

struct slot_holder {
	int64_t slot, pid, since_ms;
	struct str agent, command;
	struct slot_holder *next;
};

struct slot_resource {
	struct str name;
	int64_t count, waiting;
	struct slot_holder *holders;
	struct slot_resource *next;
};
enum err slots_each(struct call *c, struct slot_resource **out);

#endif
