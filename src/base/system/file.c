#include "base/system/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/system/fault.h"
#include "base/system/file_at.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "base/system/spawn.h"

static enum err fail_link(struct call *c, const char *verb, struct str path)
{
	call_fail(c, ERR_UNSAFE_PATH,
		  "cannot %s '" STR_FMT "': it is a symbolic link, and links are not followed",
		  verb, STR_ARG(path));
	return call_step(c,
			 "If you did not make it, move it away and run the command again. This "
			 "shows where it leads: ls -l " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, path)));
}

enum err file_remedy(struct call *c, int reason)
{
	if (reason == ENOSPC || reason == EDQUOT)
		return call_remedy(c, "Free some space on that disk");
	if (reason == EFBIG)
		return call_remedy(c, "Allow larger files ('ulimit -f' shows the limit)");
	if (reason == EMFILE || reason == ENFILE)
		return call_remedy(c, "Allow more open files ('ulimit -n' shows the limit)");
	if (reason == ENAMETOOLONG)
		return call_remedy(c, "Use a folder with a shorter path");
	if (reason == EACCES || reason == EPERM || reason == EROFS)
		return call_remedy(c, "Check the permissions there");
	return c->code;
}

enum err file_fail(struct call *c, const char *verb, struct str path)
{
	int reason = errno;

	if (reason == ELOOP && path_is_link(&c->mem, path))
		return fail_link(c, verb, path);
	call_fail(c, ERR_INTERNAL_ERROR, "cannot %s '" STR_FMT "': %s", verb, STR_ARG(path),
		  reason == ENXIO ? "it is not a regular file" : strerror(reason));
	c->missing = reason == ENOENT;
	return file_remedy(c, reason);
}

bool file_denied(void)
{
	return errno == EROFS || errno == EACCES || errno == EPERM;
}

enum err file_fail_write(struct call *c, const char *verb, struct str path)
{
	bool denied = file_denied();
	enum err e = file_fail(c, verb, path);

	return denied && e == ERR_INTERNAL_ERROR ? (c->code = ERR_READ_ONLY) : e;
}

void file_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

ssize_t file_some(int fd, char *p, size_t n)
{
	ssize_t got;

	do
		got = read(fd, p, n);
	while (got < 0 && errno == EINTR);
	return got;
}

bool file_write(int fd, struct str bytes)
{
	while (bytes.n) {
		ssize_t put;

		fault_point();
		put = write(fd, bytes.p, bytes.n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return false;
		bytes = str_skip(bytes, (size_t)put);
	}
	return true;
}

int file_unnamed(void)
{
	const char *folder = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd, own,
		n = snprintf(path, sizeof path, "%s/abacus.XXXXXX",
			     folder && *folder ? folder : "/tmp");

	if (n < 0 || (size_t)n >= sizeof path || (fd = mkstemp(path)) < 0)
		return -1;
	unlink(path);
	own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); /* never a standard stream */
	close(fd);
	return own;
}

/* O_NONBLOCK, because opening a FIFO would otherwise block until its other end is opened. */
static int own_open(struct arena *mem, struct str path, int flags, mode_t mode, struct stat *st)
{
	int fd = open(arena_cstr(mem, path), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);

	*st = (struct stat){ 0 };
	if (fd < 0 || (fstat(fd, st) == 0 && S_ISREG(st->st_mode)))
		return fd;
	close(fd);
	errno = S_ISDIR(st->st_mode) ? EISDIR : ENXIO;
	return -1;
}

int file_own_open(struct arena *mem, struct str path, int flags, mode_t mode)
{
	struct stat st;

	return own_open(mem, path, flags, mode, &st);
}

enum err file_own_check(struct call *c, struct str path)
{
	struct stat st;

	if (lstat(arena_cstr(&c->mem, path), &st) || S_ISREG(st.st_mode))
		return ERR_OK;
	errno = S_ISLNK(st.st_mode) ? ELOOP : S_ISDIR(st.st_mode) ? EISDIR : ENXIO;
	return file_fail(c, "open", path);
}

enum err file_read_all(struct call *c, struct str path, int fd, struct str *out)
{
	enum { CHUNK = 64 * 1024 };
	struct buf b = { .mem = &c->mem };
	struct stat st;
	bool sized;
	size_t room;
	ssize_t got;

