#ifndef AGENTS_STUCK_H
#define AGENTS_STUCK_H

#include "base/call.h"
#include "base/names.h"
#include "beads/model/stamp.h"

struct beads;
struct event_row;
struct json;

/*
 * An agent that is alive but makes no progress. It has a live lease, and the hooks of its host
 * - have reported nothing for the time of the setting stuck.after, or
 * - have reported the same failing tool call several times in a row.
 * Like liveness, this is computed whenever somebody asks, from the events in vybe.db, and is never
 * stored. An agent whose hooks have never reported anything here is not known to be stuck.
 */

/* The kinds of events that hooks record. */
enum report {
	REPORT_BEGAN,
	REPORT_PROMPT,
	REPORT_TOOL,
	REPORT_TOOL_FAILED,
	REPORT_CHECKPOINT,
	REPORT_OTHER,
	REPORT_WAITS, /* the agent waits for the end of the host's rate limit; see stuck_wait() */
};
extern const struct names reports;

/* The metadata of REPORT_WAITS. An agent that is silent until that time is not stuck. */
struct str stuck_wait(struct call *c, int64_t until_ms);

enum stuck_reason { STUCK_SILENT, STUCK_REPEATS };
extern const struct names stuck_reasons;
enum { STUCK_TIMES = 5 }; /* equal failing calls */

struct stuck {
	struct str agent;
	struct str bead;    /* the one that it claimed last */
	struct stamp epoch; /* of that claim */
	enum stuck_reason reason;
	int64_t since_ms; /* the last report; the first of the failing calls */
	int64_t seen_ms;  /* the last report */
	int64_t waits_ms; /* the end of its host's rate limit, if that is still ahead; or 0 */
	struct str tool;  /* the failing call; absent: silent */
	int64_t times;    /* how often it failed */
	struct stuck *next;
};

/*
 * Decides whether an agent is stuck, from its newest events, newest first. The caller sets agent,
 * bead and epoch of `out`. False: the agent is not stuck, and only `seen_ms` is set, to the time of
 * its last report; 0: there is none.
 */
bool stuck_judge(struct call *c, const struct event_row *events, int64_t after_ms,
		 struct stuck *out);

/* All stuck agents of the project, by name; the same for a caller that has opened the beads. */
enum err stuck_each(struct call *c, struct stuck **out);
enum err stuck_among(struct call *c, struct beads *b, struct stuck **out);

/* The same, to be shown beside another reply: if they cannot be read, warns, and returns NULL. */
struct stuck *stuck_shown(struct call *c);
const struct stuck *stuck_find(const struct stuck *list, struct str agent);

/* Judges the holder of a claim, in the store at `home`. */
enum err stuck_holder(struct call *c, struct str home, struct stuck *out, bool *is);

/* For people: "has reported nothing for 12m", "has repeated a failing call 5 times: Bash make". */
struct str stuck_text(struct call *c, const struct stuck *s);

/*
 * Sends each stuck agent that is registered a message, one for each claim and reason. Never fails.
 */
void stuck_tell(struct call *c);

/* After the actor has taken the claim of a stuck agent over: gives it the reservations made for the
 * bead, records the event, and tells the former holder. A failure is a warning. */
void stuck_succeed(struct call *c, const struct stuck *from);

void stuck_encode(struct json *j, struct call *c, const struct stuck *s);
void stuck_put(struct json *j, struct call *c, const struct stuck *s); /* member; NULL: null */

#endif
