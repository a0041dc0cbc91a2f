#include "surface/cli/settings.h"

#include <stdlib.h>

#include "agents/liveness.h"
#include "base/moment.h"
#include "base/number.h"
#include "beads/config.h"

enum err settings_now(struct call *c)
{
	const char *now = getenv("ABACUS_NOW");
	struct str text = now ? str_of(now) : STR_NONE;

	c->now_ms = moment_now();
	c->still = text.n;
	if (!text.n || ((moment_parse(text, &c->now_ms) || number_int(text, &c->now_ms)) &&
			c->now_ms >= 0 && c->now_ms <= MOMENT_LAST)) {
		c->now_ms = c->now_ms > 0 ? c->now_ms : 1; /* 0 means "no time" in the stores */
		return ERR_OK;
	}
	return call_fail(c, ERR_INVALID_INPUT,
			 "ABACUS_NOW is '%s', which is neither RFC 3339 nor milliseconds", now);
}

/* Reads a number from the environment; an invalid value is noted in `wrong`. */
static int64_t settings_number_of(const char *name, int64_t least, int64_t most, int64_t otherwise,
				  struct str *wrong)
{
	const char *text = getenv(name);
	int64_t n;

	if (!text || !*text)
		return otherwise;
	if (number_int(str_of(text), &n) && n >= least && n <= most)
		return n;
	*wrong = str_of(text);
	return otherwise;
}

void settings_read(struct call *c)
{
	const char *off = getenv("ABACUS_AUTOSYNC");

	c->autosync = !off || strcmp(off, "0") != 0;
	c->stale_minutes = settings_number_of("BB_AGENT_STALE_MINUTES", 1, STALE_MOST,
					      STALE_MINUTES, &c->wrong_stale);
	c->tombstone_ttl_ms = settings_number_of("BD_TOMBSTONE_TTL_MS", SYNC_TTL_LEAST_MS,
						 INT64_MAX, 0, &c->wrong_ttl);
}
