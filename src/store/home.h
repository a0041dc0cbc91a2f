#ifndef STORE_HOME_H
#define STORE_HOME_H

#include "base/names.h"
#include "base/system/lock.h"

/*
 * The folder of a repository's store, with the journal, the cache, continuity and settings. It is
 * `abacus` in the Git directory, or `.abacus` beside the Git directory: some sandboxes let programs
 * write only to the worktree, not to `.git`. Both paths follow from the Git directory alone, so all
 * worktrees find the same folder. The one in the Git directory is used if it exists, and nothing
 * creates one of them while the other exists.
 */
enum home_kind {
	HOME_ANY, /* in the Git directory, unless it cannot be written */
	HOME_GIT,
	HOME_WORKSPACE,
};
extern const struct names home_kinds; /* "auto", "git", "workspace" */

/* The two paths. The second is absent if the Git directory is not called `.git`: then nothing says
 * where the main worktree is. */
struct str home_of_git(struct arena *mem, struct str common);
struct str home_of_workspace(struct arena *mem, struct str common);

/* Is this folder, which one of these functions returned, in the workspace? */
bool home_in_workspace(struct str home);

/* The folder that exists; if none does, the one in the Git directory. */
struct str home_find(struct call *c, struct str common);

/*
 * A command that fails because the store was moved tries again, at most this often. If many
 * commands wait for a lock, every second try may meet the next move.
 */
enum { HOME_TRIES_MOST = 100 };

/*
 * Was the store moved since `home` was found? It may have been moved back, too: then a file of it
 * was missing for this call, although the folder is there.
 */
bool home_moved(struct call *c, struct str common, struct str home);

/* The checks of store/folder.h, for either folder. */
enum err home_check(struct call *c, struct str home);

/*
 * Creates the folder, if neither exists; only then it takes home_lock(), which any user who may
 * read the project's folder can hold. ALREADY_EXISTS: the store is in the other one.
 */
enum err home_make(struct call *c, struct str common, enum home_kind kind, struct str *home);

/* INVALID_INPUT: this repository cannot have a store in the workspace. */
enum err home_refuse_workspace(struct call *c, struct str common);

/*
 * Excludes the processes that create or move the store. The lock is on the folder that contains the
 * Git directory, because a process in a sandbox and one outside of it must exclude each other, and
 * the one in the sandbox may not be able to write to the Git directory. A file system without such
 * locks is used without one.
 */
enum err home_lock(struct call *c, struct str common, struct lock *out);

/* Adds the ways to write to a store that cannot be written from here to the failure READ_ONLY; any
 * other failure is passed on. The folder may also be `.bb` or `.beadboard`. */
enum err home_explain(struct call *c, enum err e, struct str home);

#endif
