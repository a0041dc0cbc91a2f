#ifndef LIVE_TELLING_H
#define LIVE_TELLING_H

#include "base/text/json.h"
#include "live/feed_sources.h"

/* The state of one round of sources_collect(), shared by the readers of the sources. */
struct telling {
	struct call *c; /* of the round */
	struct sources *s;
	source_tell *tell;
	void *arg;
	struct str name; /* of the current source */
	struct source *at;
};

enum {
	TELLING_IDS = 64
}; /* maximum ids in one event; if there are more, clients read all beads
			    * again */

enum { TELLING_ROUND = 2000 }; /* maximum records of one source in one round */

/* Chooses the current source. */
void telling_choose(struct telling *t, struct str name);

/*
 * Begins the data of an event, an open JSON object; telling_end() sends the event, with the place
 * of the current source.
 */
struct json telling_begin(struct call *c);
void telling_end(struct telling *t, const char *type, struct json *j);

/* The known part of a source is gone, so clients have to read everything again. */
void telling_reset(struct telling *t);

/* A store was removed, and with it all sources whose names begin with one of `heads`. */
void telling_gone(struct telling *t, const char *const *heads);

/* Remembers the text of a key; false if it has not changed. */
bool telling_has_changed(struct map *map, struct arena *mem, struct str key, struct str now);

/*
 * The readers: feed_beads.c, feed_agents.c, feed_board.c. `look`: also compare last_seen_at and
 * statuses; `first`: only remember them.
 */
void feed_collect_beads(struct telling *t);
void feed_collect_agents(struct telling *t, bool look, bool first);
void feed_collect_board(struct telling *t, bool look, bool first);
void feed_collect_events(struct telling *t);

#endif
