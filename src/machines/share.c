#include "machines/share.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/path.h"
#include "beads/beads.h"
#include "beads/config.h"
#include "beads/git_process.h"
#include "store/folder.h"

enum { EXCHANGE_MS = 60000 };

struct str share_file(struct call *c, struct str home, const char *name)
{
	return path_join(&c->mem, home, str_of(name));
}

/* A program that may only write to the store could link the folder to another one of the user. */
bool share_is_on_in(struct call *c, struct str home)
{
	return file_exists(&c->mem, share_file(c, home, "on")) && !path_is_link(&c->mem, home);
}

static struct str share_folder_of(struct call *c, struct str home)
{
	return path_join(&c->mem, home, STR("machines"));
}

bool share_is_on(struct call *c)
{
	struct call before = call_save(c);
	struct beads b;
	bool on = !c->store.p && !beads_locate(c, &b) &&
		  share_is_on_in(c, share_folder_of(c, b.home));

	call_restore(c, &before);
	return on;
}

enum err share_home(struct call *c, struct str *out, struct str *gitdir)
{
	struct beads b;
	enum err e = beads_home(c, &b);

	if (e)
		return e;
	*out = share_folder_of(c, b.home);
	*gitdir = b.repo.common;
	return folder_check(c, *out, FOLDER_READ);
}

static bool share_runs_by_itself(struct call *c, struct str home)
{
	struct str set;

	return c->autosync && !config_get(c, path_parent(home), CONFIG_SYNC_AUTO, &set) &&
	       str_is(set, "true");
}

static void share_start(struct call *c, struct str home, struct str gitdir)
{
	const char *argv[] = { arena_cstr(&c->mem, git_process_path(&c->mem)), "share",
			       arena_cstr(&c->mem, gitdir), NULL };

	if (!lock_held(c, share_file(c, home, "share.lock")))
		spawn_away(argv);
}

static void share_touch(struct call *c, struct str home, const char *name)
{
	file_touch(c, share_file(c, home, name), 0600);
}

void share_changed(struct call *c)
{
	struct call before;
	struct str home, gitdir;

	if (!share_is_on(c))
		return;
	before = call_save(c);
	if (!share_home(c, &home, &gitdir) && share_runs_by_itself(c, home)) {
		/*
		 * Written before checking for the process: a running process watches this file, and
		 * one that ends reads it again after it has released its lock.
		 */
		share_touch(c, home, "changed");
		share_start(c, home, gitdir);
	}
	call_restore(c, &before);
}

int64_t share_changed_ms(struct call *c, struct str home)
{
	return file_changed_ms(&c->mem, share_file(c, home, "changed"));
}

/* --- a clone that does not share --- */

static const char others_file[] = "others-share";

void share_note_others(struct call *c, struct str store)
{
	struct call before = call_save(c);

	if (!share_is_on_in(c, share_folder_of(c, store)))
		file_provide(c, path_join(&c->mem, store, str_of(others_file)), STR("new\n"), 0600);
	call_restore(c, &before);
}

bool share_hint(struct call *c, struct str store)
{
	struct str path = path_join(&c->mem, store, str_of(others_file)), text;
	struct call before = call_save(c);
	bool new = !share_is_on_in(c, share_folder_of(c, store)) &&
		   !file_own_read(c, path, &text) && str_is(text, "new\n") &&
		   !file_own_replace(c, path, STR("told\n"), 0600);

	call_restore(c, &before);
	return new;
}

/* --- waiting --- */

struct share_wait share_wait_begin(struct call *c)
{
	struct share_wait w = { -1 };
	struct call before = call_save(c);
	struct str home, gitdir;

	if (share_is_on(c) && !share_home(c, &home, &gitdir) && share_runs_by_itself(c, home)) {
		w.fd = file_own_open(&c->mem, share_file(c, home, "waiting.lock"),
				     O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		while (w.fd >= 0 && flock(w.fd, LOCK_SH) && errno == EINTR)
			;
		share_touch(c, home, "waiting");
		share_start(c, home, gitdir);
	}
	call_restore(c, &before);
	return w;
}

void share_wait_again(struct call *c)
{
	struct call before = call_save(c);
	struct str home, gitdir;

	if (share_is_on(c) && !share_home(c, &home, &gitdir) && share_runs_by_itself(c, home))
		share_start(c, home, gitdir);
	call_restore(c, &before);
}

void share_wait_end(struct share_wait *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

bool share_is_waited_for(struct call *c, struct str home)
{
	int fd = file_own_open(&c->mem, share_file(c, home, "waiting.lock"), O_RDWR | O_CLOEXEC, 0);
	bool waited = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return waited;
}

/* --- exchange --- */

enum err share_exchange(struct call *c, enum share_act act, struct str *reply)
{
	static const char *const words[] = { "--once", "--begin", "--look" };
	struct git_process h = { .timeout_ms = EXCHANGE_MS };
	struct str home, gitdir;
	enum err e = share_home(c, &home, &gitdir);

	if (e)
		return e;
	h.words[0] = "share";
	h.words[1] = arena_cstr(&c->mem, gitdir);
	h.words[2] = words[act];
	e = git_process_run(c, &h);
	*reply = h.reply;
	return e;
}

enum err share_set(struct call *c, bool on, bool *was)
{
	struct str home, gitdir, path;
	enum err e = share_home(c, &home, &gitdir);

	if (e)
		return e;
	path = share_file(c, home, "on");
	*was = file_exists(&c->mem, path);
	if (*was == on)
		return ERR_OK;
	if (!on) {
		if (!(e = file_remove_durably(c, path)))
			share_touch(c, home, "changed"); /* the share process ends at once */
		return e;
	}
	if ((e = home_make(c, gitdir, HOME_ANY, &home)))
		return e;
	home = share_folder_of(c, home);
	if ((e = file_make_folder(c, home, 0700)))
		return e;
	return file_own_replace(c, share_file(c, home, "on"), STR("on\n"), 0600);
}
