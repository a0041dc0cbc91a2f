#ifndef STORE_REPO_REPO_PARTS_H
#define STORE_REPO_REPO_PARTS_H

#include <git2.h>

#include "store/repo/repo.h"

/* What the files of this folder share; nobody else needs it. */

enum { REPO_HAVES = 2 };

struct repo {
	git_repository *git;
	git_odb *odb;
	int64_t file_most;
	git_odb_object **held; /* whose content somebody reads */
	size_t held_count;
	git_odb *own;      /* the user's objects, while what was fetched is kept apart; or NULL */
	struct call *call; /* that keeps it apart */
	struct str haves[REPO_HAVES]; /* commits that were here before the fetch; or absent */
};

/* The folder of Git's objects. */
struct str repo_objects(struct call *c, struct repo *r);

/*
 * From now on objects are written to a folder of their own, until repo_admit() or
 * repo_turn_away().
 */
enum err repo_keep_apart(struct call *c, struct repo *r, const struct str haves[REPO_HAVES]);

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

/*
 * The same with the objects of a repository, of a commit that repo_check() has passed. If exactly
 * `most` objects are lacking, nothing is written, and `all` is true.
 */
int repo_copy_objects(git_repository *from, git_odb *to, struct str commit, const struct str *known,
		      size_t count, size_t most, bool *all);

#endif
