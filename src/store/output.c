#include "store/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/moment.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "store/exposed.h"
#include "store/owner.h"
#include "store/place_parts.h"

enum { LINKS_MOST = 40 }; /* that are followed, like the kernel */

static enum err output_advise(struct call *c)
{
	return call_step(c, "Choose a path without links.");
}

/* Links of root belong to the system: /tmp on macOS is one. */
static bool output_is_foreign(const struct stat *st)
{
	return st->st_uid && !owner_is_user(st->st_uid);
}

/*
 * The nearest worktree around a folder, even one that Git cannot use, that another user owns, or
 * that only Git's variables name. Absent: none.
 */
static struct str output_root(struct call *c, struct str dir)
{
	struct candidate around = { 0 };
	struct repository named;
	struct str tree;

	candidate_around(c, dir, &around);
	place_of_variables(c, &named);
	call_forgive(c);
	tree = around.repo.tree;
	if (named.tree.p && path_within(named.tree, dir) && named.tree.n > tree.n)
		tree = named.tree;
	return tree.p ? path_real(&c->mem, tree) : STR_NONE;
}

/* --- the folder --- */

void output_close(struct output *o)
{
	file_close(&o->file.dir);
}

/* Is the path a descriptor of this process? A pipe behind one has no path that could be opened. */
static int output_descriptor(struct call *c, struct str path)
{
	struct str dir = path_parent(path);
	int64_t fd;

	if (!str_is(dir, "/dev/fd") &&
	    !str_eq(dir, arena_fmt(&c->mem, "/proc/%ld/fd", (long)getpid())))
		return -1;
	return number_int(path_name(path), &fd) && fd >= 0 && fd <= INT_MAX ? (int)fd : -1;
}

/* Keeps the reason for the write: until then, a folder that is missing is no error. */
static void output_stop(struct output *o)
{
	o->reason = errno;
	output_close(o);
}

static bool output_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_uid == b->st_uid &&
	       platform_changed_ns(a) == platform_changed_ns(b);
}

static bool output_look(struct call *c, const struct output *o, struct stat *st)
{
	return !fstatat(o->file.dir, arena_cstr(&c->mem, o->file.name), st, AT_SYMLINK_NOFOLLOW);
}

/* Reads the link that was looked at, and not one that has replaced it since. */
static enum err output_read_link(struct call *c, const struct output *o, struct str link,
				 const struct stat *st, struct str *target)
{
	enum { MOST_BYTES = 4096 };
	const char *z = arena_cstr(&c->mem, path_name(link));
	char *text = arena_alloc(&c->mem, MOST_BYTES);
	ssize_t n = readlinkat(o->file.dir, z, text, MOST_BYTES);
	struct stat now;

	if (n < 0 || fstatat(o->file.dir, z, &now, AT_SYMLINK_NOFOLLOW))
		return file_fail(c, "read", link);
	*target = (struct str){ text, (size_t)n };
	if (output_same(st, &now))
		return ERR_OK;
	call_fail(c, ERR_UNSAFE_PATH, "'" STR_FMT "' changed while it was read", STR_ARG(link));
	return output_advise(c);
}

/* A link in a worktree. It may have come with the repository, wherever the command runs. */
struct output_link {
	struct str path, root; /* the worktree */
	size_t rest;           /* bytes of names to visit after the link's target */
};

struct output_walk {
	struct output *o;
	unsigned rules;
	struct buf path;
	struct str rest;                     /* names to visit */
	struct output_link link[LINKS_MOST]; /* links whose targets are still being visited */
	int count, followed;
};

/* Takes the next name; empty ones and "." are skipped. */
static bool output_next(struct str *rest, struct str *name)
{
	while (rest->n && str_next(rest, '/', name))
		if (name->n && !str_is(*name, "."))
			return true;
	return false;
}

/* Sets the file that the names so far lead to: one in the open folder, or that folder ("."). */
static void output_move(struct output_walk *w, struct str name)
{
	w->o->file.name = name;
	w->o->file.path = w->path.n ? buf_str(&w->path) : STR("/");
}

static void output_move_up(struct output_walk *w)
{
	while (w->path.n && w->path.p[--w->path.n] != '/')
		;
	output_move(w, STR("."));
}

static enum err output_check_link(struct call *c, const struct output_walk *w,
				  const struct output_link *link)
{
	struct str real = w->o->file.path;
	bool inside = path_within(link->root, real);

	if (inside && !place_is_reserved(c, link->root, real))
		return ERR_OK;
	call_fail(c, ERR_UNSAFE_PATH,
		  inside ? "'" STR_FMT
			   "' leads into a folder of Git or of this program, to '" STR_FMT "'" :
			   "'" STR_FMT "' leads out of the worktree, to '" STR_FMT "'",
		  STR_ARG(link->path), STR_ARG(real));
	return output_advise(c);
}

