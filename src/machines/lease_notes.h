#ifndef MACHINES_LEASE_NOTES_H
#define MACHINES_LEASE_NOTES_H

#include "machines/lease.h"

/*
 * The leases of this clone that the remote may have, a file for each in `machines/leases`. A lease
 * is noted before it is pushed, and again when the reservation is in the agents' files. So a later
 * round can remove it from the remote: when the reservation has ended, or if it was never made
 * because the process died on the way.
 */
struct lease_note {
	struct lease lease;
	bool made; /* the reservation was made here, or refused here */
	struct lease_note *next;
};

/* `home` is the folder `machines`. */
enum err lease_note_put(struct call *c, struct str home, const struct lease *l);
enum err lease_note_made(struct call *c, struct str home, struct str id);
void lease_note_drop(struct call *c, struct str home, struct str id);

/* Notes of leases whose time is over are removed. */
enum err lease_notes_each(struct call *c, struct str home, struct lease_note **out);

#endif
