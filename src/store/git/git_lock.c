#include "store/git/git_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/moment.h"
#include "base/system/fault.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "base/system/spawn.h"

enum {
	STALE_MS = 5000,      /* one of our locks that has not changed for this long is stale */
	LEFT_MS = 300 * 1000, /* any other lock must also be at least this old */
	WAIT_MS = 10000,
	SHORT_MS = 1000, /* timeout for a lock that will not be removed */
	PAUSE_MS = 20,
	LOOK_MS = 200, /* Git itself holds a lock for a few milliseconds */
	RUN = 8,       /* hexadecimal digits */
};

/* --- names --- */

static struct str run_name(struct arena *mem)
{
	char boot[PLATFORM_BOOT], host[256] = "";

	platform_boot(boot);
	gethostname(host, sizeof host - 1);
	return str_head(sha256_hex(mem, arena_fmt(mem, "%s %s", boot, host)), RUN);
}

static struct str git_lock_own_name(struct arena *mem, struct str path)
{
	uint32_t random;

	platform_random(&random, sizeof random);
	return arena_fmt(mem, STR_FMT ".abacus-" STR_FMT "-%08x.lock", STR_ARG(path),
			 STR_ARG(run_name(mem)), (unsigned int)random);
}

/* Parses a name made by git_lock_own_name() into its path and run. */
static bool own_parse(struct str name, struct str *path, struct str *run)
{
	const struct str mark = STR(".abacus-"), end = STR(".lock");
	size_t tail = mark.n + RUN + 1 + RUN + end.n;

	if (name.n <= tail || !str_ends(name, end))
		return false;
	*path = str_head(name, name.n - tail);
	*run = str_head(str_skip(name, path->n + mark.n), RUN);
	return str_starts(str_skip(name, path->n), mark) && name.p[path->n + mark.n + RUN] == '-';
}

static struct str lock_name(struct arena *mem, struct str path)
{
	return arena_fmt(mem, STR_FMT ".lock", STR_ARG(path));
}

/* --- files --- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Does this name lead to the same file? */
static bool is_named(struct arena *mem, const struct stat *st, struct str path)
{
	struct stat there;

	return !lstat(arena_cstr(mem, path), &there) && same_file(st, &there);
}

/* Opens a regular file for flock(); -1 if it is not one or cannot be opened. */
static int open_plain(struct arena *mem, struct str path, struct stat *st)
{
	const int how = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = open(arena_cstr(mem, path), O_RDWR | how);

	if (fd < 0 && (errno == EACCES || errno == EROFS))
		fd = open(arena_cstr(mem, path), O_RDONLY | how);
	if (fd >= 0 && (fstat(fd, st) || !S_ISREG(st->st_mode)))
		file_close(&fd);
	return fd;
}

/*
 * final_mode() is the mode of the file that the lock replaces. While the lock is held, it can be
 * opened only by users who may also move the ref: read permission is enough to hold flock() on a
 * file, and so to fake a live owner.
 */
static mode_t final_mode(void)
{
	mode_t mask = umask(077);

	umask(mask);
	return 0666 & ~mask & ~(mode_t)S_IWOTH;
}

static mode_t held_mode(void)
{
	mode_t mode = final_mode();

	return mode & S_IWGRP ? mode & 0660 : mode & 0600;
}

/* --- locks of dead processes --- */

struct sweep {
	struct call *c;
	struct str dir, run;
};

static void sweep_file(void *arg, struct str name)
{
	struct sweep *s = arg;
	struct arena *mem = &s->c->mem;
	struct str base, run, own = path_join(mem, s->dir, name), lock;
	struct stat st;
	AUTO_FD fd = -1;
	bool ours, held;

	if (!own_parse(name, &base, &run) || (fd = open_plain(mem, own, &st)) < 0)
		return;
	ours = str_eq(run, s->run);
	if (ours && flock(fd, LOCK_EX | LOCK_NB))
		return; /* the owner is alive */
	base = path_join(mem, s->dir, base);
	lock = lock_name(mem, base);
	held = is_named(mem, &st, lock);
	if (ours && is_named(mem, &st, base)) /* the owner died right after the rename */
		(void)!fchmod(fd, final_mode());
	if (held && !ours)
		return; /* the owner may be alive: git_lock_take() waits until the lock is stale */
	fault_point();
	if (held)
		unlink(arena_cstr(mem, lock));
	fault_point();
	unlink(arena_cstr(mem, own));
}

void git_lock_sweep(struct call *c, struct str dir)
{
	struct sweep s = { .c = c, .dir = dir, .run = run_name(&c->mem) };
	struct call before = call_save(c);

	file_each(c, dir, sweep_file, &s);
	call_restore(c, &before); /* a folder that cannot be listed cannot be locked either */
}

/* Another process's lock, and since when it has not changed. */
struct git_lock_watch {
	struct stat seen;
	int64_t since;
	bool alive;     /* one of our processes holds flock() on it */
	int64_t holder; /* process id of the owner; 0: unknown */
};