/* Checks the links whose targets have been visited: only `rest` bytes of names are left. */
static enum err output_check_links(struct call *c, struct output_walk *w, size_t rest)
{
	enum err e = ERR_OK;

	while (!e && w->count && w->link[w->count - 1].rest >= rest)
		e = output_check_link(c, w, &w->link[--w->count]);
	return e;
}

static enum err output_check_folder(struct call *c, const struct output *o, unsigned rules)
{
	struct stat st;

	if (!(rules & OUTPUT_FIXED))
		return ERR_OK;
	return fstat(o->file.dir, &st) ? file_fail(c, "look at", o->file.path) :
					 exposed_check_folder(c, o->file.path, &st);
}

/* Another user may make it first; then it is checked like every other folder. */
static enum err output_make_folder(struct call *c, const struct output_walk *w)
{
	const struct file_at *folder = &w->o->file;
	enum err e = ERR_OK;

	for (int i = 0; !e && i < w->count; i++)
		e = output_check_link(c, w, &w->link[i]);
	if (e)
		return e;
	if (mkdirat(folder->dir, arena_cstr(&c->mem, folder->name),
		    w->rules & OUTPUT_FIXED ? 0700 : 0755))
		return errno == EEXIST ? ERR_OK : file_fail_write(c, "create", folder->path);
	return file_at_sync_dir(c, folder);
}

/* Opens a folder from the open one: the one that `name` names in it, "..", or "/". */
static enum err output_enter(struct call *c, struct output_walk *w, struct str name)
{
	const char *z = arena_cstr(&c->mem, name);
	struct output *o = w->o;
	int next = platform_open_folder(o->file.dir, z);
	enum err e;

	if (next < 0 && errno == ENOENT && (w->rules & OUTPUT_MAKE)) {
		if ((e = output_make_folder(c, w)))
			return e;
		next = platform_open_folder(o->file.dir, z);
	}
	if (next < 0) {
		output_stop(o);
		return ERR_OK;
	}
	file_close(&o->file.dir);
	o->file.dir = next;
	o->file.name = STR(".");
	return output_check_folder(c, o, w->rules);
}

/* Replaces the link by its target in the path. */
static enum err output_follow(struct call *c, struct output_walk *w, const struct stat *st)
{
	struct str link = arena_copy(&c->mem, w->o->file.path), root, target;
	enum err e;

	if (output_is_foreign(st)) {
		call_fail(c, ERR_UNSAFE_PATH, "'" STR_FMT "' is a link that another user made",
			  STR_ARG(link));
		return output_advise(c);
	}
	if (w->followed++ == LINKS_MOST) {
		call_fail(c, ERR_UNSAFE_PATH, "too many links lead to '" STR_FMT "'",
			  STR_ARG(link));
		return output_advise(c);
	}
	if ((e = output_read_link(c, w->o, link, st, &target)))
		return e;
	root = w->rules & OUTPUT_LINKS ? output_root(c, path_parent(link)) : STR_NONE;
	if (root.p)
		w->link[w->count++] = (struct output_link){ link, root, w->rest.n };
	w->rest = w->rest.n ? path_join(&c->mem, target, w->rest) : target;
	output_move_up(w);
	if (!str_starts(target, STR("/")))
		return ERR_OK;
	w->path.n = 0;
	output_move(w, STR("."));
	return output_enter(c, w, STR("/"));
}

/* Visits a name as the kernel does: ".." after a link leads to the folder above its target. */
static enum err output_step(struct call *c, struct output_walk *w, struct str name)
{
	struct output *o = w->o;
	struct str ahead = w->rest, next;
	bool last = !output_next(&ahead, &next);
	struct stat st = { 0 };
	enum err e;

	if (str_is(name, "..")) {
		output_move_up(w);
		return output_enter(c, w, name);
	}
	buf_char(&w->path, '/');
	buf_put(&w->path, name);
	output_move(w, name);
	if (last && (o->own = output_descriptor(c, o->file.path)) >= 0) {
		output_close(o);
		return ERR_OK;
	}
	if (output_look(c, o, &st) && S_ISLNK(st.st_mode))
		return output_follow(c, w, &st);
	e = last ? ERR_OK : output_enter(c, w, name);
	if (o->reason == ENOTDIR && S_ISDIR(st.st_mode))
		o->reason = ELOOP; /* a link has replaced the folder */
	return e;
}

enum err output_open(struct call *c, struct str path, unsigned rules, struct output *out)
{
	struct output_walk w = { out, rules, { .mem = &c->mem }, .rest = path };
	struct str name;
	enum err e;

