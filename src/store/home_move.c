/*
 * Moves the store between the Git directory and the workspace. Every writer holds one of the
 * store's locks while it writes, and a lock counts only while its file is where its path says. So
 * this process takes all of the locks, renames the folder with the lock files in it, and a writer
 * that has waited for a lock finds that its path is gone, and searches for the store again.
 *
 * Where the two folders are on different file systems, the store is copied to a temporary name
 * first. The folder in the Git directory is used if both exist: creating or removing it with one
 * rename is what moves the store, whatever happens before or after.
 */
#include "store/home_move.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/fault.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "store/folder.h"

enum { WAIT_MS = 60000 };

/* In the order in which other processes take them. Those in a folder exist only with it. */
static const char *const locks[] = { "machines/round.lock", "machines/leases.lock",
				     "mirror.lock",         "vybe.db.lock",
				     "sync.lock",           "lock" };
enum { LOCKS = sizeof locks / sizeof *locks };

struct move {
	struct call *c;
	struct str common, from, to;
	struct lock held[LOCKS];
};

/* --- copying --- */

static enum err copy_tree(struct call *c, struct str from, struct str to);

struct copying {
	struct call *c;
	struct str from, to;
	enum err e;
};

static enum err copy_bytes(struct call *c, struct str from, int in, struct str to, int out)
{
	char some[64 * 1024];
	ssize_t got;

	while ((got = file_some(in, some, sizeof some)) > 0)
		if (!file_write(out, (struct str){ some, (size_t)got }))
			return file_fail_write(c, "write", to);
	if (got < 0)
		return file_fail(c, "read", from);
	return platform_sync(out) ? file_fail(c, "sync", to) : ERR_OK;
}

static enum err copy_file(struct call *c, struct str from, struct str to)
{
	AUTO_FD in = file_own_open(&c->mem, from, O_RDONLY, 0);
	AUTO_FD out = -1;

	if (in < 0)
		return file_fail(c, "open", from);
	out = file_own_open(&c->mem, to, O_WRONLY | O_CREAT | O_EXCL, 0600);
	return out < 0 ? file_fail_write(c, "create", to) : copy_bytes(c, from, in, to, out);
}

/* The socket of a service that was killed is not copied. */
static void copy_entry(void *arg, struct str name)
{
	struct copying *k = arg;
	struct str from = path_join(&k->c->mem, k->from, name),
		   to = path_join(&k->c->mem, k->to, arena_copy(&k->c->mem, name));
	struct stat st;

	if (k->e || str_is(name, ".") || str_is(name, "..") || str_is(name, ".gitignore"))
		return;
	if (lstat(arena_cstr(&k->c->mem, from), &st))
		k->e = file_fail(k->c, "look at", from);
	else if (S_ISDIR(st.st_mode))
		k->e = copy_tree(k->c, from, to);
	else if (S_ISREG(st.st_mode))
		k->e = copy_file(k->c, from, to);
}

static enum err copy_tree(struct call *c, struct str from, struct str to)
{
	struct copying k = { c, from, to, ERR_OK };
	enum err e = file_make_folder(c, to, 0700);

	if (!e && !(e = file_each(c, from, copy_entry, &k)))
		e = k.e;
	return e ? e : file_sync_dir(c, path_join(&c->mem, to, STR("lock")));
}

/* --- moving --- */

static enum err move_ignore(struct call *c, struct str dir)
{
	return file_provide(c, path_join(&c->mem, dir, STR(".gitignore")), STR("*\n"), 0600);
}

/* A folder that is there already came from a move that was killed, or from another program; it is
 * not in use, and is kept under another name. */
static enum err move_clear(struct move *m)
{
	struct call *c = m->c;
	struct str kept;
	struct stat st;

	if (lstat(arena_cstr(&c->mem, m->to), &st))
		return file_missing() ? ERR_OK : file_fail(c, "look at", m->to);
	kept = path_unused(&c->mem, m->to, "unused");
	if (rename(arena_cstr(&c->mem, m->to), arena_cstr(&c->mem, kept)))
		return file_fail_write(c, "rename", m->to);
	call_warn(c, "'" STR_FMT "' was there but not in use; it is kept as '" STR_FMT "'",
		  STR_ARG(m->to), STR_ARG(kept));
	return ERR_OK;
}

static enum err move_sync(struct move *m)
{
	enum err e = file_sync_dir(m->c, m->to);

