#ifndef CONTINUITY_BRIEF_H
#define CONTINUITY_BRIEF_H

#include "agents/mail.h"
#include "agents/reservation.h"
#include "continuity/continuity.h"
#include "continuity/posts.h"
#include "continuity/sessions.h"
#include "continuity/tasks.h"

struct json;

/* All that is worth knowing about a task, and about the agent that works on it. */
struct brief {
	struct task *task; /* or NULL */
	struct str project;

	struct memory_row *memory;   /* of all scopes that matter, the pinned ones first */
	struct event_row *events;    /* of the task, the newest first, all notes included */
	struct event_row *notes;     /* what was written down, by whom ever: not logged */
	struct event_row *reasoning; /* those of that kind */
	struct artifact_row *artifacts;
	int64_t counts[TASK_STATUSES];
	struct task *pipeline; /* what comes next */
	struct task *unlocks;  /* what waits for this one alone */
	struct mail *mail;     /* that has to be accepted */
	struct mail *unread;   /* other mail */
	struct reservation *reserved;
	struct message *posts;          /* on the board, to the agent, since it was last told */
	const struct adoption *adopted; /* when the session began; or NULL */
	const struct other_session *others;
};

enum err brief_read(struct call *c, struct continuity *k, struct brief *b);
void brief_encode(struct call *c, const struct brief *b, struct str prompt, struct json *j);

/* For a model: the most important first, within 1,500 tokens, never cut in a character. */
struct str brief_prompt(struct call *c, const struct brief *b);

#endif
