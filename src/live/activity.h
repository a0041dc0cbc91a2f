#ifndef LIVE_ACTIVITY_H
#define LIVE_ACTIVITY_H

#include "base/call.h"
#include "base/names.h"
#include "beads/model/stamp.h"

struct json;

/*
 * What agents and people did in a project, in one order: changes of beads, comments, mail, posts,
 * statuses, artifacts, reservations, registrations, notes. It is read from the ends of the stores,
 * so its cost follows the number of acts that are asked for. A store that the project does not have
 * has no acts.
 */
enum act_kind {
	ACT_BEAD,
	ACT_MAIL,
	ACT_POST,
	ACT_STATUS,
	ACT_ARTIFACT,
	ACT_RESERVATION,
	ACT_AGENT,
	ACT_NOTE,
};
extern const struct names act_kinds;

enum act_what {
	ACT_CREATED,
	ACT_CHANGED,
	ACT_CLAIMED,
	ACT_RELEASED,
	ACT_CLOSED,
	ACT_REOPENED,
	ACT_COMMENTED,
	ACT_DELETED,
	ACT_LINKED,
	ACT_UNLINKED,
	ACT_SENT,
	ACT_ACCEPTED,
	ACT_POSTED,
	ACT_SET,
	ACT_ADDED,
	ACT_RESERVED,
	ACT_EXPIRED,
	ACT_OVERLAPPED, /* reserved a part of another agent's scope: an incursion */
	ACT_REGISTERED,
	ACT_RESUMED,
	ACT_NOTED,
};
extern const struct names act_words;

struct act {
	struct stamp at; /* outside of beads: the time, and a number that orders within it */
	struct str key;  /* the same whenever the act is read */
	enum act_kind kind;
	enum act_what what;
	struct str by;    /* or absent */
	struct str bead;  /* the id; or absent */
	struct str title; /* of the bead, if the act is a change of it */
	struct str text;  /* the subject, the scope, the path, …; or absent */
	struct str *to;   /* the agents that it concerns */
	size_t to_count;
	int category; /* enum category, of mail; -1: other */
};

struct activity_ask {
	struct str agent; /* only acts by this agent, and those that concern it; absent: any */
	struct str bead;  /* only acts about this bead; absent: any */
	int64_t since_ms; /* only acts since this time; INT64_MIN: any */
	int64_t until_ms; /* only acts until this time; 0: any */
	unsigned kinds;   /* bit i selects enum act_kind i; 0: any */
	size_t limit;     /* maximum number of acts; the newest are kept */
	bool quick;       /* only what the ends of the stores tell, without titles */
};

/* The acts, oldest first. A bead that does not exist: NOT_FOUND, DELETED, AMBIGUOUS_ID. */
enum err activity_read(struct call *c, const struct activity_ask *ask, struct act ***out,
		       size_t *count);

void act_encode(struct json *j, const struct act *act);

#endif