	return e ? e : file_sync_dir(m->c, m->from);
}

static enum err move_rename(struct move *m, struct str from, struct str to, bool *apart)
{
	fault_point();
	if (!rename(arena_cstr(&m->c->mem, from), arena_cstr(&m->c->mem, to))) {
		call_stored(m->c, STORED_MAYBE); /* a power failure may undo it before the sync */
		return move_sync(m);
	}
	*apart = errno == EXDEV;
	return file_fail_write(m->c, "move", from);
}

static enum err move_copied(struct move *m)
{
	struct call *c = m->c;
	struct str temp = arena_fmt(&c->mem, STR_FMT ".moving", STR_ARG(m->to)),
		   old = arena_fmt(&c->mem, STR_FMT ".moved", STR_ARG(m->from));
	bool apart;
	enum err e = ERR_OK;

	/* A killed move may have left these folders, or the repository has brought them. */
	if (home_in_workspace(m->to))
		e = folder_check_tracked(c, temp);
	else if (home_in_workspace(m->from))
		e = folder_check_tracked(c, old);
	if (e || (e = file_remove_tree(c, temp)) || (e = file_remove_tree(c, old)) ||
	    (e = file_make_folder(c, temp, 0700)) ||
	    (home_in_workspace(m->to) && (e = move_ignore(c, temp))) ||
	    (e = copy_tree(c, m->from, temp)) || (e = move_rename(m, temp, m->to, &apart)) ||
	    (e = move_rename(m, m->from, old, &apart)))
		return e;
	return file_remove_tree(c, old);
}

static enum err move_folder(struct move *m)
{
	struct call *c = m->c;
	bool apart = false;
	enum err e;

	if (home_in_workspace(m->to) && (e = move_ignore(c, m->from)))
		return e;
	e = move_rename(m, m->from, m->to, &apart);
	if (apart) {
		call_forgive(c);
		e = move_copied(m);
	}
	if (!e && !home_in_workspace(m->to))
		e = file_remove(c, path_join(&c->mem, m->to, STR(".gitignore")));
	return e;
}

/* --- the locks --- */

static void see_service(void *arg, struct str name)
{
	struct move *m = arg;
	struct str dir = path_join(&m->c->mem, m->from, name);

	if ((str_is(name, "serve") || str_starts(name, STR("serve-"))) && !m->c->code &&
	    lock_held(m->c, path_join(&m->c->mem, dir, STR("lock")))) {
		call_fail(m->c, ERR_DATABASE_BUSY,
			  "a service runs for this project, and its files are in the store");
		call_step(m->c, "Stop it, move the store, and start it again: abacus serve --stop");
	}
}

static enum err move_take_locks(struct move *m)
{
	struct call *c = m->c;
	enum err e = folder_check(c, path_join(&c->mem, m->from, STR("machines")), FOLDER_READ);

	for (int i = 0; !e && i < LOCKS; i++) {
		struct str path = path_join(&c->mem, m->from, str_of(locks[i]));

		if (file_is_dir(&c->mem, path_parent(path)))
			e = lock_take(c, path, WAIT_MS, &m->held[i]);
	}
	if (!e && !(e = file_each(c, m->from, see_service, m)))
		e = c->code;
	return e;
}

static enum err move_locked(struct move *m)
{
	enum err e;

	if ((home_in_workspace(m->to) && (e = folder_check_tracked(m->c, m->to))) ||
	    (e = move_clear(m)))
		return e;
	return move_folder(m);
}

enum err home_move(struct call *c, struct str common, enum home_kind kind, struct home_moving *out)
{
	struct move m = { .c = c, .common = common };
	AUTO_LOCK lock = LOCK_NONE;
	enum err e;

	for (int i = 0; i < LOCKS; i++)
		m.held[i].fd = -1;
	m.to = kind == HOME_GIT ? home_of_git(&c->mem, common) : home_of_workspace(&c->mem, common);
	if (!m.to.p)
		return home_refuse_workspace(c, common);
	if ((e = home_lock(c, common, &lock)))
		return e;
	m.from = home_find(c, common);
	*out = (struct home_moving){ m.from, m.to };
	if (str_eq(m.from, m.to) || (e = home_check(c, m.from)))
		return e;
	if (!(e = move_take_locks(&m)))
		e = move_locked(&m);
	for (int i = LOCKS; i-- > 0;)
		lock_drop(&m.held[i]);
	return home_explain(c, e, m.from);
}
