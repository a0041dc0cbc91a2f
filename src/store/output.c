#include "store/output.h"

#include <sys/stat.h>

#include "base/system/file.h"
#include "base/system/path.h"
#include "store/owner.h"
#include "store/place.h"

static enum err output_advise(struct call *c)
{
	return call_step(c, "Choose a path without links.");
}

/* Links of root belong to the system: /tmp on macOS is one. */
static bool output_is_foreign(const struct stat *st)
{
	return st->st_uid && !owner_is_user(st->st_uid);
}

/* The worktree around a folder; absent: none. */
static struct str output_root(struct call *c, struct str dir)
{
	struct repository repo = { 0 };

	place_repository(c, dir, &repo); /* even if its owner is not trusted */
	call_forgive(c);
	return repo.tree.p ? path_real(&c->mem, repo.tree) : STR_NONE;
}

/* A link in a worktree may have come with the repository, wherever the command runs. */
static enum err output_check_link(struct call *c, struct str link, struct str root)
{
	struct str real = path_real_part(&c->mem, link);
	bool inside = path_within(root, real);

	if (inside && !place_is_reserved(c, root, real))
		return ERR_OK;
	call_fail(c, ERR_UNSAFE_PATH,
		  inside ? "'" STR_FMT
			   "' leads into a folder of Git or of this program, to '" STR_FMT "'" :
			   "'" STR_FMT "' leads out of the worktree, to '" STR_FMT "'",
		  STR_ARG(link), STR_ARG(real));
	return output_advise(c);
}

/* The path without its first link, which is in the folder `dir` and ends at `end`. */
static struct str output_follow(struct call *c, struct str dir, struct str path, size_t end)
{
	struct str target = path_target(&c->mem, str_head(path, end)), rest = str_skip(path, end);

	target = path_resolve(&c->mem, dir, target);
	return rest.n ? path_join(&c->mem, target, str_skip(rest, 1)) : target;
}

/*
 * Looks at each part of a path, until one does not exist; `links`: also where links lead, one after
 * the other.
 */
static enum err output_check_parts(struct call *c, struct str path, bool links)
{
	enum { LINKS_MOST = 40 }; /* like the kernel */
	int followed = 0;

	for (size_t i = 1; i <= path.n; i++) {
		struct str part = str_head(path, i), dir, root;
		struct stat st;
		enum err e;

		if (i < path.n && path.p[i] != '/')
			continue;
		if (lstat(arena_cstr(&c->mem, part), &st))
			return ERR_OK;
		if (!S_ISLNK(st.st_mode))
			continue;
		if (output_is_foreign(&st)) {
			call_fail(c, ERR_UNSAFE_PATH,
				  "'" STR_FMT "' is a link that another user made", STR_ARG(part));
			return output_advise(c);
		}
		dir = links ? path_real(&c->mem, path_parent(part)) : STR_NONE;
		root = dir.p ? output_root(c, dir) : STR_NONE;
		if (root.p && (e = output_check_link(c, part, root)))
			return e;
		if (dir.p && followed++ < LINKS_MOST) {
			path = output_follow(c, dir, path, i);
			i = 0;
		}
	}
	return ERR_OK;
}

enum err output_check_owners(struct call *c, struct str path)
{
	return output_check_parts(c, path, false);
}

/* A FIFO of another user would pass on what is written to it. */
static enum err output_check_kind(struct call *c, struct str path)
{
	struct stat st;

	if (stat(arena_cstr(&c->mem, path), &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ||
	    !output_is_foreign(&st))
		return ERR_OK;
	call_fail(c, ERR_DUBIOUS_OWNERSHIP, "'" STR_FMT "' belongs to another user", STR_ARG(path));
	return call_step(c, "Choose another path.");
}

enum err output_check(struct call *c, struct str path)
{
	enum err e = output_check_parts(c, path, true);

	return e ? e : output_check_kind(c, path);
}

enum err output_write(struct call *c, struct str name, struct str content)
{
	struct str path = path_resolve(&c->mem, c->dir, name);
	enum err e = output_check(c, path);

	return e ? e : file_output(c, path, content, 0644);
}
