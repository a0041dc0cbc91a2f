#ifndef AGENTS_PROTOCOL_H
#define AGENTS_PROTOCOL_H

#include "base/names.h"
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

struct protocol_event {
	enum event_type type;
	struct str mark; /* the end of its id, by which a repeat is known; or absent */
	struct str bead, from, to;
	struct str subject, text; /* the summary, what blocks, or the evidence */
	struct str action;        /* what the other is to do; how it may be resolved */
	struct str urgency;       /* low, medium or high, of what blocks */
	struct str scope;         /* absent: it is about none */
	struct str kind;          /* of an incursion: exact or partial; of a resume: the reason */
	struct str liveness;      /* of an incursion: whether its owner, `to`, is there */
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
	struct str bead, agent, type; /* an agent that wrote it, or that it is about */
	struct str or_bead;           /* another name of the bead, that will do too */
	int64_t limit;
};

/* The newest first, as a list. IO_READ_FAILED, with the line, if one is damaged. */
enum err protocol_each(struct call *c, struct agent_files *f, const struct protocol_filter *filter,
		       struct json *out);

/* For repairs: is it a line of the record? */
bool protocol_line_valid(struct call *c, struct str line);

#endif
