#ifndef MACHINES_LEASE_GIVEN_H
#define MACHINES_LEASE_GIVEN_H

#include "agents/reservation.h"

/* For commands: an exclusive reservation is first made at the remote, by the git process. */
struct lease_given {
	int64_t epoch, until_ms; /* the end of the reservation, before that of the lease */
};

/* INVALID_INPUT: sharing is off in this clone. */
enum err lease_check(struct call *c);

/* Holds off other exclusive reservations of this clone, and the removal of leases, until the
 * agents' files have the reservation, or have refused it. */
enum err lease_begin(struct call *c, int64_t timeout_ms, struct lock *out);

/* Reserves at the remote. */
enum err lease_reserve(struct call *c, const struct reserve_ask *ask,
		       const struct reservation_outlook *outlook, int64_t timeout_ms,
		       struct lease_given *out);

#endif
