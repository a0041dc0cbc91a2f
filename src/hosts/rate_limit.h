#ifndef HOSTS_RATE_LIMIT_H
#define HOSTS_RATE_LIMIT_H

#include "base/call.h"

/*
 * The message with which a host says that its rate limit is reached, and when the limit ends:
 * Claude Code ("usage limit reached|1749924000", "resets 3pm (America/Bogota)"), Codex ("try again
 * in 3 hours 2 minutes", "try again at 2:51 PM"), Gemini CLI ("Please retry in 34.1s", "quota will
 * reset after 18h24m3s", "retryDelay"), and HTTP (429 with Retry-After). Times of day are those of
 * this machine's zone, which hosts use, too.
 */

/*
 * Is there such a message in the output of a command? `until_ms` is the end of the limit. A message
 * that names none counts only if the command has failed, because an agent that works on rate limits
 * writes about them, too; the end is then a few minutes from now.
 */
bool rate_limit_find(struct call *c, struct str output, bool failed, int64_t *until_ms);

#endif
