#include "store/place.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/path.h"
#include "base/spawn.h"
#include "base/utf8.h"
#include "store/git_config.h"

static enum err named(struct call *c, struct str *root)
{
	struct str dir = path_resolve(&c->mem, c->dir, c->project);

	*root = path_real(&c->mem, dir);
	if (root->p && file_is_dir(&c->mem, *root))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a directory", STR_ARG(dir));
	return call_step(c, "Give --dir (or BB_DIR) an existing project directory.");
}

static bool is_gitdir(struct call *c, struct str dir)
{
	return file_exists(&c->mem, path_join(&c->mem, dir, STR("HEAD")));
}

static bool is_bare(struct call *c, struct str dir)
{
	return is_gitdir(c, dir) &&
	       file_is_dir(&c->mem, path_join(&c->mem, dir, STR("objects"))) &&
	       file_is_dir(&c->mem, path_join(&c->mem, dir, STR("refs")));
}

static struct str tree_of_gitdir(struct str gitdir)
{
	return str_is(path_name(gitdir), ".git") ? path_parent(gitdir) : gitdir;
}

/* The Git directory of a linked worktree says in "commondir" where the shared one is. */
static enum err find_shared(struct call *c, struct repository *repo)
{
	struct str text;
	enum err e =
		file_read(c, path_join(&c->mem, repo->gitdir, STR("commondir")), &text);

	repo->common = repo->gitdir;
	if (e || !text.p)
		return e;
	repo->common = path_resolve(&c->mem, repo->gitdir, str_trim(text));
	repo->main = tree_of_gitdir(repo->common);
	return ERR_OK;
}

/* A ".git" file says "gitdir: <path>". */
static enum err read_link(struct call *c, struct str dot_git, struct repository *repo)
{
	struct str text;
	enum err e = file_read(c, dot_git, &text);

	if (e || !str_starts(text, STR("gitdir: ")))
		return e;
	repo->gitdir = path_resolve(&c->mem, repo->tree, str_trim(str_skip(text, 8)));
	return find_shared(c, repo);
}

/* What is at a path. */
struct entry {
	bool folder, file; /* what it leads to; a pipe or a device is neither */
	bool link;
};

static struct entry look(struct call *c, struct str dir, struct str name)
{
	const char *path = arena_cstr(&c->mem, path_join(&c->mem, dir, name));
	struct entry found = { 0 };
	struct stat st;

	if (lstat(path, &st))
		return found;
	found.link = S_ISLNK(st.st_mode);
	if (found.link && stat(path, &st))
		return found;
	found.folder = S_ISDIR(st.st_mode);
	found.file = S_ISREG(st.st_mode);
	return found;
}

/* What ".git" of `repo->tree` leads to. */
static enum err find_main(struct call *c, struct repository *repo, struct entry dot_git)
{
	repo->main = repo->tree;
	repo->gitdir = repo->common = path_join(&c->mem, repo->tree, STR(".git"));
	return dot_git.folder ? ERR_OK : read_link(c, repo->gitdir, repo);
}

/* The nearest worktree around the user, whether or not Git could use it. */
static enum err find_repository(struct call *c, struct repository *repo)
{
	struct str dir = c->dir;
	struct entry dot_git;

	*repo = (struct repository){ 0 };
	for (;; dir = path_parent(dir)) {
		dot_git = look(c, dir, STR(".git"));
		if (dot_git.folder || dot_git.file)
			break;
		if (dir.n <= 1)
			return ERR_OK;
	}
	repo->tree = dir;
	return find_main(c, repo, dot_git);
}

/* The repository whose worktree has `dir` as its root; absent: that is none. `plain`: no
 * link leads to its Git directory. */
static enum err find_at(struct call *c, struct str dir, struct repository *out,
			bool *plain)
{
	struct entry dot_git = look(c, dir, STR(".git"));
	enum err e;

	*out = (struct repository){ 0 };
	*plain = dot_git.folder && !dot_git.link;
	if (!dot_git.folder && !dot_git.file)
		return ERR_OK;
	out->tree = dir;
	if ((e = find_main(c, out, dot_git)))
		return e;
	if (!is_gitdir(c, out->gitdir))
		*out = (struct repository){ 0 };
	return ERR_OK;
}

