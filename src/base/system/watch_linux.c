#include <errno.h>
#include <stdalign.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/system/watch.h"

enum {
	GONE = IN_DELETE_SELF | IN_MOVE_SELF,
	EVENTS = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE | GONE
};

void watch_open(struct watch *w, struct arena *mem, const struct watch_at *at, size_t count)
{
	*w = (struct watch){ .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
			     .at = at,
			     .count = count };
	w->number = arena_array(mem, count, sizeof *w->number);
	for (size_t i = 0; w->fd >= 0 && i < count; i++) {
		w->number[i] = -1;
		if (!at[i].dir.p)
			continue;
		w->number[i] = inotify_add_watch(w->fd, arena_cstr(mem, at[i].dir), EVENTS);
		if (w->number[i] < 0)
			watch_close(w); /* missing, or too many watches: fall back to intervals */
	}
}

static bool watch_concerns(const struct watch *w, const struct inotify_event *event)
{
	if (event->mask & (IN_Q_OVERFLOW | IN_IGNORED | GONE))
		return true;
	for (size_t i = 0; i < w->count; i++)
		if (w->number[i] == event->wd && str_starts(str_of(event->name), w->at[i].head))
			return true;
	return false;
}

/* Reads all pending events; does any of them concern a watched file? */
static bool watch_drain(const struct watch *w)
{
	alignas(struct inotify_event) char buf[4096];
	bool any = false;
	ssize_t got;

	while ((got = read(w->fd, buf, sizeof buf)) > 0)
		for (char *p = buf; p < buf + got;) {
			const struct inotify_event *event = (const void *)p;

			any = any || watch_concerns(w, event);
			p += sizeof *event + event->len;
		}
	return any;
}

enum watch_end watch_wait(struct watch *w, int64_t ms, int input)
{
	int64_t until = moment_ticks() + ms;
	enum watch_end end;

	while (watch_sleep(w, until, input, &end))
		if (watch_drain(w))
			return WATCH_CHANGED;
	return end;
}

void watch_close(struct watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}
