#include "store/place.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/path.h"
#include "base/spawn.h"
#include "base/utf8.h"
#include "store/git_config.h"
#include "store/owner.h"

static enum err named(struct call *c, struct str *root)
{
	struct str dir = path_resolve(&c->mem, c->dir, c->project);

	*root = path_real(&c->mem, dir);
	if (root->p && file_is_dir(&c->mem, *root))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a directory", STR_ARG(dir));
	return call_step(c, "Give --dir (or BB_DIR) an existing project directory.");
}

/* What is at a path. */
struct entry {
	bool there;        /* a link that leads to nothing is not */
	bool folder, file; /* what it leads to; a pipe or a device is neither */
	bool link;
	uid_t owner; /* of the link itself, where it is one */
};

static enum err look_failed(struct call *c, struct str path)
{
	return errno == ENOENT || errno == ENOTDIR ? ERR_OK :
						     file_fail(c, "look at", path);
}

/* A look that fails is an error, never "nothing is there". */
static enum err look(struct call *c, struct str dir, struct str name, struct entry *out)
{
	struct str path = path_join(&c->mem, dir, name);
	struct stat st;

	*out = (struct entry){ 0 };
	if (lstat(arena_cstr(&c->mem, path), &st))
		return look_failed(c, path);
	out->owner = st.st_uid;
	out->link = S_ISLNK(st.st_mode);
	if (out->link && stat(arena_cstr(&c->mem, path), &st))
		return look_failed(c, path);
	out->there = true;
	out->folder = S_ISDIR(st.st_mode);
	out->file = S_ISREG(st.st_mode);
	return ERR_OK;
}

/* --- the repository around a folder --- */

static enum err is_gitdir(struct call *c, struct str dir, bool *yes)
{
	struct entry head;
	enum err e = look(c, dir, STR("HEAD"), &head);

	*yes = head.there;
	return e;
}

static enum err is_bare(struct call *c, struct str dir, bool *yes)
{
	struct entry objects = { 0 }, refs = { 0 };
	enum err e = is_gitdir(c, dir, yes);

	if (!e && *yes && !(e = look(c, dir, STR("objects"), &objects)))
		e = look(c, dir, STR("refs"), &refs);
	*yes = objects.folder && refs.folder;
	return e;
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

/* What ".git" of `repo->tree` leads to. */
static enum err find_main(struct call *c, struct repository *repo, struct entry dot_git)
{
	repo->main = repo->tree;
	repo->gitdir = repo->common = path_join(&c->mem, repo->tree, STR(".git"));
	return dot_git.folder ? ERR_OK : read_link(c, repo->gitdir, repo);
}

/* Part of a repository that belongs to somebody else; absent: all of it is the user's. */
struct foreign {
	struct str path;
	uid_t owner;
};

static bool is_foreign(struct call *c, struct str path, struct foreign *out)
{
	struct stat st;

	if (lstat(arena_cstr(&c->mem, path), &st) || owner_is_user(st.st_uid))
		return false;
	*out = (struct foreign){ path, st.st_uid };
	return true;
}

/* As Git checks it: ".git", the folder it is in, and what it leads to if it is a file.
 * What safe.directory lists is as good as the user's. */
static struct foreign find_foreign(struct call *c, const struct repository *repo,
				   struct entry dot_git)
{
	struct foreign found = { 0 };

	if (!owner_is_user(dot_git.owner))
		found = (struct foreign){ path_join(&c->mem, repo->tree, STR(".git")),
					  dot_git.owner };
	else if (!is_foreign(c, repo->tree, &found) && dot_git.file)
		is_foreign(c, repo->gitdir, &found);
	if (found.path.p && owner_listed_safe(c, repo->tree))
		found = (struct foreign){ 0 };
	return found;
}

/* What a folder has as ".git". */
struct candidate {
	struct repository repo; /* absent: nothing */
	struct foreign foreign;
	bool usable; /* Git takes it for a repository */
	bool plain;  /* no link leads to its Git directory */
};

/* What another user does not let us look at may well be a repository. */
static enum err inspect(struct call *c, struct str dir, struct candidate *out)
{
	struct entry dot_git;
	enum err e = look(c, dir, STR(".git"), &dot_git);

	*out = (struct candidate){ 0 };
	if (e || (!dot_git.folder && !dot_git.file))
		return e;
	out->plain = dot_git.folder && !dot_git.link;
	out->repo.tree = dir;
	if (!(e = find_main(c, &out->repo, dot_git)))
		e = is_gitdir(c, out->repo.gitdir, &out->usable);
	out->foreign = find_foreign(c, &out->repo, dot_git);
	if (e && out->foreign.path.p) {
		out->usable = true;
		e = c->code = ERR_OK;
	}
	return e;
}

/*
 * The nearest worktree around the user, whether or not Git could use it. Another user's
 * ".git" that Git could not use is passed over: it must not choose the project's root.
 */
static enum err find_repository(struct call *c, struct candidate *out)
{
	struct str dir = c->dir;
	enum err e;

