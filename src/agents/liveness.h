#ifndef AGENTS_LIVENESS_H
#define AGENTS_LIVENESS_H

#include "base/call.h"
#include "base/names.h"

/*
 * Whether an agent is still there, told from when it last did something. It is worked out when it
 * is asked for, and never written down.
 */
enum liveness { LIVENESS_ACTIVE, LIVENESS_STALE, LIVENESS_EVICTED };
extern const struct names liveness_words;

/* Stale after so many minutes, evicted after twice as many. */
enum { STALE_MINUTES = 15, STALE_MOST = 100000 }; /* by default; at most */
enum liveness liveness_of(int64_t last_seen_ms, int64_t now_ms, int64_t stale_minutes);

/* INVALID_INPUT: the environment's number of minutes is none. */
enum err liveness_check(struct call *c);

#endif
