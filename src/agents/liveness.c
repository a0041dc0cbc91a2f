#include "agents/liveness.h"

const struct names liveness_words = NAMES_OF(
	[LIVENESS_ACTIVE] = "active", [LIVENESS_STALE] = "stale", [LIVENESS_EVICTED] = "evicted");

enum liveness liveness_of(int64_t last_seen_ms, int64_t now_ms, int64_t stale_minutes)
{
	int64_t stale_ms = stale_minutes * 60000, quiet_ms = now_ms - last_seen_ms;

	return quiet_ms < stale_ms     ? LIVENESS_ACTIVE :
	       quiet_ms < 2 * stale_ms ? LIVENESS_STALE :
					 LIVENESS_EVICTED;
}

enum err liveness_check(struct call *c)
{
	if (!c->wrong_stale.p)
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT,
		  "BB_AGENT_STALE_MINUTES is '" STR_FMT
		  "', which is not a number of minutes from 1 to %d",
		  STR_ARG(c->wrong_stale), STALE_MOST);
	return call_step(c, "Run 'unset BB_AGENT_STALE_MINUTES' for the default of %d.",
			 STALE_MINUTES);
}
