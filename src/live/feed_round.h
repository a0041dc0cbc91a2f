#ifndef LIVE_FEED_ROUND_H
#define LIVE_FEED_ROUND_H

#include "base/text/json.h"
#include "live/feed_sources.h"

/* The state of one round of sources_collect(), shared by the readers of the sources. */
struct feed_round {
	struct call *c; /* of the round */
	struct sources *s;
	source_tell *tell;
	void *arg;
	struct str name; /* of the current source */
	struct source *at;
};

enum {
	FEED_IDS_MOST = 64
}; /* maximum ids in one event; if there are more, clients read all beads
			    * again */

enum { FEED_RECORDS_MOST = 2000 }; /* maximum records of one source in one round */

/* Chooses the current source. */
void feed_round_choose(struct feed_round *t, struct str name);

/*
 * Begins the data of an event, an open JSON object; feed_round_end() sends the event, with the
 * place of the current source.
 */
struct json feed_round_begin(struct call *c);
void feed_round_end(struct feed_round *t, const char *type, struct json *j);

/* The known part of a source is gone, so clients have to read everything again. */
void feed_round_reset(struct feed_round *t);

/* A store was removed, and with it all sources whose names begin with one of `heads`. */
void feed_round_gone(struct feed_round *t, const char *const *heads);

/* Remembers the text of a key; false if it has not changed. */
bool feed_round_has_changed(struct map *map, struct arena *mem, struct str key, struct str now);

/*
 * The readers: feed_beads.c, feed_agents.c, feed_board.c. `look`: also compare last_seen_at and
 * statuses; `first`: only remember them.
 */
void feed_collect_beads(struct feed_round *t);
void feed_collect_agents(struct feed_round *t, bool look, bool first);
void feed_collect_board(struct feed_round *t, bool look, bool first);
void feed_collect_events(struct feed_round *t);

#endif
