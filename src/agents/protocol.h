#ifndef AGENTS_PROTOCOL_H
#define AGENTS_PROTOCOL_H

#include "store/agent_files.h"

/*
 * What happened between agents, for whoever looks at a session later: lines of
 * events.jsonl, each checked against the rules of its kind before it is written.
 */
enum event_type { EVENT_HANDOFF, EVENT_BLOCKED, EVENT_INCURSION };

struct protocol_event {
	enum event_type type;
	struct str bead, from, to;
	struct str subject, text; /* of a handoff the summary, else what blocks */
	struct str action;        /* what the other is to do; how it may be resolved */
	struct str urgency;       /* low, medium or high, of what blocks */
	struct str scope;         /* absent: it is about none */
	struct str kind;          /* of an incursion: exact or partial */
	struct str liveness;      /* and whether its owner, `to`, is there */
};

enum err protocol_record(struct call *c, struct agent_files *f,
			 const struct protocol_event *event);

#endif