/* In a ".git": Git never checks out a file with that name, so no commit made it. */
static bool in_dot_git(struct str dir)
{
	return str_is(path_name(dir), ".git") || str_has(dir, STR("/.git/"));
}

static void see_bare(void *arg, struct str name, struct str value)
{
	if (str_is(name, "safe.barerepository"))
		*(bool *)arg = str_is(value, "explicit");
}

/* A bare repository that was found, not named. */
static enum err use_bare(struct call *c, struct str dir, struct repository *out)
{
	bool refused = false;

	*out = (struct repository){ tree_of_gitdir(dir), tree_of_gitdir(dir), dir, dir };
	if (!in_dot_git(dir))
		git_config_protected(c, see_bare, &refused);
	if (!refused)
		return ERR_OK;
	call_fail(c, ERR_NOT_A_REPOSITORY,
		  "'" STR_FMT "' is a bare repository, and your Git configuration sets "
		  "safe.bareRepository to 'explicit'",
		  STR_ARG(dir));
	return call_step(c, "To use it, run: export GIT_DIR=" STR_FMT,
			 STR_ARG(spawn_quoted(&c->mem, dir)));
}

/*
 * The nearest worktree, else the nearest bare repository. A folder of a worktree that
 * looks like a bare repository may come from a commit, with settings that run programs,
 * so the repository around it counts.
 */
static enum err search_repository(struct call *c, struct str dir, struct repository *out,
				  bool *plain)
{
	struct str bare = { 0 };
	enum err e;

	for (;; dir = path_parent(dir)) {
		if ((e = find_at(c, dir, out, plain)) || out->common.p)
			return e;
		if (!bare.p && is_bare(c, dir))
			bare = dir;
		if (dir.n <= 1 || (bare.p && in_dot_git(bare)))
			break;
	}
	*plain = true;
	return bare.p ? use_bare(c, bare, out) : ERR_OK;
}

/* --- a Git directory that was named --- */

static enum err use_gitdir(struct call *c, struct str gitdir, struct repository *out)
{
	struct str tree = tree_of_gitdir(gitdir);

	*out = (struct repository){ tree, tree, gitdir, gitdir };
	if (is_gitdir(c, gitdir))
		return find_shared(c, out);
	return call_fail(c, ERR_NOT_A_REPOSITORY, "'" STR_FMT "' is not a Git directory",
			 STR_ARG(gitdir));
}

struct worktree_settings {
	bool bare;
	struct str worktree;
};

static void see_worktree(void *arg, struct str name, struct str value)
{
	struct worktree_settings *s = arg;

	if (str_is(name, "core.bare"))
		s->bare = !value.p || str_is(value, "true") || str_is(value, "1");
	else if (str_is(name, "core.worktree"))
		s->worktree = value;
}

/* As Git decides where GIT_DIR is set: GIT_WORK_TREE, core.worktree, or right here. */
static enum err find_worktree(struct call *c, struct repository *repo)
{
	const char *named = getenv("GIT_WORK_TREE");
	struct worktree_settings s = { 0 };
	bool linked = !str_eq(repo->gitdir, repo->common);
	struct str text;
	enum err e = file_read(c, path_join(&c->mem, repo->common, STR("config")), &text);

	if (e)
		return e;
	git_config_parse(&c->mem, text, see_worktree, &s);
	if (named && *named)
		repo->tree = path_resolve(&c->mem, c->dir, str_of(named));
	else if (!linked && s.worktree.n)
		repo->tree = path_resolve(&c->mem, repo->gitdir, s.worktree);
	else
		repo->tree = !linked && s.bare ? repo->gitdir : c->dir;
	if (!linked)
		repo->main = repo->tree;
	return ERR_OK;
}

/* GIT_DIR, unless a folder was named in another way. */
static const char *git_dir_variable(const struct call *c)
{
	const char *gitdir = c->project.p ? NULL : getenv("GIT_DIR");

	return gitdir && *gitdir ? gitdir : NULL;
}

static enum err use_variable(struct call *c, const char *gitdir, struct repository *out)
{
	enum err e = use_gitdir(c, path_resolve(&c->mem, c->dir, str_of(gitdir)), out);

	if (e)
		return call_step(c, "Unset GIT_DIR, or set it to a Git directory.");
	return find_worktree(c, out);
}

