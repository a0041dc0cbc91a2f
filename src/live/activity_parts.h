#ifndef LIVE_ACTIVITY_PARTS_H
#define LIVE_ACTIVITY_PARTS_H

#include "base/map.h"
#include "live/activity.h"

/* Shared by the files that read the activity: activity.c asks, one file for each store reads. */
struct activity {
	struct call *c;
	const struct activity_ask *ask;
	struct str bead, brief; /* the id of the bead that is asked for; without its prefix */
	struct map acts;        /* by key: struct act */
	size_t most;            /* how many entries to read of each source */
	struct str part;        /* a text that every entry of the asked agent has; or absent */
	int64_t since;          /* activity_since(), as of `since_count` acts */
	size_t since_count;
	int64_t horizon; /* before this time, acts may be missing */
};

/* Adds an act, unless it is known already or was not asked for; returns the one that is known. */
struct act *activity_add(struct activity *a, const struct act *act);
void act_add_recipient(struct activity *a, struct act *act, struct str agent);

/* The time before which no act is needed any more, because enough later ones are known; 0: none. */
int64_t activity_since(struct activity *a);

/* A source has more entries, all of them older than this. */
void activity_has_more(struct activity *a, int64_t oldest_ms);

/* May an entry with this text be one that was asked for? Decided without parsing it. */
bool activity_may_have(const struct activity *a, struct str text);

/* Is it about the bead that is asked for? The writer may have left out the prefix of the id. */
bool activity_about(const struct activity *a, struct str bead);

enum err activity_read_beads(struct activity *a);
enum err activity_read_agents(struct activity *a);
enum err activity_read_board(struct activity *a);
enum err activity_read_notes(struct activity *a);

#endif
