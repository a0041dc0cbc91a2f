#include "base/system/watch.h"

#include <signal.h>
#include <sys/select.h>

#include "base/moment.h"

enum { NOW_AND_THEN_MS = 200 };

static struct timespec until_then(int64_t left)
{
	return (struct timespec){ .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };
}

/* A server blocks signals while it works; they are delivered during this wait. */
bool watch_sleep(const struct watch *w, int64_t until, int input, enum watch_end *end)
{
	int64_t left = until - moment_ticks();
	int most, ready;
	bool blind = w->fd < 0 || w->fd >= FD_SETSIZE; /* the limit of fd_set */
	struct timespec time;
	sigset_t open;
	fd_set set;

	*end = WATCH_TIMEOUT;
	most = !blind && w->fd > input ? w->fd : input;
	if (left <= 0)
		return false;
	time = until_then(blind && left > NOW_AND_THEN_MS ? NOW_AND_THEN_MS : left);
	FD_ZERO(&set);
	if (!blind)
		FD_SET(w->fd, &set);
	if (input >= 0)
		FD_SET(input, &set);
	sigemptyset(&open);
	ready = pselect(most + 1, &set, NULL, NULL, &time, &open);
	if (ready < 0 || (input >= 0 && ready > 0 && FD_ISSET(input, &set))) {
		*end = WATCH_INPUT;
		return false;
	}
	if (!ready) {
		*end = blind && left > NOW_AND_THEN_MS ? WATCH_CHANGED : WATCH_TIMEOUT;
		return false;
	}
	return true;
}

/*
 * Unlike watch_sleep(), waits on no descriptor: pselect() delivers no signal while a watched
 * descriptor is ready.
 */
void watch_pause(int64_t ms)
{
	struct timespec time = until_then(ms);
	sigset_t open;

	sigemptyset(&open);
	(void)!pselect(0, NULL, NULL, NULL, &time, &open);
}
