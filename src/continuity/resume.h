#ifndef CONTINUITY_RESUME_H
#define CONTINUITY_RESUME_H

#include "continuity/continuity.h"
#include "continuity/tasks.h"

struct json;

/* Tells an agent what it was doing, what has changed since, and what to do next. */
enum focus_rule {
	FOCUS_ASKED,       /* the caller named the task */
	FOCUS_IN_PROGRESS, /* assigned to the actor, in progress */
	FOCUS_WAITING,     /* assigned to the actor, blocked by a dependency */
	FOCUS_ASSIGNED,    /* assigned to the actor since its last resume */
	FOCUS_OLD,         /* the old focus, still pending */
	FOCUS_NEXT,        /* the next task to hand out */
	FOCUS_NONE,
};
extern const struct names focus_rules;

struct resume_ask {
	struct str project; /* "" is the repository */
	int64_t limit;      /* maximum number of deltas */
	struct str focus;   /* a task; absent: by the rules */
};

struct resume {
	struct vybe_agent agent;
	int64_t old_cursor, seen; /* the last event that was read; 0: none */
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

/* The brief of the focus; `prompt` is the same as text for a model. */
enum err resume_encode(struct call *c, struct continuity *k, const struct resume *r,
		       struct json *j);
enum err resume_encode_brief(struct call *c, struct continuity *k, const struct resume *r,
			     struct json *j);

#endif
