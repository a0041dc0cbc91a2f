/*
 * Finds the Git repository that a command works on: the named one, or the nearest one found by
 * walking up from a folder. Each folder's ".git" is inspected as Git would do it, including its
 * owner; the call caches the last worktree that was found.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/utf8.h"
#include "store/git/git_config.h"
#include "store/owner.h"
#include "store/place_parts.h"

static enum err look_failed(struct call *c, struct str path)
{
	return errno == ENOENT || errno == ENOTDIR ? ERR_OK : file_fail(c, "look at", path);
}

enum err entry_look(struct call *c, struct str dir, struct str name, struct entry *out)
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

/* --- Git directories --- */

static enum err is_gitdir(struct call *c, struct str dir, bool *yes)
{
	struct entry head;
	enum err e = entry_look(c, dir, STR("HEAD"), &head);

	*yes = head.there;
	return e;
}

static enum err place_repository_is_bare(struct call *c, struct str dir, bool *yes)
{
	struct entry objects = { 0 }, refs = { 0 };
	enum err e = is_gitdir(c, dir, yes);

	if (!e && *yes && !(e = entry_look(c, dir, STR("objects"), &objects)))
		e = entry_look(c, dir, STR("refs"), &refs);
	*yes = objects.folder && refs.folder;
	return e;
}

static struct str tree_of_gitdir(struct str gitdir)
{
	return str_is(path_name(gitdir), ".git") ? path_parent(gitdir) : gitdir;
}

/*
 * Removes the line end. Everything else is part of the path, as in Git: a folder's name may end
 * with a blank.
 */
static struct str path_line(struct str text)
{
	while (text.n && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
		text.n--;
	return text;
}

/* The Git directory of a linked worktree names the shared one in its file "commondir". */
static enum err find_shared(struct call *c, struct repository *repo)
{
	struct str text;
	enum err e = file_read(c, path_join(&c->mem, repo->gitdir, STR("commondir")), &text);

	repo->common = repo->gitdir;
	if (e || !text.p)
		return e;
	repo->common = path_resolve(&c->mem, repo->gitdir, path_line(text));
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
	repo->gitdir = path_resolve(&c->mem, repo->tree, path_line(str_skip(text, 8)));
	return find_shared(c, repo);
}

/* Follows the ".git" of `repo->tree`. */
static enum err find_main(struct call *c, struct repository *repo, struct entry dot_git)
{
	repo->main = repo->tree;
	repo->gitdir = repo->common = path_join(&c->mem, repo->tree, STR(".git"));
	return dot_git.folder ? ERR_OK : read_link(c, repo->gitdir, repo);
}

static bool place_repository_is_foreign(struct call *c, struct str path, struct foreign *out)
{
	struct stat st;

	if (lstat(arena_cstr(&c->mem, path), &st) || owner_is_user(st.st_uid))
		return false;
	*out = (struct foreign){ path, st.st_uid };
	return true;
}

/*
 * The same checks as in Git: the owner of ".git", of its folder, and of the target if ".git" is a
 * file. A worktree listed in safe.directory is trusted.
 */
static struct foreign find_foreign(struct call *c, const struct repository *repo,
				   struct entry dot_git)
{
	struct foreign found = { 0 };

	if (!owner_is_user(dot_git.owner))
		found = (struct foreign){ path_join(&c->mem, repo->tree, STR(".git")),
					  dot_git.owner };
	else if (!place_repository_is_foreign(c, repo->tree, &found) && dot_git.file)
		place_repository_is_foreign(c, repo->gitdir, &found);
	if (found.path.p && owner_listed_safe(c, repo->tree))
		found = (struct foreign){ 0 };
	return found;
}

/* If another user's ".git" cannot be read, it may still be a repository, so it counts as usable. */
static enum err inspect_anew(struct call *c, struct str dir, struct candidate *out)
{
	struct entry dot_git;
	enum err e = entry_look(c, dir, STR(".git"), &dot_git);

	*out = (struct candidate){ 0 };
	if (dot_git.link && !dot_git.there && owner_is_user(dot_git.owner))
		out->dangling = dir;
	if (e || (!dot_git.folder && !dot_git.file))
		return e;
	out->plain = dot_git.folder && !dot_git.link;
	out->repo.tree = dir;
	if (!(e = find_main(c, &out->repo, dot_git)))
		e = is_gitdir(c, out->repo.gitdir, &out->usable);
	out->foreign = find_foreign(c, &out->repo, dot_git);
	if (e && out->foreign.path.p) {
		out->usable = true;
		e = call_forgive(c);
	}
	return e;
}

/* Several parts of a command search for the same repository, so the last result is cached. */
static enum err place_repository_inspect(struct call *c, struct str dir, struct candidate *out)
{
	struct candidate *known;
	enum err e;

