#include <git2.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "store/repo/repo_parts.h"

/* The commit of HEAD; false: there is none yet. */
static bool repo_head_commit(struct repo *r, git_commit **out)
{
	git_oid oid;

	return !git_reference_name_to_id(&oid, r->git, "HEAD") &&
	       !git_commit_lookup(out, r->git, &oid);
}

/* The branch, which is made if it does not exist. */
static int repo_branch_make(struct call *c, struct repo *r, const struct repo_branch *branch,
			    git_commit *head, git_reference **out, bool *made)
{
	const char *name = arena_cstr(&c->mem, branch->name);
	int code = git_branch_lookup(out, r->git, name, GIT_BRANCH_LOCAL);

	*made = code == GIT_ENOTFOUND;
	return *made ? git_branch_create(out, r->git, name, head, 0) : code;
}

/*
 * Git keeps branches in files, so there is no branch "work/a" beside a branch "work" or "work/a/b".
 * The branch that is in the way of this one; or absent.
 */
static struct str repo_branch_in_way(struct call *c, struct repo *r, struct str name)
{
	git_branch_iterator *all = NULL;
	git_reference *ref;
	git_branch_t type;
	struct str found = STR_NONE;

	if (git_branch_iterator_new(&all, r->git, GIT_BRANCH_LOCAL))
		return found;
	while (!found.p && !git_branch_next(&ref, &type, all)) {
		struct str other = str_of(git_reference_shorthand(ref));

		if (!str_eq(other, name) && (path_within(other, name) || path_within(name, other)))
			found = arena_copy(&c->mem, other);
		git_reference_free(ref);
	}
	git_branch_iterator_free(all);
	return found;
}

static enum err repo_branch_refuse(struct call *c, struct repo *r, const struct repo_branch *branch)
{
	enum err e = repo_fail(c, ERR_INVALID_INPUT, "make the branch", branch->name);
	struct str other = repo_branch_in_way(c, r, branch->name);

	if (!other.p)
		return e;
	call_fail(c, ERR_ALREADY_EXISTS,
		  "cannot make the branch '" STR_FMT "': a branch '" STR_FMT "' is in the way",
		  STR_ARG(branch->name), STR_ARG(other));
	return call_step(
		c, "%s: git branch -m " STR_FMT " " STR_FMT,
		branch->path.p ? "Rename that branch" :
				 "Work without a branch (--no-branch), or rename that one",
		STR_ARG(spawn_word(&c->mem, other)),
		STR_ARG(spawn_word(&c->mem, arena_fmt(&c->mem, "old-" STR_FMT, STR_ARG(other)))));
}

static int repo_branch_checkout(struct repo *r, struct repo_branch *branch, git_commit *head,
				const git_reference *ref)
{
	if (git_repository_state(r->git) != GIT_REPOSITORY_STATE_NONE) {
		branch->note = STR("a merge or a rebase is under way, so HEAD was not moved");
		return 0;
	}
	if (!git_oid_equal(git_commit_id(head), git_reference_target(ref))) {
		branch->note = STR("the branch exists at another commit, so HEAD was not moved");
		return 0;
	}
	return git_repository_set_head(r->git, git_reference_name(ref));
}

