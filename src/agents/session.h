#ifndef AGENTS_SESSION_H
#define AGENTS_SESSION_H

#include "agents/protocol.h"
#include "agents/reservation.h"

/*
 * Who a session is: somebody new, or an agent that was here before. Nobody is adopted on its
 * word: it has left files that are changed in what it has reserved, or a bead that it has in
 * progress.
 */
struct evidence {
	struct registered *agent;
	enum liveness liveness;
	enum resume_reason reason;
	struct str bead, scope; /* it is about; a scope may be absent */
	struct str text;        /* in a sentence */
	struct evidence *next;
};

/* What counts of it; absent: all. */
struct session_filter {
	struct str scope, bead;
};

/* One for each agent that has left any, the one that was seen last first. */
enum err session_evidence(struct call *c, struct agent_files *f,
			  const struct session_filter *filter, struct evidence **out);

/* With the agent's own among what was found: the event is recorded, and the agent is seen. An
 * earlier try of the request that got so far counts. ADOPTION_REJECTED if there is none. */
enum err session_adopt(struct call *c, struct agent_files *f, struct str agent,
		       struct evidence *found, struct evidence **out);

/*
 * A host's new session continues what `from` has left, under its own name, the actor's. If `from`
 * is registered, the actor is registered in the same role and gets its reservations, which are
 * `out`. The event is recorded.
 */
enum err session_succeed(struct call *c, struct agent_files *f, struct str from,
			 const struct evidence *found, struct reservation **out);

/* Evidence for an agent that has left none, because a person says so. */
enum err session_confirmed(struct call *c, struct agent_files *f, struct str agent,
			   const struct session_filter *filter, struct evidence **out);

/* A name that nobody has, the same as long as nobody takes it: an adjective and a noun. */
enum err session_name(struct call *c, struct agent_files *f, struct str *out);

#endif