	*out = STR_NONE;
	if (fd < 0)
		return file_missing() ? ERR_OK : file_fail(c, "open", path);
	if (fstat(fd, &st))
		return file_fail(c, "look at", path);
	/*
	 * Reads one byte more than the file's size, so that a short read proves the end of the
	 * file. Files of /proc report size 0 and are read until a read returns nothing.
	 */
	sized = S_ISREG(st.st_mode) && st.st_size > 0;
	room = sized && st.st_size < CHUNK ? (size_t)st.st_size + 1 : CHUNK;
	do {
		room = b.n < room ? room : room + CHUNK;
		if ((got = file_some(fd, buf_room(&b, room - b.n), room - b.n)) < 0)
			return file_fail(c, "read", path);
		b.n += (size_t)got;
		if (b.n > FILE_MOST)
			return call_fail(c, ERR_INVALID_INPUT,
					 "'" STR_FMT "' is larger than %d MiB", STR_ARG(path),
					 FILE_MOST >> 20);
	} while (got && (b.n == room || !sized));
	*out = buf_str(&b);
	return ERR_OK;
}

enum err file_read(struct call *c, struct str path, struct str *out)
{
	AUTO_FD fd = open(arena_cstr(&c->mem, path), O_RDONLY | O_CLOEXEC);

	return file_read_all(c, path, fd, out);
}

enum err file_read_input(struct call *c, size_t most, struct str *out)
{
	enum { CHUNK = 64 * 1024 };
	struct buf b = { .mem = &c->mem };
	ssize_t got;

	do {
		if ((got = file_some(STDIN_FILENO, buf_room(&b, CHUNK), CHUNK)) < 0)
			return file_fail(c, "read", STR("standard input"));
		b.n += (size_t)got;
	} while (got && (!most || b.n <= most));
	*out = buf_str(&b);
	return ERR_OK;
}

enum err file_refuse_settings(struct call *c, struct str path, int64_t size)
{
	call_fail(c, ERR_INVALID_INPUT,
		  "'" STR_FMT "' has %lld bytes, and at most %d are allowed for such a file",
		  STR_ARG(path), (long long)size, FILE_SETTINGS_MOST);
	return call_step(c,
			 "Nothing was changed. Make it smaller, or move it away, and run the "
			 "command again. To look at it: head -c 1000 " STR_FMT " | cat -v",
			 STR_ARG(spawn_word(&c->mem, path)));
}

/*
 * The path is checked before open(), because opening a device can have side effects, and again
 * after open(), because the file may have been replaced in between.
 */
enum err file_read_regular(struct call *c, struct str path, struct str *out)
{
	const char *z = arena_cstr(&c->mem, path);
	struct stat st;

	*out = STR_NONE;
	if (stat(z, &st))
		return file_missing() ? ERR_OK : file_fail(c, "look at", path);
	AUTO_FD fd =
		S_ISREG(st.st_mode) ? open(z, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;

	if (!S_ISREG(st.st_mode) || (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode)))) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : ENXIO;
		return file_fail(c, "read", path);
	}
	if (fd >= 0 && st.st_size > FILE_SETTINGS_MOST)
		return file_refuse_settings(c, path, st.st_size);
	return file_read_all(c, path, fd, out);
}

enum err file_own_read(struct call *c, struct str path, struct str *out)
{
	AUTO_FD fd = file_own_open(&c->mem, path, O_RDONLY, 0);

	return file_read_all(c, path, fd, out);
}

enum err file_too_large(struct call *c, struct str path, int64_t size, int64_t largest)
{
	call_fail(c, ERR_INTERNAL_ERROR,
		  "'" STR_FMT "' has %lld bytes, and at most %lld are allowed for such a file",
		  STR_ARG(path), (long long)size, (long long)largest);
	return call_remedy(c, "Move the file to another folder, which keeps it");
}

enum err file_read_part(struct call *c, struct str path, int64_t from, size_t most, struct str *out)
{
	return file_read_within(c, path, INT64_MAX, from, most, out);
}

