#ifndef STORE_PLACE_PARTS_H
#define STORE_PLACE_PARTS_H

#include <sys/types.h>

#include "store/place.h"

/* Shared by place.c and place_repository.c. */

/* The file at a path. */
struct entry {
	bool there;        /* false for a link whose target is missing */
	bool folder, file; /* the type of its target; a pipe or a device is neither */
	bool link;
	uid_t owner; /* of the link itself, if it is one */
};

/* A failed check is an error, never "nothing is there". */
enum err entry_look(struct call *c, struct str dir, struct str name, struct entry *out);

/* A part of a repository that belongs to another user; absent: all of it is the user's. */
struct foreign {
	struct str path;
	uid_t owner;
};

/* A repository found through a folder's ".git". */
struct candidate {
	struct repository repo; /* absent: none */
	struct foreign foreign;
	bool usable; /* Git accepts it as a repository */
	bool plain;  /* its Git directory is reached without a link */
	/*
	 * a folder passed on the way whose ".git" is a link of the user to a missing target, which
	 * Git ignores; or absent
	 */
	struct str dangling;
};

/*
 * The nearest worktree around a folder, whether or not Git can use it. Another user's ".git" that
 * Git cannot use is ignored: it must not determine the project's root.
 */
enum err candidate_around(struct call *c, struct str dir, struct candidate *out);
enum err candidate_find(struct call *c, struct candidate *out); /* around the current folder */

/*
 * The repository that Git's environment variables name, from the current folder: that of GIT_DIR,
 * or the one around the current folder with the worktree of GIT_WORK_TREE. The path of its worktree
 * contains no links; absent: none is named, Git cannot use it, or it has no worktree.
 */
void place_of_variables(struct call *c, struct repository *out);

/*
 * The worktree that the repository's configuration names (core.worktree), without links; absent:
 * none. Git's index then describes that worktree, whatever folder ".git" is in.
 */
enum err place_of_setting(struct call *c, const struct repository *repo, struct str *tree);

/*
 * Does the repository's own configuration say that it is bare? It may still have linked worktrees.
 */
enum err place_is_bare(struct call *c, const struct repository *repo, bool *yes);

/* DUBIOUS_OWNERSHIP, for the candidate's foreign part. */
enum err candidate_refuse(struct call *c, const struct candidate *found);

#endif