	while (!(e = inspect(c, dir, out)) &&
	       (!out->repo.tree.p || (out->foreign.path.p && !out->usable))) {
		*out = (struct candidate){ 0 };
		if (dir.n <= 1)
			break;
		dir = path_parent(dir);
	}
	return e;
}

static enum err refuse(struct call *c, const struct candidate *found)
{
	return owner_refuse(c, found->foreign.path, found->foreign.owner,
			    found->repo.tree);
}

/* The repository whose worktree has `dir` as its root; absent: that is none. */
static enum err find_at(struct call *c, struct str dir, struct repository *out,
			bool *plain)
{
	struct candidate found;
	enum err e = inspect(c, dir, &found);

	*out = (struct repository){ 0 };
	if (e || !found.usable)
		return e;
	*out = found.repo;
	*plain = found.plain;
	return found.foreign.path.p ? refuse(c, &found) : ERR_OK;
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
	struct foreign foreign;
	bool refused = false;

	*out = (struct repository){ tree_of_gitdir(dir), tree_of_gitdir(dir), dir, dir };
	if (is_foreign(c, dir, &foreign) && !owner_listed_safe(c, dir))
		return owner_refuse(c, dir, foreign.owner, dir);
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
	bool found;
	enum err e;

	for (;; dir = path_parent(dir)) {
		if ((e = find_at(c, dir, out, plain)) || out->common.p)
			return e;
		if (!bare.p && (e = is_bare(c, dir, &found)))
			return e;
		if (!bare.p && found)
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
	bool usable;
	enum err e = is_gitdir(c, gitdir, &usable);

	*out = (struct repository){ tree, tree, gitdir, gitdir };
	if (e || usable)
		return e ? e : find_shared(c, out);
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

/* --- the project's folders --- */

/* A folder that was looked for. */
struct found {
	struct str root; /* absent: it was not found */
	struct entry entry;
};

static enum err find_in(struct call *c, struct str dir, struct str name,
			struct found *out)
{
	enum err e = look(c, dir, name, &out->entry);

	out->root = out->entry.folder ? dir : (struct str){ 0 };
	return e;
}

/* In the first folder from `dir` upwards that has it, not above `top`. */
static enum err search(struct call *c, struct str dir, struct str top, struct str name,
		       struct found *out)
{
	enum err e;

	while (!(e = find_in(c, dir, name, out)) && !out->root.p) {
		if (str_eq(dir, top) || dir.n <= 1)
			break;
		dir = path_parent(dir);
	}
	return e;
}

static enum err search_around(struct call *c, struct str name, struct found *out)
{
	struct candidate around;
	enum err e = find_repository(c, &around);

	if (e)
		return e;
	if (around.repo.tree.p) {
		if ((e = search(c, c->dir, around.repo.tree, name, out)) || out->root.p)
			return e;
		if (around.foreign.path.p)
			return refuse(c, &around);
		if ((e = find_in(c, around.repo.main, name, out)) || out->root.p)
			return e;
	}
	return search(c, c->dir, STR("/"), name, out);
}

/* The folder has to be the user's, and so has what it leads to where it is a link. */
static enum err check_folder(struct call *c, struct str name, const struct found *found)
{
	struct str path = path_join(&c->mem, found->root, name);
	uid_t owner = found->entry.owner;
	struct stat st;

	if (owner_is_user(owner) && found->entry.link &&
	    !stat(arena_cstr(&c->mem, path), &st))
		owner = st.st_uid;
	if (owner_is_user(owner) || owner_listed_safe(c, found->root))
		return ERR_OK;
	owner_refuse(c, path, owner, found->root);
	return call_step(c, "Use --dir to name another project. " STR_FMT,
			 STR_ARG(c->step));
}

enum err place_find(struct call *c, struct str name, struct str *root)
{
	struct found found = { 0 };
	struct str dir;
	enum err e;

	*root = (struct str){ 0 };
	if (!c->project.p)
		e = search_around(c, name, &found);
	else if (!(e = named(c, &dir)))
		e = find_in(c, dir, name, &found);
	if (e || !found.root.p)
		return e;
	*root = found.root;
	return check_folder(c, name, &found);
}

enum err place_new(struct call *c, struct str name, struct str *root)
{
	struct candidate around;
	struct str found, main;
	enum err e;

	if ((e = place_find(c, name, &found)))
		return e;
	if (c->project.p)
		return named(c, root);
	if ((e = find_repository(c, &around)))
		return e;
	main = around.repo.main;
	if (found.p &&
	    (!main.p || path_within(around.repo.tree, found) || str_eq(found, main)))
		*root = found;
	else
		*root = main.p ? main : c->dir;
	return ERR_OK;
}

enum err place_tree(struct call *c, struct str root, struct str *tree)
{
	struct candidate around;
	enum err e = find_repository(c, &around);

	*tree = root;
	if (!e && around.repo.tree.p && !around.foreign.path.p &&
	    str_eq(around.repo.main, root))
		*tree = around.repo.tree;
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