enum err file_read_within(struct call *c, struct str path, int64_t largest, int64_t from,
			  size_t most, struct str *out)
{
	struct stat st;
	AUTO_FD fd = own_open(&c->mem, path, O_RDONLY, 0, &st);
	struct buf b = { .mem = &c->mem };
	ssize_t got = 1;

	*out = STR_NONE;
	if (fd < 0)
		return file_missing() ? ERR_OK : file_fail(c, "open", path);
	if (!most || (st.st_size > from && most > (size_t)(st.st_size - from)))
		most = st.st_size > from ? (size_t)(st.st_size - from) : 0;
	if (st.st_size > largest)
		return file_too_large(c, path, st.st_size, largest);
	if (most > FILE_PART_MOST)
		return file_too_large(c, path, st.st_size, FILE_PART_MOST);
	while (got && b.n < most) {
		got = pread(fd, buf_room(&b, most - b.n), most - b.n, (off_t)from + (off_t)b.n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return file_fail(c, "read", path);
		b.n += (size_t)got;
	}
	*out = buf_str(&b);
	return ERR_OK;
}

enum err file_sync_dir(struct call *c, struct str path)
{
	struct str dir = path_parent(path);
	AUTO_FD fd = open(arena_cstr(&c->mem, dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fault_point();
	if (fd < 0 || fsync(fd))
		return file_fail(c, "sync", dir);
	return ERR_OK;
}

/* The path at the end of a chain of symbolic links, whether or not a file exists there. */
static struct str file_follow(struct arena *mem, struct str path)
{
	enum { MOST_LINKS = 40, MOST_BYTES = 4096 };

	for (int i = 0; i < MOST_LINKS; i++) {
		char *link = arena_alloc(mem, MOST_BYTES);
		ssize_t n = readlink(arena_cstr(mem, path), link, MOST_BYTES);
		struct str to = { link, n < 0 ? 0 : (size_t)n };

		if (n < 0)
			break;
		path = link[0] == '/' ? to : path_join(mem, path_parent(path), to);
	}
	return path;
}

enum err file_replace_here(struct call *c, struct str path, struct str content, mode_t mode)
{
	struct file_at f = { AT_FDCWD, path, path };
	struct buf all = buf_of(content);

	return file_at_replace(c, &f, &all, file_at_mode(&c->mem, &f, mode));
}

enum err file_replace(struct call *c, struct str path, struct str content, mode_t mode)
{
	return file_replace_here(c, file_follow(&c->mem, path), content, mode);
}

enum err file_own_replace(struct call *c, struct str target, struct str content, mode_t mode)
{
	struct file_at f = { AT_FDCWD, target, target };
	struct buf all = buf_of(content);

	return file_at_replace(c, &f, &all, mode);
}

enum err file_provide(struct call *c, struct str path, struct str content, mode_t mode)
{
	enum stored before = c->stored;
	struct file_found found;
	enum err e = file_look(c, path, &found);

	if (e || found.kind != FILE_NONE)
		return e;
	e = file_own_replace(c, path, content, mode);
	c->stored = before;
	return e;
}

/* Creates a new file. A leftover of a process that died is removed first. */
static int open_temp(struct arena *mem, struct str path)
{
	enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL };
	int fd = file_own_open(mem, path, FLAGS, 0600);

	if (fd < 0 && errno == EEXIST && unlink(arena_cstr(mem, path)) == 0)
		fd = file_own_open(mem, path, FLAGS, 0600);
	return fd;
}

enum err file_swap(struct call *c, struct str path, struct str temp, const struct str *piece,
		   size_t count)
{
	AUTO_FD fd = open_temp(&c->mem, temp);

	if (fd < 0)
		return file_fail(c, "create", temp);
	for (size_t i = 0; i < count; i++)
		if (!file_write(fd, piece[i]))
			return file_fail(c, "write", temp);
	fault_point();
	return rename(arena_cstr(&c->mem, temp), arena_cstr(&c->mem, path)) ?
		       file_fail(c, "replace", path) :
		       ERR_OK;
}

void file_append_hint(struct call *c, struct str path, struct str bytes, mode_t mode)
{
	AUTO_FD fd = file_own_open(&c->mem, path, O_WRONLY | O_APPEND | O_CREAT, mode);

	if (fd >= 0)
		file_write(fd, bytes);
}

void file_touch(struct call *c, struct str path, mode_t mode)
{
	AUTO_FD fd = file_own_open(&c->mem, path, O_WRONLY | O_CREAT, mode);

	if (fd >= 0)
		file_write(fd, STR("\n"));
}

/*
 * After the rename, another process that appends to `path` creates a new file, so no line is lost.
 */
enum err file_own_take(struct call *c, struct str path, struct str *out)
{
	struct str mine = arena_fmt(&c->mem, STR_FMT ".%ld", STR_ARG(path), (long)getpid());
	enum err e;

	*out = STR_NONE;
	if (rename(arena_cstr(&c->mem, path), arena_cstr(&c->mem, mine)))
		return file_missing() ? ERR_OK : file_fail(c, "rename", path);
	e = file_own_read(c, mine, out);
	return e ? e : file_remove(c, mine);
}

enum err file_append(struct call *c, struct str path, struct str bytes, mode_t mode)
{
	AUTO_FD fd = file_own_open(&c->mem, path, O_WRONLY | O_APPEND | O_CREAT, mode);
	struct stat before;
	enum err e;

	if (fd < 0 || fstat(fd, &before))
		return file_fail(c, "open", path);
	/* the file may be new: its directory entry must be durable before its content counts */
	if (!before.st_size && (e = file_sync_dir(c, path)))
		return e;
	if (file_write(fd, bytes) && (fault_point(), platform_sync(fd) == 0)) {
		call_stored(c, bytes.n ? STORED_PART : STORED_NOTHING);
		return ERR_OK;
	}
	e = file_fail(c, "append to", path);
	if (ftruncate(fd, before.st_size) || platform_sync(fd))
		call_stored(c, STORED_MAYBE);
	return e;
}

enum err file_cut(struct call *c, struct str path, int64_t size)
{
	AUTO_FD fd = file_own_open(&c->mem, path, O_WRONLY, 0);

	fault_point();
	return fd < 0 || ftruncate(fd, (off_t)size) ? file_fail(c, "shorten", path) : ERR_OK;
}

enum err file_create(struct call *c, struct str path, mode_t mode)
{
	AUTO_FD fd = file_own_open(&c->mem, path, O_WRONLY | O_CREAT | O_EXCL, mode);

	return fd < 0 ? file_fail(c, "create", path) : ERR_OK;
}

enum err file_each(struct call *c, struct str dir, void (*see)(void *arg, struct str name),
		   void *arg)
{
	DIR *d = opendir(arena_cstr(&c->mem, dir));
	struct dirent *entry;
	enum err e = ERR_OK;

	if (!d)
		return errno == ENOENT ? ERR_OK : file_fail(c, "open", dir);
	while ((errno = 0, entry = readdir(d)))
		see(arg, arena_copy(&c->mem, str_of(entry->d_name)));
	if (errno) /* a partial listing must not be reported as a complete one */
		e = file_fail(c, "read", dir);
	closedir(d);
	return e;
}

uint64_t file_number(struct arena *mem, struct str path)
{
	off_t size;

	return file_number_size(mem, path, &size);
}

uint64_t file_number_size(struct arena *mem, struct str path, off_t *size)
{
	struct stat st;
	bool there = lstat(arena_cstr(mem, path), &st) == 0;

	*size = there ? st.st_size : -1;
	return there ? (uint64_t)st.st_ino : 0;
}

off_t file_size(struct arena *mem, struct str path)
{
	struct stat st;

	return lstat(arena_cstr(mem, path), &st) == 0 ? st.st_size : -1;
}

int64_t file_changed_ms(struct arena *mem, struct str path)
{
	struct stat st;

	return stat(arena_cstr(mem, path), &st) == 0 ? (int64_t)st.st_mtime * 1000 : 0;
}

bool file_exists(struct arena *mem, struct str path)
{
	struct stat st;

	return stat(arena_cstr(mem, path), &st) == 0;
}

bool file_is_dir(struct arena *mem, struct str path)
{
	struct stat st;

	return stat(arena_cstr(mem, path), &st) == 0 && S_ISDIR(st.st_mode);
}

bool file_missing(void)
{
	return errno == ENOENT || errno == ENOTDIR;
}

enum err file_look(struct call *c, struct str path, struct file_found *out)
{
	struct stat st;

	*out = (struct file_found){ .size = -1 };
	if (stat(arena_cstr(&c->mem, path), &st))
		return file_missing() ? ERR_OK : file_fail(c, "look at", path);
	out->kind = S_ISDIR(st.st_mode) ? FILE_FOLDER : FILE_OTHER;
	out->size = (int64_t)st.st_size;
	return ERR_OK;
}

enum err file_try_write(struct call *c, struct str dir)
{
	struct str path = path_join(&c->mem, dir, id_mint(&c->mem, "tmp_try", c->now_ms));
	const char *z = arena_cstr(&c->mem, path);
	AUTO_FD fd = open(z, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return file_fail_write(c, "create", path);
	unlink(z);
	return ERR_OK;
}

/* An existing directory is fine. A new directory is durable when this returns. */
static enum err make_one(struct call *c, struct str path, mode_t mode, bool *orphan)
{
	*orphan = false;
	if (mkdir(arena_cstr(&c->mem, path), mode) == 0)
		return file_sync_dir(c, path);
	if (errno == EEXIST && file_is_dir(&c->mem, path))
		return ERR_OK;
	*orphan = errno == ENOENT;
	return file_fail_write(c, "create", path);
}

enum err file_make_folder(struct call *c, struct str path, mode_t mode)
{
	bool orphan;
	enum err e = make_one(c, path, mode, &orphan);

	if (e || !path_is_link(&c->mem, path))
		return e;
	errno = ELOOP;
	return file_fail(c, "use", path);
}

enum err file_make_dir(struct call *c, struct str path, mode_t mode)
{
	bool orphan;
	enum err e = make_one(c, path, mode, &orphan);

	if (!orphan || path.n <= 1)
		return e;
	call_forgive(c);
	if ((e = file_make_dir(c, path_parent(path), mode)))
		return e;
	return make_one(c, path, mode, &orphan);
}

enum err file_remove(struct call *c, struct str path)
{
	return unlink(arena_cstr(&c->mem, path)) && errno != ENOENT ? file_fail(c, "remove", path) :
								      ERR_OK;
}

enum err file_remove_durably(struct call *c, struct str path)
{
	enum err e;

	if (unlink(arena_cstr(&c->mem, path)))
		return errno == ENOENT ? ERR_OK : file_fail(c, "remove", path);
	if ((e = file_sync_dir(c, path)))
		call_stored(c, STORED_MAYBE);
	return e;
}

static enum err remove_at(struct call *c, const struct file_at *f);

static enum err remove_entries(struct call *c, struct str path, DIR *dir)
{
	struct dirent *entry;
	enum err e;

	while ((errno = 0, entry = readdir(dir))) {
		struct str name = str_of(entry->d_name);
		struct file_at child = { dirfd(dir), name, path_join(&c->mem, path, name) };

		if (!str_is(name, ".") && !str_is(name, "..") && (e = remove_at(c, &child)))
			return e;
	}
	return errno ? file_fail(c, "read", path) : ERR_OK;
}

/* Another process may remove the same files at the same time. */
static enum err remove_at(struct call *c, const struct file_at *f)
{
	const char *z = arena_cstr(&c->mem, f->name);
	struct stat st;
	enum err e;

	if (fstatat(f->dir, z, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? ERR_OK : file_fail(c, "look at", f->path);
	if (S_ISDIR(st.st_mode)) {
		int fd = openat(f->dir, z, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		DIR *dir = fd < 0 ? NULL : fdopendir(fd);

		if (!dir)
			return errno == ENOENT ? ERR_OK : file_fail(c, "open", f->path);
		e = remove_entries(c, f->path, dir);
		closedir(dir);
		if (e)
			return e;
	}
	return unlinkat(f->dir, z, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) && errno != ENOENT ?
		       file_fail(c, "remove", f->path) :
		       ERR_OK;
}

enum err file_remove_tree(struct call *c, struct str path)
{
	struct file_at tree = { AT_FDCWD, path, path };

	return remove_at(c, &tree);
}

bool file_has_hole(struct str bytes, int64_t offset)
{
	enum { SECTOR = 512 };

	while (bytes.n) {
		size_t room = SECTOR - (size_t)(offset % SECTOR);
		size_t n = bytes.n < room ? bytes.n : room;

		if ((n > 1 || room == 1) && !bytes.p[0] && !memcmp(bytes.p, bytes.p + 1, n - 1))
			return true;
		bytes = str_skip(bytes, n);
		offset += (int64_t)n;
	}
	return false;
}

/* Reads back to the line's beginning, which is nearly always in the first block. */
enum err file_ends_whole(struct call *c, struct str path, bool *yes)
{
	enum { BLOCK = 1024 };
	AUTO_FD fd = file_own_open(&c->mem, path, O_RDONLY, 0);
	off_t end;
	char block[BLOCK];
	bool begun = false;

	*yes = true;
	if (fd < 0)
		return file_missing() ? ERR_OK : file_fail(c, "open", path);
	if ((end = lseek(fd, 0, SEEK_END)) < 0)
		return file_fail(c, "read", path);
	for (bool first = true; *yes && end && !begun; first = false) {
		size_t n = end < BLOCK ? (size_t)end : BLOCK, at = n - first;

		end -= (off_t)n;
		if (pread(fd, block, n, end) != (ssize_t)n)
			return file_fail(c, "read", path);
		while (at && block[at - 1] != '\n')
			at--;
		begun = at > 0;
		*yes = !memchr(block + at, 0, n - at) && (!first || block[n - 1] == '\n');
	}
	return ERR_OK;
}

struct file_leftovers {
	struct call *c;
	struct str dir, head;
};

static void file_remove_leftover(void *arg, struct str name)
{
	struct file_leftovers *l = arg;

	if (str_starts(name, l->head) && str_ends(name, STR(".tmp")))
		file_remove(l->c, path_join(&l->c->mem, l->dir, name));
}

enum err file_remove_leftovers(struct call *c, struct str path)
{
	struct file_leftovers left = { c, path_parent(path),
				       arena_fmt(&c->mem, STR_FMT ".", STR_ARG(path_name(path))) };

	return file_each(c, left.dir, file_remove_leftover, &left);
}
