#ifndef AGENTS_PROTOCOL_H
#define AGENTS_PROTOCOL_H

#include "store/agent_files.h"

/*
 * What happened between agents, for whoever looks at a session later: lines of
 * events.jsonl, each checked against the rules of its kind before it is written.
 */
enum event_type { EVENT_HANDOFF, EVENT_BLOCKED };

struct protocol_event {
	enum event_type type;
	struct str bead, from, to;
	struct str subject, text; /* of a handoff the summary, else what blocks */
	struct str action;        /* what the other is to do */
	struct str urgency;       /* low, medium or high, of what blocks */
};

enum err protocol_record(struct call *c, struct agent_files *f,
			 const struct protocol_event *event);

#endif
