#ifndef LIVE_ACTIVITY_PARTS_H
#define LIVE_ACTIVITY_PARTS_H

#include "base/map.h"
#include "live/activity.h"

/*
 * Shared by the files of the activity log: activity.c merges the acts, and one file per store reads
 * them.
 */
struct activity {
	struct call *c;
	const struct activity_ask *ask;
	struct str bead, brief; /* the id of the requested bead; the same without its prefix */
	struct map acts;        /* by key: struct act */
	size_t most;            /* how many entries to read of each source */
	struct str part; /* a text that every entry of the requested agent contains; or absent */
	int64_t since;   /* activity_since(), as of `since_count` acts */
	size_t since_count;
	int64_t horizon; /* before this time, acts may be missing */
};

/* Adds an act, unless it is already there or was not requested. Returns the one in the list. */
struct act *activity_add(struct activity *a, const struct act *act);
void act_add_recipient(struct activity *a, struct act *act, struct str agent);

/* The time before which no act is needed any more, because enough later ones are known; 0: none. */
int64_t activity_since(struct activity *a);

/* A source has more entries, all of them older than this. */
void activity_has_more(struct activity *a, int64_t oldest_ms);

/* Could an entry with this text be one of the requested ones? Does not parse the text. */
bool activity_may_have(const struct activity *a, struct str text);

/* Is this the id of the requested bead, with or without its prefix? */
bool activity_about(const struct activity *a, struct str bead);

enum err activity_read_beads(struct activity *a);
enum err activity_read_agents(struct activity *a);
enum err activity_read_board(struct activity *a);
enum err activity_read_notes(struct activity *a);

#endif