	if (c->seen.worktree && str_eq(c->seen.worktree->repo.tree, dir)) {
		*out = *c->seen.worktree;
		return ERR_OK;
	}
	if ((e = inspect_anew(c, dir, out)) || !out->repo.tree.p)
		return e;
	known = arena_new(&c->mem, struct candidate);
	*known = *out;
	known->repo.tree = arena_copy(&c->mem, dir);
	c->seen.worktree = known;
	return ERR_OK;
}

/*
 * Is `found` another user's worktree around the user's own bare repository, in which `from` is?
 * Anybody can make one in a folder like /tmp, so it does not count. Only the owner of ".git"
 * decides: in a folder of another user, the user may have made a checkout that contains the bare
 * repository.
 */
static enum err is_around_own_bare(struct call *c, struct str from, const struct candidate *found,
				   bool *yes)
{
	struct str tree = found->repo.tree;
	struct foreign ignored;
	enum err e = ERR_OK;

	*yes = false;
	if (!found->foreign.path.p ||
	    !str_eq(found->foreign.path, path_join(&c->mem, tree, STR(".git"))))
		return ERR_OK;
	for (; !e && !*yes && from.n > tree.n; from = path_parent(from))
		if (!place_repository_is_foreign(c, from, &ignored))
			e = place_repository_is_bare(c, from, yes);
	return e;
}

/* Does the search from a folder end here? */
static enum err candidate_counts(struct call *c, struct str from, const struct candidate *found,
				 bool *yes)
{
	bool skipped = false;
	enum err e = ERR_OK;

	*yes = found->repo.tree.p && (found->usable || !found->foreign.path.p);
	if (*yes)
		e = is_around_own_bare(c, from, found, &skipped);
	*yes = *yes && !skipped;
	return e;
}

enum err candidate_around(struct call *c, struct str dir, struct candidate *out)
{
	struct str dangling = { 0 }, from = dir;
	bool counts;
	enum err e;

	while (!(e = place_repository_inspect(c, dir, out)) &&
	       !(e = candidate_counts(c, from, out, &counts)) && !counts) {
		dangling = dangling.p ? dangling : out->dangling;
		*out = (struct candidate){ 0 };
		if (dir.n <= 1)
			break;
		dir = path_parent(dir);
	}
	out->dangling = dangling;
	return e;
}

enum err candidate_find(struct call *c, struct candidate *out)
{
	return candidate_around(c, c->dir, out);
}

enum err candidate_refuse(struct call *c, const struct candidate *found)
{
	return owner_refuse(c, found->foreign.path, found->foreign.owner, found->repo.tree);
}

/*
 * Is the folder inside a ".git"? Git never checks out a file with that name, so no commit created
 * it.
 */
static bool in_dot_git(struct str dir)
{
	return str_is(path_name(dir), ".git") || str_has(dir, STR("/.git/"));
}

static void see_bare(void *arg, struct str name, struct str value)
{
	if (str_is(name, "safe.barerepository"))
		*(bool *)arg = str_is(value, "explicit");
}

/* Uses a bare repository that was found by the search, not named. */
static enum err use_bare(struct call *c, struct str dir, struct repository *out)
{
	struct foreign foreign;
	bool refused = false;

	*out = (struct repository){ tree_of_gitdir(dir), tree_of_gitdir(dir), dir, dir };
	if (place_repository_is_foreign(c, dir, &foreign) && !owner_listed_safe(c, dir))
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
			 STR_ARG(spawn_word(&c->mem, dir)));
}

/* Refuses a bare repository below a ".git" that Git cannot use: it may come from a checkout. */
static enum err doubt_bare(struct call *c, struct str bare, struct str tree)
{
	call_fail(c, ERR_NOT_A_REPOSITORY,
		  "'" STR_FMT "/.git' is damaged, and '" STR_FMT
		  "', which looks like a bare repository, may be one of its files",
		  STR_ARG(tree), STR_ARG(bare));
	return call_step(c, "If it is your own, run: export GIT_DIR=" STR_FMT,
			 STR_ARG(spawn_word(&c->mem, bare)));
}

/*
 * The nearest worktree, else the nearest bare repository. A folder of a worktree that looks like a
 * bare repository may come from a commit, with settings that run programs, so the repository around
 * it is used instead.
 */
