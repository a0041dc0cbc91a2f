#include "surface/settings.h"

#include <stdlib.h>

#include "agents/liveness.h"
#include "base/moment.h"
#include "base/number.h"

enum err settings_now(struct call *c)
{
	const char *now = getenv("ABACUS_NOW");
	struct str text = now ? str_of(now) : (struct str){ 0 };

	c->now_ms = moment_now();
	c->still = text.n;
	if (!text.n ||
	    ((moment_parse(text, &c->now_ms) || number_int(text, &c->now_ms)) &&
	     c->now_ms >= 0 && c->now_ms <= MOMENT_LAST))
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT,
			 "ABACUS_NOW is '%s', which is neither RFC 3339 nor milliseconds",
			 now);
}

enum err settings_read(struct call *c)
{
	const char *off = getenv("ABACUS_AUTOSYNC"), *ttl = getenv("BD_TOMBSTONE_TTL_MS");
	const char *stale = getenv("BB_AGENT_STALE_MINUTES");
	const int64_t week = INT64_C(7) * 24 * 3600 * 1000;

	c->stale_minutes = STALE_MINUTES;
	if (stale && *stale &&
	    (!number_int(str_of(stale), &c->stale_minutes) || c->stale_minutes < 1 ||
	     c->stale_minutes > STALE_MOST))
		return call_fail(c, ERR_INVALID_INPUT,
				 "BB_AGENT_STALE_MINUTES is '%s', which is not a number "
				 "of minutes from 1 to %d",
				 stale, STALE_MOST);
	c->autosync = !off || strcmp(off, "0") != 0;
	if (!ttl || !*ttl ||
	    (number_int(str_of(ttl), &c->tombstone_ttl_ms) &&
	     c->tombstone_ttl_ms >= week))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT,
		  "BD_TOMBSTONE_TTL_MS is '%s', which is not a number of milliseconds of "
		  "at least 7 days",
		  ttl);
	return call_step(c,
			 "Set it to %lld or more, or unset it: then deletions are "
			 "remembered for ever.",
			 (long long)week);
}
