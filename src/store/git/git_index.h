#ifndef STORE_GIT_GIT_INDEX_H
#define STORE_GIT_GIT_INDEX_H

#include "base/arena.h"

/*
 * A reader for Git's index, versions 2 to 4, that reads only as much as one lookup needs. The
 * entries are sorted and our names begin with a dot, so the first block of the file is usually
 * enough. libgit2 is not used, because it takes too long to load.
 *
 * A split index has most entries in another file. It is recognized by an entry without a name, or
 * by an extension after the entries; that is read only if the entries are few, as they usually are
 * in the first file of a split index.
 */
enum tracked {
	TRACKED_NO,      /* the whole index was read, and does not name the path */
	TRACKED_EARLY,   /* no entry names the path; the extensions were not read */
	TRACKED_ABSENT,  /* there is no index */
	TRACKED_YES,     /* the path, or something below it, is tracked */
	TRACKED_ABOVE,   /* a submodule or a sparse folder above the path is tracked */
	TRACKED_SPLIT,   /* not in this file, but most entries are in another one */
	TRACKED_UNKNOWN, /* the index is damaged, or of a later version */
};

/* An entry; its path is relative to the root of the worktree. */
struct git_entry {
	struct str path;
	bool folder; /* the entry represents everything below it */
};

/* What the entry says about `name`. Case is ignored, because some file systems ignore it. */
enum tracked git_entry_covers(struct git_entry entry, struct str name);

/* What the whole index says about `name`. */
enum tracked git_index_look(struct arena *mem, struct str index, struct str name);

#endif
