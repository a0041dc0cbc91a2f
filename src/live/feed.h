#ifndef LIVE_FEED_H
#define LIVE_FEED_H

#include <sys/types.h>

#include "base/call.h"
#include "base/system/watch.h"

/*
 * The changes in all stores of a project, in one order, for clients that follow them live. They are
 * read from the stores and written to a file as server-sent events. All clients read the same
 * bytes, each at its own pace, and a client that reconnects continues after its last event, even if
 * the service was killed in between. Each event has the place of its source, so the next service
 * continues there.
 *
 * One thread opens the feed and collects; any thread may read.
 */
struct feed;

/* Continues the feed in `dir`, or begins a new one if there is none or the machine was rebooted. */
enum err feed_open(struct call *c, struct str dir, struct feed **out);
void feed_close(struct feed *f);

/* Appends the new events of all stores; `count` is their number. */
enum err feed_collect(struct call *c, struct feed *f, size_t *count);

/* The folders to watch: every event changes a file in one of them. */
enum { FEED_WATCHED = 6 };
enum err feed_watched(struct call *c, struct watch_at at[FEED_WATCHED]);

/* A place in the feed, mostly between two events. */
struct feed_place {
	int64_t segment, offset;
};
struct feed_place feed_end(struct feed *f);

/* The place after the event with this id; false if the feed does not have it, or not any more. */
bool feed_find(struct feed *f, struct str id, struct feed_place *out);

/* The id of the event that ends at the place. */
enum { FEED_ID = 64 };
void feed_id(struct feed *f, struct feed_place at, char id[FEED_ID]);

/* Reads whole events from a place, which moves on, or a part of an event that does not fit. 0: no
 * more events yet; -1: the segment was removed. */
enum { FEED_EVENT = 16 * 1024 }; /* maximum bytes of an event */
ssize_t feed_read(struct feed *f, struct feed_place *at, char *p, size_t most);

#endif
