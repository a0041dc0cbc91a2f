#include "base/system/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/system/file.h"

static void lock_wake(int signal)
{
	(void)signal;
}

/*
 * flock() is not fair: a process that arrives at the right moment overtakes the waiting ones, for
 * seconds where there are many. So a process that has to wait first takes a number, which is a lock
 * on one byte of the file beyond its end, and waits for the number before its own. A new process
 * that finds a number taken queues up, too. The numbers only give the order; flock() is the lock.
 */
enum { MUTEX = 0, NUMBERS = 16 };

static bool byte_lock(int fd, int how, short type, off_t at, off_t count)
{
	struct flock range = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = count
	};

	return fcntl(fd, how, &range) == 0;
}

static bool queue_empty(int fd)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = NUMBERS };

	return fcntl(fd, F_GETLK, &range) == 0 && range.l_type == F_UNLCK;
}

static bool take_number(int fd, uint32_t *number)
{
	uint32_t next = 0;
	bool ok;

	if (!byte_lock(fd, F_SETLKW, F_WRLCK, MUTEX, 1))
		return false;
	(void)!pread(fd, &next, sizeof next, 0);
	*number = next++;
	ok = pwrite(fd, &next, sizeof next, 0) == sizeof next &&
	     byte_lock(fd, F_SETLK, F_WRLCK, NUMBERS + (off_t)*number + 1, 1);
	byte_lock(fd, F_SETLK, F_UNLCK, MUTEX, 1);
	return ok;
}

static bool wait_turn(int fd)
{
	uint32_t number;

	if (take_number(fd, &number) &&
	    !byte_lock(fd, F_SETLKW, F_WRLCK, NUMBERS + (off_t)number, 1))
		return false;
	return flock(fd, LOCK_EX) == 0;
}

/*
 * None of the system calls below has a deadline, so a timer interrupts them. The timer repeats,
 * because a signal between the check and the call would otherwise be lost.
 */
static bool lock_wait_for(int fd, int wait_ms)
{
	struct sigaction act = { .sa_handler = lock_wake }, before;
	struct itimerval timer = { .it_interval.tv_usec = 20 * 1000 }, stop = { 0 };
	sigset_t alarm, blocked;
	bool got = false;

	if (wait_ms <= 0)
		return false;
	sigemptyset(&act.sa_mask);
	sigaction(SIGALRM, &act, &before);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, &blocked); /* the parent may have blocked it */
	timer.it_value = (struct timeval){ wait_ms / 1000, wait_ms % 1000 * 1000 };
	setitimer(ITIMER_REAL, &timer, NULL);
	got = wait_turn(fd);
	setitimer(ITIMER_REAL, &stop, NULL);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	sigaction(SIGALRM, &before, NULL);
	return got;
}

/*
 * Is the locked file still the one at the path? A lock on a removed file excludes no other process.
 */
static bool lock_stands(struct call *c, struct str path, int fd)
{
	struct stat ours, there;

	return fstat(fd, &ours) == 0 && lstat(arena_cstr(&c->mem, path), &there) == 0 &&
	       ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

enum err lock_take(struct call *c, struct str path, int wait_ms, struct lock *out)
{
	for (;;) {
		out->fd = file_own_open(&c->mem, path, O_RDWR | O_CREAT, 0600);
		if (out->fd < 0)
			return file_fail_write(c, "open", path);
		if (!(queue_empty(out->fd) && flock(out->fd, LOCK_EX | LOCK_NB) == 0) &&
		    !lock_wait_for(out->fd, wait_ms))
			break;
		if (lock_stands(c, path, out->fd))
			return ERR_OK;
		file_close(&out->fd);
	}
	file_close(&out->fd);
	return call_fail(c, ERR_DATABASE_BUSY,
			 "another process has held '" STR_FMT "' for more than %d s", STR_ARG(path),
			 wait_ms / 1000);
}

bool lock_held(struct call *c, struct str path)
{
	int fd = file_own_open(&c->mem, path, O_RDONLY, 0);
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	file_close(&fd);
	return held;
}

void lock_drop(struct lock *lock)
{
	file_close(&lock->fd);
}
