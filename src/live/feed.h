#ifndef LIVE_FEED_H
#define LIVE_FEED_H

#include <sys/types.h>

#include "base/call.h"
#include "base/system/watch.h"

/*
 * What happens in all stores of a project, in one order, for clients that follow it live. It is
 * read from the stores, and written to a file as the text that is sent (server-sent events), so
 * that all who follow read the same bytes, at whatever pace, and one who comes back goes on
 * behind the last event it has seen, also after the service was killed. Each event says which
 * place of its source it was read up to; a client that opens the feed later goes on from there.
 *
 * One thread opens it and collects; any may read.
 */
struct feed;

/* Makes it where there is none, or where the system was started since. */
enum err feed_open(struct call *c, struct str dir, struct feed **out);
void feed_close(struct feed *f);

/* What is new, in all stores; how many events. */
enum err feed_collect(struct call *c, struct feed *f, size_t *count);

/* The folders in which something changes when something happens. */
enum { FEED_WATCHED = 6 };
enum err feed_watched(struct call *c, struct watch_at at[FEED_WATCHED]);

/* A place in it; most are between two events. */
struct feed_place {
	int64_t segment, offset;
};
struct feed_place feed_end(struct feed *f);

/* Behind the event of that id; false: it is not, or no longer, known. */
bool feed_find(struct feed *f, struct str id, struct feed_place *out);

/* The id of a place, which is that of the event before it. */
enum { FEED_ID = 64 };
void feed_id(struct feed *f, struct feed_place at, char id[FEED_ID]);

/* Whole events from a place, which moves along, or a part of one where there is no room for it;
 * 0: there are no more yet, -1: what was there is gone. */
enum { FEED_EVENT = 16 * 1024 }; /* none is larger */
ssize_t feed_read(struct feed *f, struct feed_place *at, char *p, size_t most);

#endif
