#ifndef STORE_REPO_REPO_PARTS_H
#define STORE_REPO_REPO_PARTS_H

#include <git2.h>

#include "store/repo/repo.h"

/* What the files that talk to remotes share; nobody else needs it. */

enum { REPO_HAVES = 2 };

/* From now on libgit2 sees only refs at these commits; until repo_show_all(), which has to be
 * called in any case. */
int repo_show_only(git_repository *git, const struct str *commits, size_t count,
		   git_refdb **before);
void repo_show_all(git_repository *git, git_refdb *before);

/*
 * Gets what a commit of another folder has and we lack; not beyond the commits in `known`, which
 * we have whole.
 */
int repo_copy_from(struct repo *there, struct repo *here, struct str commit,
		   const struct str *known, size_t count);

#endif
