#ifndef MACHINES_LEASE_H
#define MACHINES_LEASE_H

#include "agents/reservation.h"

struct value;

/*
 * Exclusive reservations: one file at the remote lists those of all machines, `leases.json` of the
 * commit that LEASES_REF points to. A machine reads it, decides, and replaces it by compare and
 * swap, so that of several machines that reserve one scope at once, one succeeds.
 *
 * Everybody who can push can write the file, so its size is bounded and every lease ends: after
 * its time, and at most a day after it was made. Ended leases are left out when the file is
 * written. Members that this version does not know are kept.
 */
#define LEASES_REF  "refs/abacus/leases"
#define LEASES_FILE "leases.json"

enum {
	LEASES_FORMAT = 1,
	LEASES_BYTES = 1 << 20,
	LEASES_MOST = 2000,
	/*
	 * A lease outlasts its reservation by this much. The holder reads the end of the
	 * reservation on its own clock, the others that of the lease on theirs: while clocks differ
	 * by less, no scope has two holders.
	 */
	LEASE_MARGIN_MS = 60000,
};

struct lease {
	struct str id, agent, machine, bead;
	struct str scope;               /* as scope_normalise() gives it */
	int64_t at_ms, until_ms, epoch; /* the reservation ends LEASE_MARGIN_MS before `until_ms` */
	const struct value *all;        /* as it was read; NULL: it is new */
	struct lease *next;
};

struct leases {
	struct lease *first;
	int64_t epoch;           /* the highest that was ever given */
	const struct value *all; /* as it was read; or NULL */
};

/*
 * Reads the file; an absent text is an empty one. REMOTE_DAMAGED: it is too large, no JSON, or of a
 * later format. A lease that has ended, or that nobody can have made, is left out.
 */
enum err leases_parse(struct call *c, struct str text, struct leases *out);
struct str leases_encode(struct call *c, const struct leases *l);

/* Will every machine read this file? Many leases with long scopes, or with unknown members, are too
 * large. */
bool leases_fit(struct call *c, struct str text);

struct lease_ask {
	struct lease lease; /* without `epoch`; `id` is new */
	int64_t epoch;      /* of the agent's own reservation of this scope, or the highest here */
	bool own;           /* `epoch` is that of the agent's own reservation */
	bool takeover;
	struct str (*name)(void *arg, struct str machine); /* a machine's name for people */
	void *arg;
};

/*
 * Adds the lease, or renews that of the agent's own reservation, which never ends earlier than
 * before: the agents' files still have the old end, and keep it if this process dies.
 * RESERVATION_CONFLICT: another agent has a lease that overlaps. RESERVATION_STALE_FOUND: that
 * agent is stale, and `takeover` is not asked. The details name the holder, its machine and the
 * end.
 */
enum err leases_take(struct call *c, struct agent_files *f, struct leases *l,
		     const struct lease_ask *ask, struct lease **out);

/* The lease of that id; NULL: there is none. */
struct lease *leases_find(const struct leases *l, struct str id);
bool leases_remove(struct leases *l, struct str id);

#endif
