#ifndef STORE_PLACE_H
#define STORE_PLACE_H

#include "base/call.h"

/*
 * Finds the project that a command works on. The result is the same from every folder of the
 * project, from its linked Git worktrees and through symbolic links.
 */

/*
 * Finds the project's root, which contains the folder `name` (".bb"): the root that the user named,
 * else the nearest folder upwards inside the worktree that has it, else the main worktree (for a
 * bare repository, its own folder), else a folder further up. Absent: not found. DUBIOUS_OWNERSHIP:
 * another user owns the folder, or the repository in which the search would continue; `root` is
 * still set if the folder exists. A folder of another user further up than the user's own
 * repository counts as not found.
 */
enum err place_find(struct call *c, struct str name, struct str *root);

/*
 * The root for a new folder: the one that the user named, else the folder that place_find() finds
 * if it belongs to the repository (or there is none), else the main worktree's root, else the
 * current folder.
 */
enum err place_new(struct call *c, struct str name, struct str *root);

/*
 * The folder with the project's files as seen from the current folder: a linked worktree, or the
 * root.
 */
enum err place_tree(struct call *c, struct str root, struct str *tree);

/* The Git repository around a folder; all paths are absent outside of a repository. */
struct repository {
	struct str tree;   /* the root of the worktree; the folder of a bare repository */
	struct str main;   /* the root of the main worktree; may equal `tree` */
	struct str gitdir; /* this worktree's Git directory, with its HEAD */
	struct str common; /* the Git directory shared by all worktrees, with links resolved */
};
/*
 * The repository that the call or GIT_DIR names, else the nearest worktree, else the nearest bare
 * repository. DUBIOUS_OWNERSHIP: another user owns it, and safe.directory does not list it; `out`
 * is still set.
 */
enum err place_repository(struct call *c, struct str dir, struct repository *out);

/* Like place_repository(), for a folder whose path is known to contain no links. */
enum err place_repository_real(struct call *c, struct str dir, struct repository *out);

/*
 * Does a path below `root`, which contains no links, lead into a folder of this program or into any
 * Git directory, whatever its name? A failed check counts as yes.
 */
bool place_is_reserved(struct call *c, struct str root, struct str path);

/*
 * The commit that a ref points to, read from Git's files; absent: unknown. Only for uses where a
 * wrong answer does no harm.
 */
struct str place_ref(struct call *c, const struct repository *repo, struct str name);

/* The commit that is checked out, read the same way; absent: none, or unknown. */
struct str place_head(struct call *c, const struct repository *repo);

/*
 * Does a ref of that name exist, readable or not? A failed check counts as yes: an unreadable ref
 * must never be taken for a missing one.
 */
bool place_has_ref(struct call *c, const struct repository *repo, struct str name);

/* The branch that is checked out; absent: none. */
enum err place_branch(struct call *c, const struct repository *repo, struct str *out);

#endif
