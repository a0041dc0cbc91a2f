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

/* Allows links of root, which belong to the system: /tmp on macOS is one. */
enum err output_check_owners(struct call *c, struct str path)
{
	for (size_t i = 1; i <= path.n; i++) {
		struct str part = str_head(path, i);
		struct stat st;

		if (i < path.n && path.p[i] != '/')
			continue;
		if (lstat(arena_cstr(&c->mem, part), &st))
			return ERR_OK; /* nothing from here on exists */
		if (!S_ISLNK(st.st_mode) || !st.st_uid || owner_is_user(st.st_uid))
			continue;
		call_fail(c, ERR_UNSAFE_PATH, "'" STR_FMT "' is a link that another user made",
			  STR_ARG(part));
		return output_advise(c);
	}
	return ERR_OK;
}

/* The current worktree; absent: none. */
static struct str output_root(struct call *c)
{
	struct repository repo = { 0 };

	place_repository(c, c->dir, &repo); /* even if its owner is not trusted */
	call_forgive(c);
	return repo.tree.p ? path_real(&c->mem, repo.tree) : STR_NONE;
}

enum err output_check(struct call *c, struct str path)
{
	struct str root = output_root(c), real;
	enum err e = output_check_owners(c, path);
	bool inside;

	if (e || !root.p || !path_within(root, path))
		return e;
	real = path_real_part(&c->mem, path);
	inside = path_within(root, real);
	if (str_eq(real, path) || (inside && !place_is_reserved(c, root, real)))
		return ERR_OK;
	call_fail(c, ERR_UNSAFE_PATH,
		  inside ? "'" STR_FMT
			   "' leads into a folder of Git or of this program, to '" STR_FMT "'" :
			   "'" STR_FMT "' leads out of the worktree, to '" STR_FMT "'",
		  STR_ARG(path), STR_ARG(real));
	return output_advise(c);
}

enum err output_write(struct call *c, struct str name, struct str content)
{
	struct str path = path_resolve(&c->mem, c->dir, name);
	enum err e = output_check(c, path);

	return e ? e : file_output(c, path, content, 0644);
}
