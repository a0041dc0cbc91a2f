#ifndef STORE_PLACE_H
#define STORE_PLACE_H

#include "base/call.h"

/*
 * Which project a command works on. The answer is the same from every folder of it, from its
 * linked Git worktrees and through symbolic links.
 */

/*
 * The project's root, whose folder is called `name` (".bb"): the one the user named, else the
 * nearest folder above inside the worktree that has it, else the main worktree (a bare
 * repository: its own folder), else a folder further up. Absent: there is none.
 * DUBIOUS_OWNERSHIP: another user owns it, or the repository that the search would go on with;
 * `root` is where it is, if it is there.
 */
enum err place_find(struct call *c, struct str name, struct str *root);

/*
 * Where one belongs: named, or where it is already, or the main worktree's root, or right here.
 * One that lies outside of the repository does not count.
 */
enum err place_new(struct call *c, struct str name, struct str *root);

/* Where the project's files are, seen from the current folder: a linked worktree, or the root. */
enum err place_tree(struct call *c, struct str root, struct str *tree);

/* The Git repository around a folder. All are absent outside of one. */
struct repository {
	struct str tree;   /* the root of the worktree; of a bare repository, its folder */
	struct str main;   /* the root of the main worktree, or the same */
	struct str gitdir; /* where this worktree's HEAD is */
	struct str common; /* what all worktrees share; after symbolic links */
};
/*
 * The one that the call or GIT_DIR names, else the nearest worktree, else the nearest bare
 * repository. DUBIOUS_OWNERSHIP: another user owns it, and safe.directory does not list it; `out`
 * says which one that is.
 */
enum err place_repository(struct call *c, struct str dir, struct repository *out);

/* The same for a folder whose path has no links: that need not be found out again. */
enum err place_repository_real(struct call *c, struct str dir, struct repository *out);

/*
 * Does a path below `root`, without links, lead into a folder of this program's or a Git
 * directory: the one that is used there, or any other, whatever it is called? A look that fails
 * counts as yes.
 */
bool place_is_reserved(struct call *c, struct str root, struct str path);

/* Where a ref points, by Git's own files; absent: nowhere. For where it matters little. */
struct str place_ref(struct call *c, const struct repository *repo, struct str name);

/*
 * Whether there is a ref of that name, readable or not. A look that fails counts as yes: a ref
 * that cannot be read is never taken for one that is not there.
 */
bool place_has_ref(struct call *c, const struct repository *repo, struct str name);

/* The branch that is checked out; absent if none is. */
enum err place_branch(struct call *c, const struct repository *repo, struct str *out);

#endif
