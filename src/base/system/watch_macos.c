#include <dirent.h>
#include <fcntl.h>
#include <sys/event.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/system/path.h"
#include "base/system/watch.h"

/* kqueue watches open files. number[0] is the count of the file descriptors behind it. */
enum { MOST = 64 };

/* False: the path cannot be watched. */
static bool watch_add(struct watch *w, struct arena *mem, struct str path)
{
	struct kevent change;
	int *held = w->number, fd;

	if (held[0] == MOST || (fd = open(arena_cstr(mem, path), O_EVTONLY | O_CLOEXEC)) < 0)
		return false;
	held[++held[0]] = fd;
	EV_SET(&change, (uintptr_t)fd, EVFILT_VNODE, EV_ADD | EV_CLEAR,
	       NOTE_WRITE | NOTE_EXTEND | NOTE_DELETE | NOTE_RENAME, 0, NULL);
	return kevent(w->fd, &change, 1, NULL, 0, NULL) == 0;
}

/*
 * Watches the folder, which reports new files, and each file, which reports writes. A file that
 * disappears while this runs changes the folder.
 */
static bool watch_add_all(struct watch *w, struct arena *mem, const struct watch_at *at)
{
	DIR *dir = opendir(arena_cstr(mem, at->dir));
	struct dirent *entry;
	bool well = dir && watch_add(w, mem, at->dir);

	while (well && (entry = readdir(dir)))
		if (str_starts(str_of(entry->d_name), at->head)) {
			struct str path = path_join(mem, at->dir, str_of(entry->d_name));

			well = watch_add(w, mem, path) || access(arena_cstr(mem, path), F_OK) != 0;
		}
	if (dir)
		closedir(dir);
	return well;
}

void watch_open(struct watch *w, struct arena *mem, const struct watch_at *at, size_t count)
{
	*w = (struct watch){ .fd = kqueue(), .at = at, .count = count };
	w->number = arena_array(mem, MOST + 1, sizeof *w->number);
	for (size_t i = 0; w->fd >= 0 && i < count; i++)
		if (at[i].dir.p && !watch_add_all(w, mem, &at[i]))
			watch_close(w); /* missing, or too many files: fall back to intervals */
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
