#ifndef STORE_PLACE_PARTS_H
#define STORE_PLACE_PARTS_H

#include <sys/types.h>

#include "store/place.h"

/* What place.c and place_repository.c share. */

/* What is at a path. */
struct entry {
	bool there;        /* a link that leads to nothing is not */
	bool folder, file; /* what it leads to; a pipe or a device is neither */
	bool link;
	uid_t owner; /* of the link itself, where it is one */
};

/* A look that fails is an error, never "nothing is there". */
enum err entry_look(struct call *c, struct str dir, struct str name, struct entry *out);

/* Part of a repository that belongs to somebody else; absent: all of it is the user's. */
struct foreign {
	struct str path;
	uid_t owner;
};

/* What a folder has as ".git". */
struct candidate {
	struct repository repo; /* absent: nothing */
	struct foreign foreign;
	bool usable; /* Git takes it for a repository */
	bool plain;  /* no link leads to its Git directory */
	/* a folder on the way to it whose ".git" is the user's and a link that leads to nothing,
	 * which Git passes over; or absent */
	struct str dangling;
};

/*
 * The nearest worktree around a folder, whether or not Git could use it. Another user's ".git"
 * that Git could not use is passed over: it must not choose the project's root.
 */
enum err candidate_around(struct call *c, struct str dir, struct candidate *out);
enum err candidate_find(struct call *c, struct candidate *out); /* around the user */

/*
 * The repository that the variables of Git name, seen from the current folder: the one of
 * GIT_DIR, or the one around the user with the worktree of GIT_WORK_TREE. The path of its
 * worktree has no links; absent: none is named, Git could not use it, or it has no worktree.
 */
void place_of_variables(struct call *c, struct repository *out);

/* The worktree that its configuration names (core.worktree), in which Git's index has its files
 * then, whatever folder ".git" is in; a path without links. Absent: it names none. */
enum err place_of_setting(struct call *c, const struct repository *repo, struct str *tree);

/* Does its own configuration say that it has no worktree of its own? Linked ones have. */
enum err place_is_bare(struct call *c, const struct repository *repo, bool *yes);

/* DUBIOUS_OWNERSHIP, about what is foreign. */
enum err candidate_refuse(struct call *c, const struct candidate *found);

#endif
