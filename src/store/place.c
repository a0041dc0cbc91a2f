#include "store/place.h"

#include "base/file.h"
#include "base/path.h"

static enum err named(struct call *c, struct str *root)
{
	struct str dir = path_resolve(&c->mem, c->dir, c->project);

	*root = path_real(&c->mem, dir);
	if (root->p && file_is_dir(&c->mem, *root))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a directory", STR_ARG(dir));
	return call_step(c, "Give --dir (or BB_DIR) an existing project directory.");
}

/* A ".git" file says "gitdir: <path>"; that folder's "commondir" leads to the main one.
 */
static enum err main_worktree(struct call *c, struct str dir, struct str dot_git,
			      struct str *root)
{
	struct str text, common, gitdir;
	enum err e;

	*root = dir;
	if (file_is_dir(&c->mem, dot_git))
		return ERR_OK;
	if ((e = file_read(c, dot_git, &text)))
		return e;
	if (!str_starts(text, STR("gitdir: ")))
		return ERR_OK;
	gitdir = path_resolve(&c->mem, dir, str_trim(str_skip(text, 8)));
	if ((e = file_read(c, path_join(&c->mem, gitdir, STR("commondir")), &text)))
		return e;
	if (!text.p)
		return ERR_OK; /* a submodule: a repository of its own */
	common = path_resolve(&c->mem, gitdir, str_trim(text));
	if (str_is(path_name(common), ".git"))
		*root = path_parent(common);
	return ERR_OK;
}

/* The (main) worktree's root above `dir`; absent outside a repository. */
static enum err repository(struct call *c, struct str dir, struct str *root)
{
	for (;;) {
		struct str dot_git = path_join(&c->mem, dir, STR(".git"));

		if (file_exists(&c->mem, dot_git))
			return main_worktree(c, dir, dot_git, root);
		if (dir.n <= 1)
			break;
		dir = path_parent(dir);
	}
	*root = (struct str){ 0 };
	return ERR_OK;
}

enum err place_find(struct call *c, struct str name, struct str *root)
{
	struct str dir = c->dir;
	enum err e;

	if (c->project.p) {
		if ((e = named(c, root)))
			return e;
	} else {
		while (!file_is_dir(&c->mem, path_join(&c->mem, dir, name)) && dir.n > 1)
			dir = path_parent(dir);
		*root = dir;
		if (dir.n <= 1 && (e = repository(c, c->dir, root)))
			return e;
	}
	if (root->p && !file_is_dir(&c->mem, path_join(&c->mem, *root, name)))
		*root = (struct str){ 0 };
	return ERR_OK;
}

enum err place_new(struct call *c, struct str name, struct str *root)
{
	struct str repo, found;
	enum err e;

	if (c->project.p)
		return named(c, root);
	if ((e = repository(c, c->dir, &repo)) || (e = place_find(c, name, &found)))
		return e;
	if (found.p && (!repo.p || path_within(repo, found)))
		*root = found;
	else
		*root = repo.p ? repo : c->dir;
	return ERR_OK;
}
