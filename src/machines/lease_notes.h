#ifndef MACHINES_LEASE_NOTES_H
#define MACHINES_LEASE_NOTES_H

#include "machines/lease.h"

/*
 * The leases of this clone that the remote may have, a file for each in `machines/leases`. A lease
 * is noted before it is pushed. So a later round can remove it from the remote: when the
 * reservation has ended, or if it was never made because the process died on the way. A command
 * holds LEASES_COMMAND_LOCK from before the lease is asked for until the agents' files have the
 * reservation. So a process that gets the lock knows that no reservation is being made.
 */
#define LEASES_COMMAND_LOCK "reserving.lock"

struct lease_note {
	struct lease lease;
	struct lease_note *next;
};

/* `home` is the folder `machines`. */
enum err lease_note_put(struct call *c, struct str home, const struct lease *l);
void lease_note_drop(struct call *c, struct str home, struct str id);

/* Notes of leases whose time is over are removed. */
enum err lease_notes_each(struct call *c, struct str home, struct lease_note **out);

/* Does the remote have a lease of this reservation? Only a new lease may extend it then. */
bool lease_is_noted(struct call *c, const struct reservation *r);

#endif
