#ifndef LIVE_FEED_SOURCES_H
#define LIVE_FEED_SOURCES_H

#include "base/call.h"
#include "base/map.h"

struct json;
struct value;

/*
 * The sources of the feed, and how far each was read: the journal of the beads, the agents'
 * records, the board, the events of continuity. A source has a name; its place is a few numbers.
 */
enum { PLACE_NUMBERS = 5 };

struct source {
	int64_t at[PLACE_NUMBERS];
};

struct sources {
	struct arena mem;
	struct map known;  /* by name: struct source */
	struct map seen;   /* by agent: last_seen_at, as text */
	struct map status; /* by agent on the board: its status, as text */
	int64_t looked_ms; /* when these two were last compared */
	bool begun;
};

/* The place of a source, which is made if it is not known; the place as a list of numbers. */
struct source *source_of(struct sources *s, struct str name);
void source_put_place(struct json *j, const struct source *source);

/* Sets every place to the end of its source. */
void sources_begin(struct call *c, struct sources *s);

/* Calls `tell` for every new event. A source that cannot be read now is read in a later round. The
 * data of an event is JSON with a member "from": the source, and the place after the event. */
typedef void source_tell(void *arg, const char *type, struct str data);
void sources_collect(struct call *c, struct sources *s, source_tell *tell, void *arg);

/* The places as members of the open object; back from that object; from the data of an event. */
void sources_encode(struct json *j, const struct sources *s);
void sources_decode(struct sources *s, const struct value *v);
void sources_learn(struct call *c, struct sources *s, struct str data);

/* A copy of the places; setting them back to it. */
struct sources sources_copy(struct arena *mem, const struct sources *s);
void sources_restore(struct sources *s, const struct sources *copy);

#endif
