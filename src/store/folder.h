#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

#include "base/call.h"

/*
 * The folders that belong to this program: `.bb` and `.beadboard` in a project, `abacus` in a Git
 * directory. A repository can carry the first two, with links to the user's files in them, so
 * they are checked before anything in them is opened. What fails a check is UNSAFE_PATH; a folder
 * that is not there passes.
 */

enum folder_use {
	FOLDER_READ,
	FOLDER_WRITE, /* takes other users' permissions away, if they could only read */
};

/* Refuses a symbolic link, a folder of another user (DUBIOUS_OWNERSHIP), and a folder that other
 * users may write to. */
enum err folder_check(struct call *c, struct str path, enum folder_use use);

/* The same for a folder in a worktree and those below it, by their names; and Git must not track
 * anything in it. `private` becomes false if one of them is not there, or other users may look into it
 * afterwards. */
enum err folder_check_all(struct call *c, struct str dir, const char *const *names, size_t count,
			  enum folder_use use, bool *private);

/* Refuses a Git directory that every user may write to. Groups may: Git can share with them
 * (core.sharedRepository), and many systems give each user a group of their own. */
enum err folder_check_git(struct call *c, struct str gitdir);

/* Refuses a folder in a worktree if Git tracks it or anything in it. */
enum err folder_check_tracked(struct call *c, struct str path);

#endif
