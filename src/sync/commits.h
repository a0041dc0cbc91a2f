#ifndef SYNC_COMMITS_H
#define SYNC_COMMITS_H

#include "beads/model/snapshot.h"

struct repo;

/* A repository whose files are read only up to the size that its settings allow. */
enum err commits_open(struct call *c, struct str gitdir, struct repo **out);

/*
 * The canonical files of a commit, which live until repo_forget(). What another program wrote is
 * rendered in our own way.
 */
enum err commit_read(struct call *c, struct repo *r, struct str commit, struct snapshot *out);

/* The same without a look at what is in them. */
enum err commit_read_raw(struct call *c, struct repo *r, struct str commit, struct snapshot *out);

#endif
