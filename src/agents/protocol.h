#ifndef AGENTS_PROTOCOL_H
#define AGENTS_PROTOCOL_H

#include "agents/liveness.h"
#include "agents/scope.h"
#include "store/agent_files.h"

struct json;
struct value;

/*
 * The events between agents, as lines of events.jsonl. Each is checked against the rules of its
 * type before it is written.
 */
enum event_type { EVENT_HANDOFF, EVENT_BLOCKED, EVENT_INCURSION, EVENT_RESUME };
extern const struct names event_types;
const char *event_label(enum event_type type); /* what people read */

enum urgency { URGENCY_LOW, URGENCY_MEDIUM, URGENCY_HIGH };
extern const struct names urgencies;
enum err urgency_parse(struct call *c, struct str word, int *out); /* INVALID_INPUT; absent: -1 */

enum resume_reason { RESUME_UNCOMMITTED, RESUME_IN_PROGRESS };
extern const struct names resume_reasons;

struct protocol_event {
	enum event_type type;
	struct str mark; /* the end of its id, by which a repeated request finds it; or absent */
	bool first;      /* no event has this mark: the record is not searched for it */
	struct str bead, from, to;
	struct str subject, text;  /* the summary, the blocker or the evidence */
	struct str action;         /* the next action, or the hint for INCURSION */
	struct str scope;          /* or absent */
	enum urgency urgency;      /* of BLOCKED */
	enum overlap overlap;      /* of INCURSION: OVERLAP_PARTIAL or OVERLAP_EXACT */
	enum liveness owner;       /* of INCURSION: the liveness of the scope's owner, `to` */
	enum resume_reason reason; /* of RESUME */
};

/* The line of an event, for a caller that stores it together with other lines. The lines are absent
 * if the record has an event with this mark already. */
enum err protocol_line(struct call *c, struct agent_files *f, const struct protocol_event *event,
		       struct agent_append *out);

enum err protocol_record(struct call *c, struct agent_files *f, const struct protocol_event *event);

/* The event with the mark; NULL: there is none. */
enum err protocol_find(struct call *c, struct agent_files *f, struct str mark,
		       const struct value **out);

/*
 * Marks that events in the record have: sets the value of each such key of `marks`. The record is
 * read once, in parts.
 */
struct map;
enum err protocol_find_marks(struct call *c, struct agent_files *f, struct map *marks);

struct protocol_filter {
	int type;               /* enum event_type; -1: any */
	struct str bead, agent; /* sender or recipient; absent: any */
	struct str or_bead;     /* another id of the bead, which matches too */
	int64_t limit;
};

/* Writes the events as a list, newest first. Damaged lines are left out, with a warning. */
enum err protocol_each(struct call *c, struct agent_files *f, const struct protocol_filter *filter,
		       struct json *out);

/* For repairs: is this a valid line of the record? */
bool protocol_line_valid(struct call *c, struct str line);

#endif
