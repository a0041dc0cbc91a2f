#ifndef AGENTS_PROTOCOL_H
#define AGENTS_PROTOCOL_H

#include "agents/liveness.h"
#include "agents/scope.h"
#include "store/agent_files.h"

struct json;
struct value;

/*
 * What happened between agents, for a later look at the session: lines of events.jsonl, each
 * checked against the rules of its kind before it is written.
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
	struct str mark; /* the end of its id, by which a repeat is known; or absent */
	struct str bead, from, to;
	struct str subject, text;  /* the summary, what blocks, or the evidence */
	struct str action;         /* what the other is to do; how it may be resolved */
	struct str scope;          /* absent: it is about none */
	enum urgency urgency;      /* of BLOCKED */
	enum overlap overlap;      /* of INCURSION: OVERLAP_PARTIAL or OVERLAP_EXACT */
	enum liveness owner;       /* of INCURSION: the liveness of the scope's owner, `to` */
	enum resume_reason reason; /* of RESUME */
};

/* Its line, for a caller that stores it together with something else; its lines are absent if an
 * event with this mark is on record already. */
enum err protocol_line(struct call *c, struct agent_files *f, const struct protocol_event *event,
		       struct agent_append *out);

enum err protocol_record(struct call *c, struct agent_files *f, const struct protocol_event *event);

/* The event that has the mark; NULL: there is none. */
enum err protocol_find(struct call *c, struct agent_files *f, struct str mark,
		       const struct value **out);

/* Which of them; absent: any. */
struct protocol_filter {
	int type;               /* enum event_type; -1: any */
	struct str bead, agent; /* an agent that wrote it, or that it is about */
	struct str or_bead;     /* another name of the bead, that will do too */
	int64_t limit;
};

/* The newest first, as a list. IO_READ_FAILED, with the line, if one is damaged. */
enum err protocol_each(struct call *c, struct agent_files *f, const struct protocol_filter *filter,
		       struct json *out);

/* For repairs: is it a line of the record? */
bool protocol_line_valid(struct call *c, struct str line);

#endif
