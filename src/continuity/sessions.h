#ifndef CONTINUITY_SESSIONS_H
#define CONTINUITY_SESSIONS_H

#include "agents/reservation.h"
#include "continuity/continuity.h"
#include "continuity/tasks.h"

/*
 * The sessions of hosts. Each is an agent of its own, named after the session, so that
 * two that run at once never share a claim. What a session leaves when it is over, the
 * next one in the same workspace adopts under its own name. A session is over when
 * - its host said so, or
 * - the host's process has ended, or
 * - it was not seen for as long as makes an agent stale; but not while its host's process
 *   runs and what it holds has not expired.
 */

/* Records an event of the actor's session, in the call's folder. Only work reopens a session that
 * has ended, because other events may arrive late. */
enum session_sign { SESSION_WORKS, SESSION_ENDS, SESSION_OTHER };
enum err sessions_note(struct call *c, struct continuity *k, enum session_sign sign);

/* What was adopted, from whom, and why that one is over. */
struct adoption {
	struct str from;
	struct str why; /* a clause that follows the name */
	struct task *tasks;
	struct reservation *reserved;
};

/*
 * For a new session that holds nothing: adopts the work of the last session that is over, if there
 * is the same evidence as for `bb-init`: a bead in progress, or changed files in a reservation.
 * NULL: nothing was adopted. Cursors and memory of ended sessions are taken over in any case.
 */
enum err sessions_adopt(struct call *c, struct continuity *k, struct adoption **out);

/* Other sessions of the same workspace that hold tasks. */
struct other_session {
	struct str agent;
	bool over; /* is over; the next new session adopts its work */
	struct task *task;
	struct other_session *next;
};
enum err sessions_others(struct call *c, struct continuity *k, struct other_session **out);

/* The actor's own name, then those of the sessions that it continues. */
enum err sessions_names(struct call *c, struct continuity *k, struct str **names, size_t *count);

#endif