/* Is this a folder of this user? In a folder like /tmp, nobody else can replace it then. */
static bool repo_worktree_is_own(struct call *c, struct str path)
{
	struct stat st;

	return !lstat(arena_cstr(&c->mem, path), &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid();
}

/* Does the worktree exist at that path, in a folder of this user? */
static bool repo_worktree_found(struct call *c, struct repo *r, const char *name, struct str path)
{
	git_worktree *tree = NULL;
	bool found = !git_worktree_lookup(&tree, r->git, name) && !git_worktree_validate(tree) &&
		     str_is(path, git_worktree_path(tree)) && repo_worktree_is_own(c, path);

	git_worktree_free(tree);
	return found;
}

/*
 * A free name for a worktree, and the folder `at` in which Git keeps its files: the last part of
 * the path, with a number if that is taken. Files about a worktree that was at the same path are
 * removed.
 */
static struct str repo_worktree_name(struct call *c, struct repo *r, struct str path,
				     struct str *at)
{
	struct str folder = path_join(&c->mem, str_of(git_repository_commondir(r->git)),
				      STR("worktrees")),
		   name = path_name(path);

	for (int n = 1;; n++) {
		git_worktree *tree = NULL;

		*at = path_join(&c->mem, folder, name);
		if (!git_worktree_lookup(&tree, r->git, arena_cstr(&c->mem, name)) &&
		    str_is(path, git_worktree_path(tree)))
			git_worktree_prune(tree, NULL);
		git_worktree_free(tree);
		if (!file_exists(&c->mem, *at))
			return name;
		name = arena_fmt(&c->mem, STR_FMT "-%d", STR_ARG(path_name(path)), n);
	}
}

/*
 * If libgit2 fails to make a worktree, it leaves parts of it behind, which would stop every later
 * attempt. The folder is removed if its .git file shows that libgit2 made it, or if it is empty.
 * Another user may have made it at the last moment, with any such file in it.
 */
static void repo_worktree_undo(struct call *c, struct str path, struct str at)
{
	struct call before = call_save(c);
	struct str text, ours = arena_fmt(&c->mem, "gitdir: " STR_FMT "/\n", STR_ARG(at));

	if (repo_worktree_is_own(c, path)) {
		if (!file_own_read(c, path_join(&c->mem, path, STR(".git")), &text) &&
		    str_eq(text, ours))
			file_remove_tree(c, path);
		else
			rmdir(arena_cstr(&c->mem, path));
	}
	file_remove_tree(c, at);
	call_restore(c, &before);
}

/* libgit2 writes the index of a worktree when all files are there. */
static bool repo_worktree_is_finished(struct call *c, struct repo *r, struct str name)
{
	struct str at = arena_fmt(&c->mem, "%sworktrees/" STR_FMT "/index",
				  git_repository_commondir(r->git), STR_ARG(name));

	return file_exists(&c->mem, at);
}

/*
 * A killed command has left some of the files. To Git, the others would be deleted. They may have
 * been edited, so they are kept.
 */
static enum err repo_worktree_set_aside(struct call *c, struct repo *r, struct repo_branch *branch)
{
	git_worktree_prune_options all = GIT_WORKTREE_PRUNE_OPTIONS_INIT;
	struct str aside = path_unused(&c->mem, branch->path, "unfinished");
	git_worktree *tree = NULL;
	int code = git_worktree_lookup(&tree, r->git, arena_cstr(&c->mem, path_name(branch->path)));

	all.flags = GIT_WORKTREE_PRUNE_VALID | GIT_WORKTREE_PRUNE_LOCKED;
	if (!code && rename(arena_cstr(&c->mem, branch->path), arena_cstr(&c->mem, aside))) {
		git_worktree_free(tree);
		return file_fail(c, "move away", branch->path);
	}
	if (!code)
		code = git_worktree_prune(tree, &all);
	git_worktree_free(tree);
	branch->note =
		arena_fmt(&c->mem,
			  "a command that made this worktree was killed; what it had made is "
			  "now '" STR_FMT "'",
			  STR_ARG(aside));
	return code ? repo_fail(c, ERR_INTERNAL_ERROR, "forget the worktree", branch->path) :
		      ERR_OK;
}

/* Makes the worktree, unless it exists at that path. */
static enum err repo_branch_worktree(struct call *c, struct repo *r, struct repo_branch *branch,
				     git_reference *ref)
{
	git_worktree_add_options options;
	git_worktree *tree = NULL;
	struct str path = branch->path, at, name;
	struct stat st;
	enum err e = ERR_OK;

	if (repo_worktree_found(c, r, arena_cstr(&c->mem, path_name(path)), path)) {
		if (repo_worktree_is_finished(c, r, path_name(path)))
			return ERR_OK;
		if ((e = repo_worktree_set_aside(c, r, branch)))
			return e;
	}
	if (!lstat(arena_cstr(&c->mem, path), &st)) {
		call_fail(c, ERR_ALREADY_EXISTS, "'" STR_FMT "' exists already", STR_ARG(path));
		return call_step(c, "Choose another folder for the worktree: --path FOLDER.");
	}
	if (git_branch_is_checked_out(ref) == 1) {
		call_fail(c, ERR_ALREADY_EXISTS, "the branch '%s' is checked out already",
			  git_reference_shorthand(ref));
		return call_step(c, "Switch to another branch there, then run the command again: "
				    "git switch -");
	}
	if ((e = repo_layout_check(c, r, ref)))
		return e;
	name = repo_worktree_name(c, r, path, &at);
	git_worktree_add_options_init(&options, GIT_WORKTREE_ADD_OPTIONS_VERSION);
	options.ref = ref;
	options.checkout_options.checkout_strategy = GIT_CHECKOUT_SAFE;
	if (git_worktree_add(&tree, r->git, arena_cstr(&c->mem, name), arena_cstr(&c->mem, path),
			     &options)) {
		e = repo_fail(c, ERR_INVALID_INPUT, "make the worktree", path);
		repo_worktree_undo(c, path, at);
		call_step(c, "Choose another folder for the worktree: --path FOLDER.");
	}
	git_worktree_free(tree);
	return e;
}

enum err repo_branch(struct call *c, struct repo *r, struct repo_branch *branch)
{
	git_commit *head = NULL;
	git_reference *ref = NULL;
	enum err e = ERR_OK;
	bool made;

	repo_set_umask(r);
	if (!repo_head_commit(r, &head)) {
		branch->note = STR("the repository has no commit yet, so no branch was made");
		return ERR_OK;
	}
	if (repo_branch_make(c, r, branch, head, &ref, &made))
		e = repo_branch_refuse(c, r, branch);
	else if (branch->path.p)
		e = repo_branch_worktree(c, r, branch, ref);
	else if (branch->checkout && repo_branch_checkout(r, branch, head, ref))
		e = repo_fail(c, ERR_INVALID_INPUT, "check out the branch", branch->name);
	if (e && made && ref)
		git_branch_delete(ref);
	git_reference_free(ref);
	git_commit_free(head);
	return e;
}
