#ifndef CONTINUITY_BRIEF_H
#define CONTINUITY_BRIEF_H

#include "agents/mail.h"
#include "agents/reservation.h"
#include "continuity/continuity.h"
#include "continuity/posts.h"
#include "continuity/sessions.h"
#include "continuity/tasks.h"

struct json;
struct value;

/* What an agent needs to know about its task, its mail and the other sessions. */
struct brief {
	struct task *task;        /* or NULL */
	const struct value *bead; /* the task's record, with its notes; or NULL */
	struct str project;

	struct memory_row *memory;   /* of the task, the agent, the project and all; pinned first */
	struct event_row *events;    /* of the task, newest first, notes included */
	struct event_row *notes;     /* events that agents wrote down, not the log */
	struct event_row *reasoning; /* notes of the kind `reasoning` */
	struct artifact_row *artifacts;
	int64_t counts[TASK_STATUSES];
	struct task *pipeline; /* the next tasks to hand out */
	struct task *unlocks;  /* tasks that only this one blocks */
	struct mail *mail;     /* messages that require an acknowledgement */
	struct mail *unread;   /* other unread messages */
	struct reservation *reserved;
	struct message *posts;          /* on the board, to the agent, since its last brief */
	const struct adoption *adopted; /* at the start of a session; or NULL */
	const struct other_session *others;
	struct str protected; /* the store's folder, if this process can't write to it; or absent */
	struct str sandbox;   /* what the sandbox of the agent's host protects; or absent */
};

/* The notes on the task's bead, which 'bd comment' adds: the n-th newest, or NULL. */
const struct value *brief_comment(const struct brief *b, size_t n);

/* Tells an agent what to do if its sandbox forbids writing; `path` is the protected folder. */
struct str brief_protected(struct call *c, struct str path);

enum err brief_read(struct call *c, struct continuity *k, struct brief *b);
void brief_encode(struct call *c, const struct brief *b, struct str prompt, struct json *j);

/* Text for a model, most important first, at most 1,500 tokens. */
struct str brief_prompt(struct call *c, const struct brief *b);

/* Does the text contain the output of brief_prompt()? */
bool brief_found(struct str text);

#endif
