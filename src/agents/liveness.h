#ifndef AGENTS_LIVENESS_H
#define AGENTS_LIVENESS_H

#include "base/call.h"
#include "base/names.h"

/* Whether an agent is still at work, computed from the time it was last seen; never stored. */
enum liveness { LIVENESS_ACTIVE, LIVENESS_STALE, LIVENESS_EVICTED };
extern const struct names liveness_words;

/* The minutes after which an agent is stale; after twice as many it is evicted. */
enum { STALE_MINUTES = 15, STALE_MOST = 100000 }; /* default; maximum */
enum liveness liveness_of(int64_t last_seen_ms, int64_t now_ms, int64_t stale_minutes);

/* INVALID_INPUT if BB_AGENT_STALE_MINUTES is not a number of minutes. */
enum err liveness_check(struct call *c);

#endif
