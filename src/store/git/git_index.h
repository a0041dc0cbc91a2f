#ifndef STORE_GIT_GIT_INDEX_H
#define STORE_GIT_GIT_INDEX_H

#include "base/arena.h"

/*
 * Git's index, versions 2 to 4, read only as far as it takes to answer one question. The entries
 * are sorted, and the names we ask about begin with a dot: mostly the first block of the file is
 * enough. A reader of our own, because libgit2 is too slow to load.
 *
 * A split index has most entries in another file. That is seen by an entry without a name, or by
 * what follows the entries, which is read only where they are few: what differs from the other
 * file is mostly little.
 */
enum tracked {
	TRACKED_NO,      /* read to the end, the index does not name it */
	TRACKED_EARLY,   /* the same of the entries; what follows them was not read */
	TRACKED_ABSENT,  /* there is no index */
	TRACKED_YES,     /* it, or something below it */
	TRACKED_ABOVE,   /* a submodule, or a folder of a sparse checkout, that it is in */
	TRACKED_SPLIT,   /* this file does not say so, but most entries are in another one */
	TRACKED_UNKNOWN, /* the index is damaged, or of a later version */
};

/* An entry, from the root of the worktree. */
struct git_entry {
	struct str path;
	bool folder; /* it stands for all that is below it */
};

/* What it says of `name`. Upper and lower case are the same, as they are to some file systems. */
enum tracked git_entry_covers(struct git_entry entry, struct str name);

/* What the whole index says of it. */
enum tracked git_index_look(struct arena *mem, struct str index, struct str name);

#endif