static enum err search_repository(struct call *c, struct str dir, struct repository *out,
				  bool *plain)
{
	struct str bare = { 0 }, from = dir;
	struct candidate found;
	bool here, skipped;
	enum err e;

	for (;; dir = path_parent(dir)) {
		if ((e = place_repository_inspect(c, dir, &found)) ||
		    (e = is_around_own_bare(c, from, &found, &skipped)))
			return e;
		*out = found.repo;
		*plain = found.plain;
		if (found.usable && !skipped)
			return found.foreign.path.p ? candidate_refuse(c, &found) : ERR_OK;
		if (!bare.p && (e = place_repository_is_bare(c, dir, &here)))
			return e;
		if (!bare.p && here)
			bare = dir;
		if (bare.p && found.repo.tree.p && !found.foreign.path.p)
			return doubt_bare(c, bare, dir);
		if (dir.n <= 1 || (bare.p && in_dot_git(bare)))
			break;
	}
	*out = (struct repository){ 0 };
	*plain = true;
	return bare.p ? use_bare(c, bare, out) : ERR_OK;
}

/* --- named Git directories --- */

/* Like ".git", the path may be a file that names the folder. */
static enum err follow_file(struct call *c, struct str *gitdir)
{
	struct entry found;
	struct str text = { 0 };
	enum err e = entry_look(c, path_parent(*gitdir), path_name(*gitdir), &found);

	if (!e && found.file)
		e = file_read(c, *gitdir, &text);
	if (!e && str_starts(text, STR("gitdir: ")))
		*gitdir = path_resolve(&c->mem, path_parent(*gitdir), path_line(str_skip(text, 8)));
	return e;
}

static enum err use_gitdir(struct call *c, struct str gitdir, struct repository *out)
{
	struct str tree = tree_of_gitdir(gitdir);
	bool usable = false;
	enum err e = follow_file(c, &gitdir);

	if (!e)
		e = is_gitdir(c, gitdir, &usable);
	*out = (struct repository){ tree, tree, gitdir, gitdir };
	if (e || usable)
		return e ? e : find_shared(c, out);
	return call_fail(c, ERR_NOT_A_REPOSITORY, "'" STR_FMT "' is not a Git directory",
			 STR_ARG(gitdir));
}

struct worktree_settings {
	bool bare;
	bool own; /* the worktree has its own configuration file */
	struct str worktree;
};

static void see_worktree(void *arg, struct str name, struct str value)
{
	struct worktree_settings *s = arg;

	if (str_is(name, "core.bare"))
		s->bare = !value.p || str_is(value, "true") || str_is(value, "1");
	else if (str_is(name, "core.worktree"))
		s->worktree = value;
	else if (str_is(name, "extensions.worktreeconfig"))
		s->own = !value.p || str_is(value, "true") || str_is(value, "1");
}

static enum err read_settings(struct call *c, const struct repository *repo,
			      struct worktree_settings *out)
{
	struct str text;
	enum err e = file_read(c, path_join(&c->mem, repo->common, STR("config")), &text);

	*out = (struct worktree_settings){ 0 };
	if (!e)
		git_config_parse(&c->mem, text, see_worktree, out);
	if (!e && out->own &&
	    !(e = file_read(c, path_join(&c->mem, repo->gitdir, STR("config.worktree")), &text)))
		git_config_parse(&c->mem, text, see_worktree, out);
	return e;
}

enum err place_is_bare(struct call *c, const struct repository *repo, bool *yes)
{
	struct worktree_settings s;
	enum err e = read_settings(c, repo, &s);

	*yes = !e && s.bare && str_eq(repo->gitdir, repo->common);
	return e;
}

/* Git's rule if GIT_DIR is set: GIT_WORK_TREE, else core.worktree, else the current folder. */
static enum err place_repository_find_worktree(struct call *c, struct repository *repo)
{
	const char *named = getenv("GIT_WORK_TREE");
	struct worktree_settings s;
	bool linked = !str_eq(repo->gitdir, repo->common);
	enum err e = read_settings(c, repo, &s);

	if (e)
		return e;
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

enum err place_of_setting(struct call *c, const struct repository *repo, struct str *tree)
{
	struct worktree_settings s;
	enum err e = read_settings(c, repo, &s);

	*tree = STR_NONE;
	if (!e && s.worktree.n && str_eq(repo->gitdir, repo->common))
		*tree = path_real(&c->mem, path_resolve(&c->mem, repo->gitdir, s.worktree));
	return e;
}

/* GIT_DIR, unless the user named a project. */
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
	return place_repository_find_worktree(c, out);
}

