#ifndef HOSTS_DELIVERY_H
#define HOSTS_DELIVERY_H

#include "continuity/continuity.h"
#include "store/vybe/vybe_deliveries.h"

/*
 * What the hooks have shown to a model. Each message to the agent is shown once, and so is each
 * post that mentions the agent. The brief is shown once per session, and again after the session's
 * context was compacted.
 */

/* The messages and posts that no hook has shown yet, and counts them as shown. Messages to a
 * session that this one continues are for this one too. */
struct str delivery_news(struct call *c, struct continuity *k);

/* Counts the messages and posts that a brief contains as shown. */
void delivery_count(struct call *c, struct continuity *k, struct str brief);

/*
 * Whether the session's context has the brief. A session has a name of its own, even if the
 * environment gives several sessions the same agent. A brief that was never shown is not lost.
 */
enum brief_state delivery_brief(struct call *c, struct continuity *k, struct str session);
void delivery_brief_shown(struct call *c, struct continuity *k, struct str session);
void delivery_brief_lost(struct call *c, struct continuity *k, struct str session);

#endif
