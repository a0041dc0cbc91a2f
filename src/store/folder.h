#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

#include "base/call.h"

/*
 * The folders of this program: `.bb` and `.beadboard` in a project, `abacus` in a Git directory. A
 * repository can contain the first two, with links to the user's files in them, so they are checked
 * before anything in them is opened. A failed check is UNSAFE_PATH; a folder that does not exist
 * passes.
 */

enum folder_use {
	FOLDER_READ,
	FOLDER_WRITE, /* removes other users' read permissions */
};

/* Refuses a symbolic link, a file, a folder of another user (DUBIOUS_OWNERSHIP), and a folder that
 * other users may write to. */
enum err folder_check(struct call *c, struct str path, enum folder_use use);

/* Checks the folders and links in a folder, which need not exist. */
enum err folder_check_inside(struct call *c, struct str path);

/*
 * Like folder_check(), for a folder in a worktree and the named folders below it; also refuses them
 * if Git tracks anything in the folder. `private` becomes false if one of them does not exist, or
 * other users may still read it afterwards.
 */
enum err folder_check_all(struct call *c, struct str dir, const char *const *names, size_t count,
			  enum folder_use use, bool *private);

/*
 * Refuses a Git directory that is writable for all users. Group permissions are allowed: Git can
 * share with groups (core.sharedRepository), and many systems give each user a private group.
 */
enum err folder_check_git(struct call *c, struct str gitdir);

/* Refuses a folder in a worktree if Git tracks it or anything in it. */
enum err folder_check_tracked(struct call *c, struct str path);

#endif