static bool git_lock_unchanged(const struct stat *a, const struct stat *b)
{
	return same_file(a, b) && a->st_size == b->st_size && a->st_mtime == b->st_mtime &&
	       a->st_ctime == b->st_ctime;
}

/*
 * Git closes its lock before it runs the reference-transaction hook, so neither an open file nor a
 * change of the lock shows that Git is alive; only the lock's age is a hint. Locks made here, which
 * have a second link, are held for milliseconds.
 */
static bool git_lock_may_be_left(const struct stat *st)
{
	return st->st_nlink > 1 || moment_now() - (int64_t)st->st_mtime * 1000 >= LEFT_MS;
}

/*
 * A lock that was made while the clock was ahead would never grow old: its age counts from now on.
 * Git does not look at the times of its locks.
 */
static void git_lock_date(int fd, const struct stat *st)
{
	if (fd >= 0 && (int64_t)st->st_mtime * 1000 > moment_now() + STALE_MS)
		(void)futimens(fd, NULL);
}

/*
 * Opens a lock; `fd` is -1 if it belongs to another user and only that user may open it. flock()
 * counts only on our own locks: any user who may read one of Git's locks could hold flock() on it.
 */
static bool git_lock_look(struct arena *mem, struct str lock, int *fd, struct stat *st)
{
	*fd = open_plain(mem, lock, st);
	return *fd >= 0 ||
	       (errno == EACCES && !lstat(arena_cstr(mem, lock), st) && S_ISREG(st->st_mode));
}

static bool is_held(int fd, const struct stat *st, int how)
{
	return fd >= 0 && st->st_nlink > 1 && flock(fd, how | LOCK_NB) && errno == EWOULDBLOCK;
}

static bool is_stale(struct arena *mem, struct git_lock_watch *w, struct str lock)
{
	int64_t now = moment_ticks();
	struct stat st = { 0 };
	AUTO_FD fd = -1;
	bool there = git_lock_look(mem, lock, &fd, &st);

	git_lock_date(fd, &st);
	/* LOCK_SH, so that concurrent checks do not take each other for the owner */
	w->alive = is_held(fd, &st, LOCK_SH);
	if (!there || w->alive || !git_lock_unchanged(&st, &w->seen)) {
		w->holder = w->alive ? platform_flock_holder(&st) : 0;
		w->seen = st;
		w->since = now;
	}
	return now - w->since >= STALE_MS && git_lock_may_be_left(&st);
}

/*
 * If several processes find the lock stale, one of them removes it, and none removes a newer lock.
 */
static void remove_stale(struct arena *mem, const struct git_lock_watch *w, struct str lock)
{
	struct stat st;
	AUTO_FD fd = -1;

	if (!git_lock_look(mem, lock, &fd, &st) || is_held(fd, &st, LOCK_EX))
		return;
	if (git_lock_unchanged(&st, &w->seen) && is_named(mem, &st, lock))
		unlink(arena_cstr(mem, lock));
}

/* --- taking the lock --- */

static enum err git_lock_fail(struct call *c, const char *verb, struct git_lock *l)
{
	enum err e = file_fail(c, verb, l->lock);

	git_lock_drop(l);
	return e;
}

/* For file systems without hard links: the owner of such a lock cannot be determined. */
static enum err take_plain(struct call *c, struct git_lock *l, struct str content)
{
	l->own = STR_NONE;
	fault_point();
	l->fd = open(arena_cstr(&c->mem, l->lock),
		     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, held_mode());
	if (l->fd < 0)
		return errno == EEXIST ? ERR_OK : git_lock_fail(c, "create", l);
	return file_write(l->fd, content) ? ERR_OK : git_lock_fail(c, "write", l);
}

/*
 * Success without the lock held means that another process has the lock, or swept our file too
 * early; the caller retries.
 */
static enum err take_linked(struct call *c, struct git_lock *l, struct str content)
{
	const char *own, *lock = arena_cstr(&c->mem, l->lock);

	l->own = git_lock_own_name(&c->mem, l->path);
	own = arena_cstr(&c->mem, l->own);
	fault_point();
	l->fd = open(own, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, held_mode());
	if (l->fd < 0 && errno == ENAMETOOLONG)
		return take_plain(c, l, content);
	if (l->fd < 0)
		return errno == ENOENT ? ERR_OK : git_lock_fail(c, "create", l);
	if (flock(l->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		git_lock_drop(l);
		return ERR_OK;
	}
	if (!file_write(l->fd, content))
		return git_lock_fail(c, "write", l);
	fault_point();
	if (!link(own, lock))
		return ERR_OK;
	if (errno == EEXIST || errno == ENOENT) {
		git_lock_drop(l);
		return ERR_OK;
	}
	file_close(&l->fd);
	unlink(own);
	return take_plain(c, l, content);
}

struct str git_lock_remedy(struct arena *mem, struct str lock)
{
	struct stat st;
	bool folder = !lstat(arena_cstr(mem, lock), &st) && S_ISDIR(st.st_mode);

