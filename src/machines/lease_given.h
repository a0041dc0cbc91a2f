#ifndef MACHINES_LEASE_GIVEN_H
#define MACHINES_LEASE_GIVEN_H

#include "agents/reservation.h"

/* For commands: an exclusive reservation is first made at the remote, by the git process. */
struct lease_given {
	struct str id;
	int64_t epoch;
};

/* INVALID_INPUT: sharing is off in this clone. */
enum err lease_check(struct call *c);

/* Reserves at the remote. The agents' files get the reservation afterwards. */
enum err lease_reserve(struct call *c, const struct reserve_ask *ask,
		       const struct reservation_outlook *outlook, int64_t timeout_ms,
		       struct lease_given *out);

/*
 * Called when the reservation was made in the agents' files, or refused there. From then on, a
 * round removes the lease from the remote if there is no such reservation. Never fails.
 */
void lease_given_settle(struct call *c, const struct lease_given *given);

#endif
