#ifndef SYNC_LEASES_H
#define SYNC_LEASES_H

#include "base/call.h"

struct json;

/*
 * Exclusive reservations at the remote (machines/lease.h). Only `abacus-sync` changes them, one
 * process of a clone at a time; it may be killed at any moment.
 */

/*
 * Reserves: `request` is what lease_reserve() sends, the reply is what it reads. SYNC_FAILED,
 * SYNC_TIMEOUT: nothing was reserved here, and the next step says so if the remote may have the
 * lease; a repeat renews it then.
 */
enum err leases_reserve(struct call *c, struct str request, int64_t timeout_ms, struct json *reply);

/* Removes the leases from the remote whose reservations have ended here. */
enum err leases_settle(struct call *c, struct str home, struct str gitdir);

#endif
