#include "base/system/file_at.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/system/fault.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/platform.h"

enum err file_at_read(struct call *c, const struct file_at *f, struct str *out)
{
	AUTO_FD fd = openat(f->dir, arena_cstr(&c->mem, f->name),
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	*out = STR_NONE;
	if (fd < 0)
		return file_missing() ? ERR_OK : file_fail(c, "open", f->path);
	if (fstat(fd, &st))
		return file_fail(c, "look at", f->path);
	if (!S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : ENXIO;
		return file_fail(c, "read", f->path);
	}
	return st.st_size > FILE_SETTINGS_MOST ? file_refuse_settings(c, f->path, st.st_size) :
						 file_read_all(c, f->path, fd, out);
}

mode_t file_at_mode(struct arena *mem, const struct file_at *f, mode_t mode)
{
	struct stat st;
	mode_t mask = umask(0);

	umask(mask);
	mode &= ~mask;
	if (fstatat(f->dir, arena_cstr(mem, f->name), &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return mode;
	if (st.st_uid == geteuid() && st.st_nlink <= 1)
		return st.st_mode & 0777;
	return mode & (st.st_mode | S_IRWXU);
}

/* rename() would replace a device by a file: for root, even /dev/null. */
static enum err file_at_check(struct call *c, const struct file_at *f)
{
	struct stat st;

	if (fstatat(f->dir, arena_cstr(&c->mem, f->name), &st, AT_SYMLINK_NOFOLLOW) ||
	    S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		return ERR_OK;
	errno = S_ISDIR(st.st_mode) ? EISDIR : ENXIO;
	return file_fail(c, "replace", f->path);
}

/* Writes and syncs a new file; on failure the partial file is removed. */
static enum err file_at_write_new(struct call *c, const struct file_at *f,
				  const struct buf *content, mode_t mode)
{
	const char *z = arena_cstr(&c->mem, f->name);
	AUTO_FD fd = openat(f->dir, z, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	enum err e;

	if (fd < 0)
		return file_fail(c, "create", f->path);
	if (fchmod(fd, mode) == 0 && buf_write(content, fd) &&
	    (fault_point(), platform_sync(fd) == 0))
		return ERR_OK;
	e = file_fail(c, "write", f->path);
	unlinkat(f->dir, z, 0);
	return e;
}

enum err file_at_sync_dir(struct call *c, const struct file_at *f)
{
	if (f->dir == AT_FDCWD)
		return file_sync_dir(c, f->path);

	AUTO_FD fd = openat(f->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fault_point();
	return fd < 0 || fsync(fd) ? file_fail(c, "sync", path_parent(f->path)) : ERR_OK;
}

/* rename() replaces a symbolic link instead of following it. */
enum err file_at_replace(struct call *c, const struct file_at *f, const struct buf *content,
			 mode_t mode)
{
	const char *end = id_random(&c->mem, 8).p;
	struct file_at temp = { f->dir,
				arena_fmt(&c->mem, STR_FMT ".%s.tmp", STR_ARG(f->name), end),
				arena_fmt(&c->mem, STR_FMT ".%s.tmp", STR_ARG(f->path), end) };
	enum err e;

	if ((e = file_at_check(c, f)) || (e = file_at_write_new(c, &temp, content, mode)))
		return e;
	fault_point();
	if (renameat(f->dir, temp.name.p, f->dir, arena_cstr(&c->mem, f->name))) {
		e = file_fail(c, "replace", f->path);
		unlinkat(f->dir, temp.name.p, 0);
		return e;
	}
	/* Readers see the new content, but a power failure may still undo the rename. */
	if ((e = file_at_sync_dir(c, f)))
		call_stored(c, STORED_MAYBE);
	return e;
}