	*out = (struct output){ .file.dir = -1, .own = -1 };
	output_move(&w, STR("."));
	e = output_enter(c, &w, STR("/"));
	while (!e && out->file.dir >= 0 && output_next(&w.rest, &name))
		if (!(e = output_step(c, &w, name)))
			e = output_check_links(c, &w, w.rest.n);
	if (!e && w.rest.n)
		out->file.path =
			path_resolve(&c->mem, STR("/"), path_join(&c->mem, out->file.path, w.rest));
	if (!e)
		e = output_check_links(c, &w, 0);
	if (e)
		output_close(out);
	return e;
}

/* --- the file --- */

static bool output_is_stream(const struct stat *st)
{
	return S_ISCHR(st->st_mode) || S_ISFIFO(st->st_mode);
}

/* A FIFO of another user would pass on what is written to it. */
static enum err output_check_kind(struct call *c, struct str path, const struct stat *st)
{
	if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || !output_is_foreign(st))
		return ERR_OK;
	call_fail(c, ERR_DUBIOUS_OWNERSHIP, "'" STR_FMT "' belongs to another user", STR_ARG(path));
	return call_step(c, "Choose another path.");
}

/*
 * Opens a FIFO or a device, and waits for the reader of a FIFO. Another user can put a FIFO there
 * meanwhile, so it is checked while this waits, and again once it is open.
 */
static enum err output_open_stream(struct call *c, const struct output *o, int *fd)
{
	enum { FLAGS = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, WAIT_MS = 20 };
	const char *z = arena_cstr(&c->mem, o->file.name);
	struct stat st;
	enum err e;

	while ((*fd = openat(o->file.dir, z, FLAGS)) < 0) {
		if (errno != ENXIO || !output_look(c, o, &st) || !S_ISFIFO(st.st_mode))
			return file_fail(c, "open", o->file.path);
		if ((e = output_check_kind(c, o->file.path, &st)))
			return e;
		moment_sleep(WAIT_MS);
	}
	if (fstat(*fd, &st) || fcntl(*fd, F_SETFL, 0))
		return file_fail(c, "look at", o->file.path);
	if ((e = output_check_kind(c, o->file.path, &st)) || output_is_stream(&st))
		return e;
	call_fail(c, ERR_UNSAFE_PATH, "'" STR_FMT "' changed while it was opened",
		  STR_ARG(o->file.path));
	return output_advise(c);
}

enum err output_read(struct call *c, const struct output *o, struct str *out)
{
	*out = STR_NONE;
	if (o->file.dir >= 0)
		return file_at_read(c, &o->file, out);
	errno = o->own >= 0 ? ENOENT : o->reason;
	return file_missing() ? ERR_OK : file_fail(c, "open", o->file.path);
}

enum err output_put(struct call *c, const struct output *o, const struct buf *content, mode_t mode)
{
	AUTO_FD fd = -1;
	struct stat st;
	enum err e;

	if (o->own >= 0)
		return buf_write(content, o->own) ? ERR_OK : file_fail(c, "write", o->file.path);
	errno = o->reason;
	if (o->file.dir < 0)
		return file_fail(c, "create", o->file.path);
	if (!output_look(c, o, &st) || !output_is_stream(&st))
		return file_at_replace(c, &o->file, content, file_at_mode(&c->mem, &o->file, mode));
	if ((e = output_check_kind(c, o->file.path, &st)) || (e = output_open_stream(c, o, &fd)))
		return e;
	return buf_write(content, fd) ? ERR_OK : file_fail(c, "write", o->file.path);
}

enum err output_remove(struct call *c, const struct output *o)
{
	enum err e;

	if (o->file.dir < 0)
		return ERR_OK;
	if (unlinkat(o->file.dir, arena_cstr(&c->mem, o->file.name), 0))
		return errno == ENOENT ? ERR_OK : file_fail(c, "remove", o->file.path);
	if ((e = file_at_sync_dir(c, &o->file)))
		call_stored(c, STORED_MAYBE);
	return e;
}

enum err output_check(struct call *c, struct str path, enum output_missing missing)
{
	unsigned make = missing == OUTPUT_MAKE_MISSING ? OUTPUT_MAKE : 0;
	AUTO_OUTPUT o;
	struct stat st;
	enum err e = output_open(c, path, OUTPUT_LINKS | OUTPUT_FIXED | make, &o);

	if (e || o.own >= 0)
		return e;
	if (o.file.dir >= 0)
		return output_look(c, &o, &st) ? output_check_kind(c, path, &st) : ERR_OK;
	errno = o.reason;
	return missing == OUTPUT_ALLOW_MISSING && file_missing() ? ERR_OK :
								   file_fail(c, "reach", path);
}

enum err output_write(struct call *c, struct str name, const struct buf *content)
{
	AUTO_OUTPUT o;
	enum err e = output_open(c, path_resolve(&c->mem, c->dir, name), OUTPUT_LINKS, &o);

	return e ? e : output_put(c, &o, content, 0644);
}
