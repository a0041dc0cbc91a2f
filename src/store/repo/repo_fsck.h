#ifndef STORE_REPO_REPO_FSCK_H
#define STORE_REPO_REPO_FSCK_H

#include "base/arena.h"

/*
 * Checks a commit's or tree's raw bytes for errors that `git fsck` reports and libgit2 accepts.
 * Returns NULL, or words that follow "commit …" or "the tree …".
 */
const char *repo_fsck_commit(struct str bytes);
const char *repo_fsck_tree(struct arena *mem, struct str bytes);

/* Git's order of the entries of a tree, in which the name of a folder ends with a slash. */
int repo_tree_cmp(struct str a, bool a_folder, struct str b, bool b_folder);

#endif
