#ifndef BASE_SYSTEM_LOCK_H
#define BASE_SYSTEM_LOCK_H

#include "base/call.h"

/*
 * One holder at a time among all processes; who waits, waits in order. The kernel lets go of it
 * when its process ends, however it ends; the file that stands for it stays.
 */
struct lock {
	int fd; /* -1: not held */
};

#define LOCK_NONE        \
	{                \
		.fd = -1 \
	}

/* Waits up to `wait_ms`, then fails with DATABASE_BUSY. */
enum err lock_take(struct call *c, struct str path, int wait_ms, struct lock *out);
void lock_drop(struct lock *lock);
/* Does anybody have it? Those who only ask are in nobody's way but a taker's, briefly. */
bool lock_held(struct call *c, struct str path);
#define AUTO_LOCK __attribute__((cleanup(lock_drop))) struct lock

#endif