/* --- the repository --- */

static enum err find(struct call *c, struct str dir, struct repository *out, bool *plain)
{
	const char *variable = c->gitdir.p ? NULL : git_dir_variable(c);

	*plain = false;
	if (c->gitdir.p)
		return use_gitdir(c, c->gitdir, out);
	if (variable)
		return use_variable(c, variable, out);
	return search_repository(c, dir, out, plain);
}

static enum err find_common(struct call *c, struct repository *out)
{
	out->common = path_real(&c->mem, out->common);
	if (out->common.p)
		return ERR_OK;
	return call_fail(c, ERR_NOT_A_REPOSITORY,
			 "'" STR_FMT "' points to a Git directory that is not there",
			 STR_ARG(out->tree));
}

enum err place_repository(struct call *c, struct str dir, struct repository *out)
{
	bool plain;
	enum err e = find(c, dir, out, &plain);

	return e || !out->common.p ? e : find_common(c, out);
}

enum err place_repository_real(struct call *c, struct str dir, struct repository *out)
{
	bool plain;
	enum err e = find(c, dir, out, &plain);

	return e || !out->common.p || plain ? e : find_common(c, out);
}

enum err place_branch(struct call *c, const struct repository *repo, struct str *out)
{
	struct str head;
	enum err e = file_read(c, path_join(&c->mem, repo->gitdir, STR("HEAD")), &head);

	head = str_trim(head);
	*out = (struct str){ 0 };
	if (!e && str_starts(head, STR("ref: refs/heads/")) && utf8_valid(head) &&
	    !str_is(head, "ref: refs/heads/.invalid")) /* what reftables put there */
		*out = str_skip(head, sizeof "ref: refs/heads/" - 1);
	return e;
}

static bool has(struct call *c, struct str dir, struct str name)
{
	return file_is_dir(&c->mem, path_join(&c->mem, dir, name));
}

/* The first folder from `dir` upwards that has it, not above `top`; or absent. */
static struct str search(struct call *c, struct str dir, struct str top, struct str name)
{
	while (!has(c, dir, name)) {
		if (str_eq(dir, top) || dir.n <= 1)
			return (struct str){ 0 };
		dir = path_parent(dir);
	}
	return dir;
}

enum err place_find(struct call *c, struct str name, struct str *root)
{
	struct repository repo;
	enum err e;

	if (c->project.p) {
		if ((e = named(c, root)))
			return e;
		if (!has(c, *root, name))
			*root = (struct str){ 0 };
		return ERR_OK;
	}
	if ((e = find_repository(c, &repo)))
		return e;
	if (repo.tree.p) {
		*root = search(c, c->dir, repo.tree, name);
		if (root->p)
			return ERR_OK;
		*root = repo.main;
		if (has(c, *root, name))
			return ERR_OK;
	}
	*root = search(c, c->dir, STR("/"), name);
	return ERR_OK;
}

enum err place_new(struct call *c, struct str name, struct str *root)
{
	struct repository repo;
	struct str found;
	enum err e;

	if (c->project.p)
		return named(c, root);
	if ((e = find_repository(c, &repo)) || (e = place_find(c, name, &found)))
		return e;
	if (found.p &&
	    (!repo.tree.p || path_within(repo.tree, found) || str_eq(found, repo.main)))
		*root = found;
	else
		*root = repo.tree.p ? repo.main : c->dir;
	return ERR_OK;
}

enum err place_tree(struct call *c, struct str root, struct str *tree)
{
	struct repository repo;
	enum err e = find_repository(c, &repo);

	*tree = root;
	if (!e && repo.tree.p && str_eq(repo.main, root))
		*tree = repo.tree;
	return e;
}

struct str place_ref(struct call *c, const struct repository *repo, struct str name)
{
	struct str text, line;

	if (!file_read(c, path_join(&c->mem, repo->common, name), &text) && text.p)
		return str_trim(text);
	if (!file_read(c, path_join(&c->mem, repo->common, STR("packed-refs")), &text))
		while (text.n && str_next(&text, '\n', &line))
			if (line.n > 41 && str_eq(str_skip(line, 41), name))
				return str_head(line, 40);
	c->code = ERR_OK;
	return (struct str){ 0 };
}