	return arena_fmt(mem, "%s " STR_FMT, folder ? "rmdir" : "rm",
			 STR_ARG(spawn_word(mem, lock)));
}

static enum err git_lock_refused(struct call *c, const struct git_lock *l,
				 const struct git_lock_watch *w, int64_t waited_ms)
{
	struct str holder =
		w->holder ? arena_fmt(&c->mem, " (process %lld)", (long long)w->holder) : STR("");

	call_fail(c, ERR_SYNC_FAILED, "%s" STR_FMT " has held '" STR_FMT "' for more than %lld s",
		  w->alive ? "another sync" : "a Git program", STR_ARG(holder), STR_ARG(l->lock),
		  (long long)waited_ms / 1000);
	if (w->alive)
		return call_step(c, "Nothing was lost. Wait until that sync has ended, then run "
				    "'bd sync' again.");
	return call_step(
		c,
		"Nothing was lost. A sync removes a lock file that is %d minutes old. If you know "
		"that no Git program works on that ref any more, remove it, then run 'bd sync': " STR_FMT,
		LEFT_MS / 60000, STR_ARG(git_lock_remedy(&c->mem, l->lock)));
}

bool git_lock_left(struct call *c, struct str path, struct lock_found *out)
{
	struct stat before, after;
	struct git_lock_watch w = { 0 };
	const char *name;

	out->lock = lock_name(&c->mem, path);
	name = arena_cstr(&c->mem, out->lock);
	if (lstat(name, &before))
		return false;
	if (S_ISREG(before.st_mode) && before.st_nlink > 1)
		return false; /* one of ours: git_lock_take() checks whether its owner is alive */
	out->recent = S_ISREG(before.st_mode) && !git_lock_may_be_left(&before);
	out->removable = S_ISREG(before.st_mode) && !out->recent;
	moment_sleep(LOOK_MS);
	is_stale(&c->mem, &w, out->lock);
	return !w.alive && !lstat(name, &after) && git_lock_unchanged(&before, &after);
}

enum err git_lock_take(struct call *c, struct str path, struct str content,
		       enum git_lock_others others, struct git_lock *out)
{
	struct str dir = path_parent(path);
	struct git_lock_watch w = { .since = moment_ticks() };
	int64_t wait_ms = others == GIT_LOCK_REMOVE_STALE ? WAIT_MS : SHORT_MS;
	int64_t end = w.since + wait_ms;
	struct stat st;
	enum err e;

	*out = (struct git_lock){ .path = path, .lock = lock_name(&c->mem, path), .fd = -1 };
	for (;;) {
		/* Git removes empty folders of refs */
		if ((e = file_make_dir(c, dir, 0777)))
			return e;
		git_lock_sweep(c, dir);
		if (lstat(arena_cstr(&c->mem, out->lock), &st) &&
		    ((e = take_linked(c, out, content)) || out->fd >= 0))
			return e;
		if (is_stale(&c->mem, &w, out->lock) && others == GIT_LOCK_REMOVE_STALE)
			remove_stale(&c->mem, &w, out->lock);
		else if (moment_ticks() > end)
			return git_lock_refused(c, out, &w, wait_ms);
		moment_sleep(PAUSE_MS);
	}
}

/* --- releasing the lock --- */

static bool git_lock_still_ours(struct arena *mem, const struct git_lock *l)
{
	struct stat st;

	return !fstat(l->fd, &st) && is_named(mem, &st, l->lock);
}

void git_lock_drop(struct git_lock *l)
{
	struct arena mem = { 0 };

	if (l->fd < 0)
		return;
	if (git_lock_still_ours(&mem, l))
		unlink(arena_cstr(&mem, l->lock));
	if (l->own.p)
		unlink(arena_cstr(&mem, l->own));
	file_close(&l->fd);
	arena_release(&mem);
}

enum err git_lock_write(struct call *c, struct git_lock *l, struct str content)
{
	return file_write(l->fd, content) ? ERR_OK : git_lock_fail(c, "write", l);
}

/* Git may have left an empty folder at the path, from refs below this one. */
static bool git_lock_replace(struct call *c, const struct git_lock *l)
{
	const char *from = arena_cstr(&c->mem, l->lock), *to = arena_cstr(&c->mem, l->path);

	fault_point();
	return !rename(from, to) || (errno == EISDIR && !rmdir(to) && !rename(from, to));
}

enum err git_lock_commit(struct call *c, struct git_lock *l)
{
	enum err e;

	fault_point();
	if (platform_sync(l->fd))
		return git_lock_fail(c, "sync", l);
	if (!git_lock_still_ours(&c->mem, l)) {
		git_lock_drop(l);
		return call_fail(c, ERR_SYNC_FAILED,
				 "another program removed '" STR_FMT "' while it was held",
				 STR_ARG(l->lock));
	}
	if (!git_lock_replace(c, l))
		return git_lock_fail(c, "rename", l);
	fault_point();
	(void)!fchmod(l->fd, final_mode()); /* last: a stale lock stays private */
	e = file_sync_dir(c, l->path);
	fault_point();
	git_lock_drop(l);
	return e;
}
