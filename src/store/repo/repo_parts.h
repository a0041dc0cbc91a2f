#ifndef STORE_REPO_REPO_PARTS_H
#define STORE_REPO_REPO_PARTS_H

#include <git2.h>

#include "base/map.h"
#include "store/repo/repo.h"

/* Shared by the files of this folder only. */

enum { REPO_HAVES = 2 };

/*
 * Commits and trees of our histories have a few hundred bytes. Of larger ones, at most
 * REPO_LARGE_MOST bytes are read in all, because a few bytes of a pack can stand for a folder of a
 * million names.
 */
static const size_t REPO_LARGE = (size_t)8 << 10, REPO_LARGE_MOST = (size_t)64 << 20;

struct repo {
	git_repository *git;
	git_odb *odb;
	int64_t file_most;
	git_odb_object **held; /* objects whose content is in use */
	size_t held_count;
	git_odb *own;                 /* the user's objects, while there is a quarantine; or NULL */
	struct call *call;            /* the call that opened the quarantine */
	struct str haves[REPO_HAVES]; /* commits that existed before the fetch; or absent */
	struct map left_out; /* files and folders that a fetch did not copy; value: size_t */
};

struct str repo_hex(struct arena *mem, const git_oid *oid);
bool repo_oid_of(struct str name, git_oid *out); /* false: not a whole object id */

/* Git's objects folder. */
struct str repo_objects(struct call *c, struct repo *r);

/* Opens the quarantine: objects are written there until repo_quarantine_admit() or repo_quarantine_drop(). */
enum err repo_quarantine_begin(struct call *c, struct repo *r, const struct str haves[REPO_HAVES]);

/*
 * Makes libgit2 see only refs at these commits, until repo_show_all(), which must always be called
 * afterwards.
 */
int repo_show_only(git_repository *git, const struct str *commits, size_t count,
		   git_refdb **before);
void repo_show_all(git_repository *git, git_refdb *before);

/*
 * Copies the objects of a commit in another folder that are missing here. Stops at the commits in
 * `known`, which are complete here. Files and folders that are too large are left out;
 * repo_check() reports them.
 */
int repo_copy_from(struct repo *there, struct repo *here, struct str commit,
		   const struct str *known, size_t count);

/*
 * Like repo_copy_from(), between object databases, for a commit that has passed repo_check(). If
 * `most` objects are missing, which is all of them, nothing is written and `all` is set: the caller
 * can move the pack instead.
 */
int repo_copy_objects(git_repository *from, git_odb *to, struct str commit, const struct str *known,
		      size_t count, size_t most, bool *all);

#endif
