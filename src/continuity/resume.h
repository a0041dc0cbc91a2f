#ifndef CONTINUITY_RESUME_H
#define CONTINUITY_RESUME_H

#include "continuity/continuity.h"
#include "continuity/tasks.h"

struct json;

/*
 * One call after which an agent knows what it was doing, what has changed since, and what to do
 * next.
 */
enum focus_rule {
	FOCUS_ASKED,       /* somebody said so */
	FOCUS_IN_PROGRESS, /* it is mine, and in progress */
	FOCUS_WAITING,     /* it is mine, and waits for another one */
	FOCUS_ASSIGNED,    /* somebody has given it to me since */
	FOCUS_OLD,         /* what I had, which nobody has begun */
	FOCUS_NEXT,        /* the next one that is ready */
	FOCUS_NONE,
};
extern const struct names focus_rules;

struct resume_ask {
	struct str project; /* "" is the repository */
	int64_t limit;      /* of deltas */
	struct str focus;   /* a task; absent: by the rules */
};

struct resume {
	struct vybe_agent agent;
	int64_t old_cursor, seen; /* the last event that was looked at; 0: none */
	struct event_row *deltas;
	struct task *focus; /* or NULL */
	enum focus_rule rule;
};

/* For a writer: moves the cursor and the focus of the agent. */
enum err resume_run(struct call *c, struct continuity *k, const struct resume_ask *ask,
		    struct resume *out);

/* The same without moving anything, and without deltas. */
enum err resume_peek(struct call *c, struct continuity *k, const struct resume_ask *ask,
		     struct resume *out);

/* What there is to know about it; `prompt` is the same for a model to read, within its budget. */
enum err resume_encode(struct call *c, struct continuity *k, const struct resume *r,
		       struct json *j);
enum err resume_encode_brief(struct call *c, struct continuity *k, const struct resume *r,
			     struct json *j);

#endif