void place_of_variables(struct call *c, struct repository *out)
{
	const char *gitdir = getenv("GIT_DIR"), *tree = getenv("GIT_WORK_TREE");
	struct candidate around = { 0 };
	enum err e = ERR_OK;

	*out = (struct repository){ 0 };
	if (gitdir && *gitdir) {
		e = use_variable(c, gitdir, out);
	} else if (tree && *tree && !(e = candidate_find(c, &around)) && around.usable) {
		*out = around.repo;
		out->tree = path_resolve(&c->mem, c->dir, str_of(tree));
	}
	call_forgive(c);
	if (!e && out->tree.p && !str_eq(out->tree, out->gitdir))
		out->tree = path_real(&c->mem, out->tree);
	if (e || str_eq(out->tree, out->gitdir))
		out->tree = STR_NONE;
}

/* --- interface --- */

static enum err place_repository_find(struct call *c, struct str dir, struct repository *out,
				      bool *plain)
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
	out->common = path_real_beside(&c->mem, c->real, out->common);
	if (out->common.p)
		return ERR_OK;
	return call_fail(c, ERR_NOT_A_REPOSITORY,
			 "'" STR_FMT "' points to a Git directory that does not exist",
			 STR_ARG(out->tree));
}

/* Links are resolved first: the folders above a link's target are different ones. */
enum err place_repository(struct call *c, struct str dir, struct repository *out)
{
	struct str real = path_real_beside(&c->mem, c->real, dir);
	bool plain;
	enum err e = place_repository_find(c, real.p ? real : dir, out, &plain);

	return e || !out->common.p ? e : find_common(c, out);
}

enum err place_repository_real(struct call *c, struct str dir, struct repository *out)
{
	bool plain;
	enum err e = place_repository_find(c, dir, out, &plain);

	return e || !out->common.p || plain ? e : find_common(c, out);
}

bool place_is_reserved(struct call *c, struct str root, struct str path)
{
	struct repository repo = { 0 };
	bool yes = path_is_reserved(str_skip(path, root.n));

	if (!yes && !place_repository(c, root, &repo) && repo.common.p)
		yes = path_within(repo.common, path) ||
		      path_within(path_real(&c->mem, repo.gitdir), path);
	for (; !yes && path.n > root.n; path = path_parent(path))
		yes = place_repository_is_bare(c, path, &yes) || yes;
	call_forgive(c);
	return yes;
}

enum err place_branch(struct call *c, const struct repository *repo, struct str *out)
{
	struct str head;
	enum err e = file_read(c, path_join(&c->mem, repo->gitdir, STR("HEAD")), &head);

	head = str_trim(head);
	*out = STR_NONE;
	if (!e && str_starts(head, STR("ref: refs/heads/")) && utf8_valid(head) &&
	    !str_is(head, "ref: refs/heads/.invalid")) /* the placeholder of the reftable format */
		*out = str_skip(head, sizeof "ref: refs/heads/" - 1);
	return e;
}

/* The value of a ref in `packed-refs`; absent: not listed. */
static struct str packed_ref(struct str text, struct str name)
{
	struct str line;

	while (text.n && str_next(&text, '\n', &line))
		if (line.n > 41 && str_eq(str_skip(line, 41), name))
			return str_head(line, 40);
	return STR_NONE;
}

struct str place_ref(struct call *c, const struct repository *repo, struct str name)
{
	struct str text, found = { 0 };

	if (!file_read(c, path_join(&c->mem, repo->common, name), &text) && text.p)
		return str_trim(text);
	if (!file_read(c, path_join(&c->mem, repo->common, STR("packed-refs")), &text))
		found = packed_ref(text, name);
	call_forgive(c);
	return found;
}

struct str place_head(struct call *c, const struct repository *repo)
{
	enum { HASH_LEAST = 40 };
	struct str head, ref = STR("ref: ");

	if (file_read(c, path_join(&c->mem, repo->gitdir, STR("HEAD")), &head)) {
		call_forgive(c);
		return STR_NONE;
	}
	head = str_trim(head);
	if (str_starts(head, ref))
		return place_ref(c, repo, str_skip(head, ref.n));
	return head.n >= HASH_LEAST ? head : STR_NONE;
}

bool place_has_ref(struct call *c, const struct repository *repo, struct str name)
{
	struct file_found loose;
	struct str text = { 0 };
	enum err e = file_look(c, path_join(&c->mem, repo->common, name), &loose);

	if (!e && loose.kind != FILE_OTHER)
		e = file_read(c, path_join(&c->mem, repo->common, STR("packed-refs")), &text);
	call_forgive(c);
	return e || loose.kind == FILE_OTHER || packed_ref(text, name).p;
}
