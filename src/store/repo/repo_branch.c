#include <git2.h>

#include "base/system/path.h"
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
			    git_commit *head, git_reference **out)
{
	const char *name = arena_cstr(&c->mem, branch->name);
	int code = git_branch_lookup(out, r->git, name, GIT_BRANCH_LOCAL);

	return code == GIT_ENOTFOUND ? git_branch_create(out, r->git, name, head, 0) : code;
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

/* A worktree is named after the last part of its path. One that exists at that path is used. */
static int repo_branch_worktree(struct call *c, struct repo *r, const struct repo_branch *branch,
				git_reference *ref)
{
	const char *name = arena_cstr(&c->mem, path_name(branch->path));
	git_worktree_add_options options;
	git_worktree *tree = NULL;
	int code = git_worktree_lookup(&tree, r->git, name);

	if (!code && !git_worktree_validate(tree) &&
	    str_is(branch->path, git_worktree_path(tree))) {
		git_worktree_free(tree);
		return 0;
	}
	git_worktree_free(tree);
	git_worktree_add_options_init(&options, GIT_WORKTREE_ADD_OPTIONS_VERSION);
	options.ref = ref;
	options.checkout_options.checkout_strategy = GIT_CHECKOUT_SAFE;
	code = git_worktree_add(&tree, r->git, name, arena_cstr(&c->mem, branch->path), &options);
	git_worktree_free(tree);
	return code;
}

enum err repo_branch(struct call *c, struct repo *r, struct repo_branch *branch)
{
	git_commit *head = NULL;
	git_reference *ref = NULL;
	enum err e = ERR_OK;

	if (!repo_head_commit(r, &head)) {
		branch->note = STR("the repository has no commit yet, so no branch was made");
		return ERR_OK;
	}
	if (repo_branch_make(c, r, branch, head, &ref))
		e = repo_fail(c, ERR_INVALID_INPUT, "make the branch", branch->name);
	else if (branch->path.p && repo_branch_worktree(c, r, branch, ref))
		e = repo_fail(c, ERR_INVALID_INPUT, "make the worktree", branch->path);
	else if (branch->checkout && repo_branch_checkout(r, branch, head, ref))
		e = repo_fail(c, ERR_INVALID_INPUT, "check out the branch", branch->name);
	git_reference_free(ref);
	git_commit_free(head);
	return e;
}
