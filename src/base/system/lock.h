#ifndef BASE_SYSTEM_LOCK_H
#define BASE_SYSTEM_LOCK_H

#include "base/call.h"

/*
 * A lock between processes; waiting processes get it in order. The kernel releases it when its
 * process ends, however that happens; the lock file stays.
 */
struct lock {
	int fd; /* -1: not held */
};

#define LOCK_NONE        \
	{                \
		.fd = -1 \
	}

/* Waits up to `wait_ms`, then fails with DATABASE_BUSY. READ_ONLY: the file may not be written. */
enum err lock_take(struct call *c, struct str path, int wait_ms, struct lock *out);
void lock_drop(struct lock *lock);
/*
 * Is the lock held by any process? The check takes the lock for an instant, so it can delay a
 * process that takes it, but not another check.
 */
bool lock_held(struct call *c, struct str path);
#define AUTO_LOCK __attribute__((cleanup(lock_drop))) struct lock

#endif
