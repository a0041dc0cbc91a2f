#include "store/exposed.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/system/file.h"
#include "base/system/lock.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "store/owner.h"

static bool exposed_others_write(const struct stat *st)
{
	return st->st_mode & (S_IWGRP | S_IWOTH);
}

bool exposed_safe(const struct stat *st)
{
	return owner_is_user(st->st_uid) && !exposed_others_write(st) && st->st_nlink <= 1;
}

bool exposed_covers(const struct call *c, struct str path)
{
	return c->exposed.p && str_starts(path, c->exposed);
}

/* Suggests no mv: that fails in another user's folder, and in one with the sticky bit. */
static enum err exposed_refuse_owner(struct call *c, struct str path, uid_t uid)
{
	owner_refuse_inside(c, path, uid);
	if (c->store.p)
		return call_step(c,
				 "Nobody can move another user's file out of a folder like /tmp: "
				 "give --db-path a file in a folder of your own.");
	return uid ? call_step(c,
			       "Set HOME, XDG_STATE_HOME and XDG_DATA_HOME to folders of your own, "
			       "then run the command again.") :
		     c->code;
}

static enum err exposed_refuse_links(struct call *c, struct str path)
{
	struct str word = spawn_word(&c->mem, path),
		   copy = spawn_word(&c->mem, path_unused(&c->mem, path, "copy"));

	call_fail(c, ERR_UNSAFE_PATH, "'" STR_FMT "' is a hard link: the file has another name",
		  STR_ARG(path));
	return call_step(c,
			 "If it is yours, give it a copy of its own, then run the command again: "
			 "cp -p " STR_FMT " " STR_FMT " && mv " STR_FMT " " STR_FMT,
			 STR_ARG(word), STR_ARG(copy), STR_ARG(copy), STR_ARG(word));
}

enum err exposed_check(struct call *c, struct str path, const struct stat *st)
{
	if (exposed_safe(st))
		return ERR_OK;
	if (!owner_is_user(st->st_uid))
		return exposed_refuse_owner(c, path, st->st_uid);
	if (!exposed_others_write(st))
		return exposed_refuse_links(c, path);
	call_fail(c, ERR_UNSAFE_PATH, "other users may write to '" STR_FMT "'", STR_ARG(path));
	return call_step(c, "Allow only yourself, then run the command again: chmod 600 " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, path)));
}

enum err exposed_check_folder(struct call *c, struct str path, const struct stat *st)
{
	if (!owner_is_user(st->st_uid) && !owner_is_system(st->st_uid))
		return owner_refuse_folder(c, path, st->st_uid);
	if (!(st->st_mode & S_IWOTH) || (st->st_mode & S_ISVTX))
		return ERR_OK;
	call_fail(c, ERR_UNSAFE_PATH, "every user may write to '" STR_FMT "'", STR_ARG(path));
	if (!owner_is_user(st->st_uid))
		return call_step(c, "Choose a path in a folder of your own.");
	return call_step(c,
			 "Remove that permission, then run the command again: chmod o-w " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, path)));
}

enum err exposed_check_open(struct call *c, struct str path, int fd)
{
	struct stat st;

	return fstat(fd, &st) ? file_fail(c, "look at", path) : exposed_check(c, path, &st);
}

enum err exposed_read(struct call *c, struct str path, struct str *out)
{
	AUTO_FD fd = file_own_open(&c->mem, path, O_RDONLY, 0);
	enum err e = fd < 0 ? ERR_OK : exposed_check_open(c, path, fd);

	*out = STR_NONE;
	return e ? e : file_read_all(c, path, fd, out);
}

enum err exposed_lock(struct call *c, struct str path, int wait_ms, struct lock *out)
{
	enum err e = lock_take(c, path, wait_ms, out);

	if (!e && (e = exposed_check_open(c, path, out->fd)))
		lock_drop(out);
	return e;
}
