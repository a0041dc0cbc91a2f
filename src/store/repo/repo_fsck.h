#ifndef STORE_REPO_REPO_FSCK_H
#define STORE_REPO_REPO_FSCK_H

#include "base/arena.h"

/*
 * What `git fsck` calls an error in a commit or a tree, and libgit2 takes. The bytes are those of
 * the object. NULL: nothing; else words that follow "commit …" or "the tree …".
 */
const char *repo_fsck_commit(struct str bytes);
const char *repo_fsck_tree(struct arena *mem, struct str bytes);

#endif
