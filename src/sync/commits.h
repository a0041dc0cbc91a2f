#ifndef SYNC_COMMITS_H
#define SYNC_COMMITS_H

#include "beads/model/snapshot.h"

struct repo;

/* Opens a repository. Files larger than the setting `sync.max_file` are not read. */
enum err commits_open(struct call *c, struct str gitdir, struct repo **out);

/* Is this the name of a file of a store, in any format? */
bool commits_is_store_file(struct str name);

/*
 * Reads the canonical files of a commit; they stay valid until repo_forget(). Files that another
 * program wrote are converted to this program's format.
 */
enum err commit_read(struct call *c, struct repo *r, struct str commit, struct snapshot *out);

/* Reads the files as the commit stores them, without converting them. */
enum err commit_read_raw(struct call *c, struct repo *r, struct str commit, struct snapshot *out);

#endif
