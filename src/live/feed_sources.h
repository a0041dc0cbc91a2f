#ifndef LIVE_FEED_SOURCES_H
#define LIVE_FEED_SOURCES_H

#include "base/call.h"
#include "base/map.h"

struct json;
struct value;

/*
 * Up to where each record of each store has been read: the beads' journal, the files of the
 * agents, the board, what agents noted. A source is known by a name, its place by a few numbers.
 */
enum { PLACE_NUMBERS = 5 };

struct source {
	int64_t at[PLACE_NUMBERS];
};

struct sources {
	struct arena mem;
	struct map known;  /* by name: struct source */
	struct map seen;   /* by agent: when it was last seen, as text */
	struct map status; /* by agent on the board: what it said of itself */
	int64_t looked_ms; /* when that was last looked at */
	bool begun;
};

/* Everything there is counts as known. */
void sources_begin(struct call *c, struct sources *s);

/* Tells of all that is new. What cannot be read is told later. The data of an event is JSON with
 * a member "from": the source, and up to where it has been read now. */
typedef void source_tell(void *arg, const char *type, struct str data);
void sources_collect(struct call *c, struct sources *s, source_tell *tell, void *arg);

/* The places as members of the open object; from there; from an event that was told. */
void sources_encode(struct json *j, const struct sources *s);
void sources_decode(struct sources *s, const struct value *v);
void sources_learn(struct call *c, struct sources *s, struct str data);

/* The places as they are, and back to them. */
struct sources sources_copy(struct arena *mem, const struct sources *s);
void sources_restore(struct sources *s, const struct sources *copy);

#endif
