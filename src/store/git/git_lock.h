#ifndef STORE_GIT_GIT_LOCK_H
#define STORE_GIT_GIT_LOCK_H

#include "base/call.h"

/*
 * Git's lock file: the process that creates `<path>.lock` may replace `path`, by renaming the lock
 * over it. Git and libgit2 leave the lock behind when they are killed, and nobody can
 * replace the file from then on. A lock made here can be told from theirs, and the
 * death of its maker can be seen:
 *
 * - it is a hard link of a file beside it, `<path>.abacus-<run>-<random>.lock`, where
 *   `run` stands for the machine and its boot. Git ignores both names in `refs`;
 * - its maker holds flock() on it, which the kernel releases when the process ends.
 *
 * A lock of the same run whose flock() is free is removed at once. Of any other lock nobody can
 * tell whether its maker lives. One of ours (of another machine that shares the folder, or from
 * before a loss of power) is held for milliseconds, so it is removed once it has not changed for
 * 5 s on the monotonic clock. Git may hold one for as long as a hook runs: it has to be 5 minutes
 * old besides. Where a file system has no hard links, locks made here are of that kind, too.
 *
 * Should the maker of a removed lock be alive after all, its own change fails, because
 * its lock cannot be renamed; or it renames ours, which is complete by then.
 */
struct git_lock {
	struct str path, lock, own; /* `own`: absent where there are no hard links */
	int fd;                     /* -1: not held */
};

#define GIT_LOCK_NONE    \
	{                \
		.fd = -1 \
	}

enum git_lock_others { GIT_LOCK_RESPECT, GIT_LOCK_REMOVE_STALE };

/*
 * The lock file has the content from the moment it is there. SYNC_FAILED if a program that lives
 * has the lock for 10 s, or, with GIT_LOCK_RESPECT, if a program of which nobody knows whether it
 * lives has it for 1 s.
 */
enum err git_lock_take(struct call *c, struct str path, struct str content,
		       enum git_lock_others others, struct git_lock *out);

/* More content, for what can only be known under the lock. */
enum err git_lock_write(struct call *c, struct git_lock *l, struct str content);

/* Replaces the file by the lock, on the medium, and gives the lock back. */
enum err git_lock_commit(struct call *c, struct git_lock *l);

/* Gives the lock back, and leaves the file as it is. */
void git_lock_drop(struct git_lock *l);
#define AUTO_GIT_LOCK __attribute__((cleanup(git_lock_drop))) struct git_lock

/*
 * Is there a lock of that file which was not made here, which no living process of ours holds,
 * which is old enough to have been left behind, and which does not change while it is looked at?
 * `removable`: git_lock_take() removes it after a while.
 */
bool git_lock_left(struct call *c, struct str path, struct str *lock, bool *removable);

/* The command with which a person removes a lock that git_lock_take() leaves alone. */
struct str git_lock_remedy(struct arena *mem, struct str lock);

/* Removes the locks in a folder that dead processes of this run of the machine left. */
void git_lock_sweep(struct call *c, struct str dir);

#endif
