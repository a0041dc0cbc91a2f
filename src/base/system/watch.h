#ifndef BASE_SYSTEM_WATCH_H
#define BASE_SYSTEM_WATCH_H

#include <stdint.h>

#include "base/arena.h"

/*
 * Waits until files change, without polling; where the system cannot report changes, the wait ends
 * at intervals instead. Watching begins with watch_open(): a caller that reads the files after it
 * and then waits misses no change.
 */
struct watch_at {
	struct str dir;  /* absent: watch nothing */
	struct str head; /* prefix of the names of the watched files in it */
};

struct watch {
	int fd; /* -1: the system cannot report changes */
	const struct watch_at *at;
	size_t count;
	int *number; /* the system's id of each watch */
};

enum watch_end { WATCH_CHANGED, WATCH_TIMEOUT, WATCH_INPUT };

void watch_open(struct watch *w, struct arena *mem, const struct watch_at *at, size_t count);
/* Also ends, with WATCH_INPUT, when `input` is readable (-1: none) or a signal arrived. */
enum watch_end watch_wait(struct watch *w, int64_t ms, int input);
void watch_close(struct watch *w);

/* Sleeps, but returns early if a signal arrives. */
void watch_pause(int64_t ms);
#define AUTO_WATCH __attribute__((cleanup(watch_close))) struct watch

/* For the sources of each system: false when the time is over or `input` is readable. */
bool watch_sleep(const struct watch *w, int64_t until, int input, enum watch_end *end);

#endif
