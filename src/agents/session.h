#ifndef AGENTS_SESSION_H
#define AGENTS_SESSION_H

#include "agents/protocol.h"
#include "agents/reservation.h"

/*
 * Which agent a session is: a new one, or one that was here before. An agent is adopted only on
 * evidence of unfinished work: uncommitted files in its reserved scopes, or a bead in progress.
 */
struct evidence {
	struct registered *agent;
	enum liveness liveness;
	enum resume_reason reason;
	struct str bead, scope; /* the scope may be absent */
	struct str text;        /* a sentence for people */
	struct evidence *next;
};

/* Which evidence counts; absent: all. */
struct session_filter {
	struct str scope, bead;
};

/* One for each agent with unfinished work, the agent that was last seen first. */
enum err session_evidence(struct call *c, struct agent_files *f,
			  const struct session_filter *filter, struct evidence **out);

/* Adopts an agent for which evidence was `found`: records the event, and updates last_seen_at. If
 * an earlier try of the request has recorded the event, `out` is made from that. ADOPTION_REJECTED
 * if there is no evidence. */
enum err session_adopt(struct call *c, struct agent_files *f, struct str agent,
		       struct evidence *found, struct evidence **out);

/*
 * A host's new session, the actor, continues the work of `from` under its own name. If `from` is
 * registered, the actor is registered in the same role and gets its reservations, which are `out`.
 * Records the event.
 */
enum err session_succeed(struct call *c, struct agent_files *f, struct str from,
			 const struct evidence *found, struct reservation **out);

/* Evidence for an agent without any, because a person has confirmed the adoption. */
enum err session_confirmed(struct call *c, struct agent_files *f, struct str agent,
			   const struct session_filter *filter, struct evidence **out);

/* A free name: an adjective and a noun, the same one until an agent takes it. */
enum err session_name(struct call *c, struct agent_files *f, struct str *out);

#endif
