#ifndef STORE_GIT_GIT_LOCK_H
#define STORE_GIT_GIT_LOCK_H

#include "base/call.h"

/*
 * Git's lock file: the process that creates `<path>.lock` may replace `path`, by renaming the lock
 * over it. Git and libgit2 leave the lock behind when they are killed, and from then on the file
 * cannot be replaced. A lock made here can be told from theirs, and the death of its owner is
 * noticed:
 *
 * - It is a hard link of a file beside it, `<path>.abacus-<run>-<random>.lock`, where `run`
 * identifies the machine and its boot. Git ignores both names in `refs`.
 *
 * - Its owner holds flock() on it, which the kernel releases when the process ends.
 *
 * A lock of the same run whose flock() is free is removed at once. For any other lock it is unknown
 * whether its owner is alive. One of ours (of another machine that shares the folder, or from
 * before a power failure) would be held for milliseconds, so it is removed once it has not changed
 * for 5 s on the monotonic clock. Git may hold a lock as long as a hook runs: such a lock must also
 * be 5 minutes old. On a file system without hard links, our own locks are treated like Git's.
 *
 * If the owner of a removed lock is alive after all, its own change fails, because its lock cannot
 * be renamed; or it renames ours, which is complete by then.
 */
struct git_lock {
	struct str path, lock, own; /* `own` is absent on file systems without hard links */
	int fd;                     /* -1: not held */
};

#define GIT_LOCK_NONE    \
	{                \
		.fd = -1 \
	}

enum git_lock_others { GIT_LOCK_RESPECT, GIT_LOCK_REMOVE_STALE };

/*
 * Takes the lock; the lock file has the content from the moment it exists. SYNC_FAILED if a live
 * program holds the lock for 10 s, or, with GIT_LOCK_RESPECT, if a program of unknown state holds
 * it for 1 s.
 */
enum err git_lock_take(struct call *c, struct str path, struct str content,
		       enum git_lock_others others, struct git_lock *out);

/* Appends content that is known only under the lock. */
enum err git_lock_write(struct call *c, struct git_lock *l, struct str content);

/* Replaces the file with the lock file durably, and releases the lock. */
enum err git_lock_commit(struct call *c, struct git_lock *l);

/* Releases the lock without changing the file. */
void git_lock_drop(struct git_lock *l);
#define AUTO_GIT_LOCK __attribute__((cleanup(git_lock_drop))) struct git_lock

/* A lock in the way: not made here, held by no live process of ours. */
struct lock_found {
	struct str lock;
	bool recent;    /* it is not old enough to be sure that its owner is dead */
	bool removable; /* git_lock_take() will remove it after a while */
};

/* Is there such a lock of this file, unchanged while it is watched? */
bool git_lock_left(struct call *c, struct str path, struct lock_found *out);

/* The command by which a person removes a lock that git_lock_take() respects. */
struct str git_lock_remedy(struct arena *mem, struct str lock);

/* Removes the locks in a folder that dead processes left since the machine was started. */
void git_lock_sweep(struct call *c, struct str dir);

#endif
