#ifndef BASE_SYSTEM_WATCH_H
#define BASE_SYSTEM_WATCH_H

#include <stdint.h>

#include "base/arena.h"

/*
 * Waits until files change, without looking at them over and over; where the system cannot tell,
 * every now and then counts as a change. What is watched is armed when it is opened: who looks
 * after that and then waits misses nothing.
 */
struct watch_at {
	struct str dir;  /* absent: nothing */
	struct str head; /* how the names of the files in it begin */
};

struct watch {
	int fd; /* -1: the system cannot tell */
	const struct watch_at *at;
	size_t count;
	int *number; /* by which the system knows each */
};

enum watch_end { WATCH_CHANGED, WATCH_TIMEOUT, WATCH_INPUT };

void watch_open(struct watch *w, struct arena *mem, const struct watch_at *at, size_t count);
/* Ends with WATCH_INPUT also when `input` can be read (-1: none), or a signal came. */
enum watch_end watch_wait(struct watch *w, int64_t ms, int input);
void watch_close(struct watch *w);

/* Sleeps so long, unless a signal comes. */
void watch_pause(int64_t ms);
#define AUTO_WATCH __attribute__((cleanup(watch_close))) struct watch

/* For the files of each system: false when the time is over or there is input. */
bool watch_sleep(const struct watch *w, int64_t until, int input, enum watch_end *end);

#endif
