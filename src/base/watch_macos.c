#include <dirent.h>
#include <fcntl.h>
#include <sys/event.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/path.h"
#include "base/watch.h"

/* What is registered is a file or a folder that is held open; it ends with the queue. */
enum { MOST = 64 };

static void add(struct watch *w, struct arena *mem, struct str path)
{
	struct kevent change;
	int fd = open(arena_cstr(mem, path), O_EVTONLY | O_CLOEXEC);
	int *held = w->number;

	if (fd < 0 || held[0] == MOST)
		return;
	EV_SET(&change, (uintptr_t)fd, EVFILT_VNODE, EV_ADD | EV_CLEAR,
	       NOTE_WRITE | NOTE_EXTEND | NOTE_DELETE | NOTE_RENAME, 0, NULL);
	kevent(w->fd, &change, 1, NULL, 0, NULL);
	held[++held[0]] = fd;
}

/* A folder tells of new files, each file of what is written to it. */
void watch_open(struct watch *w, struct arena *mem, const struct watch_at *at,
		size_t count)
{
	*w = (struct watch){ .fd = kqueue(), .at = at, .count = count };
	w->number = arena_array(mem, MOST + 1, sizeof *w->number);
	for (size_t i = 0; w->fd >= 0 && i < count; i++) {
		DIR *dir = at[i].dir.p ? opendir(arena_cstr(mem, at[i].dir)) : NULL;
		struct dirent *entry;

		if (!dir)
			continue;
		add(w, mem, at[i].dir);
		while ((entry = readdir(dir)))
			if (str_starts(str_of(entry->d_name), at[i].head))
				add(w, mem,
				    path_join(mem, at[i].dir, str_of(entry->d_name)));
		closedir(dir);
	}
}

enum watch_end watch_wait(struct watch *w, int64_t ms, int input)
{
	struct timespec none = { 0 };
	struct kevent event;
	enum watch_end end;

	if (!watch_sleep(w, moment_ticks() + ms, input, &end))
		return end;
	while (kevent(w->fd, NULL, 0, &event, 1, &none) > 0)
		;
	return WATCH_CHANGED;
}

void watch_close(struct watch *w)
{
	for (int i = 1; w->number && i <= w->number[0]; i++)
		close(w->number[i]);
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	w->number = NULL;
}
