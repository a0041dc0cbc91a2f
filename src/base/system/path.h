#ifndef BASE_SYSTEM_PATH_H
#define BASE_SYSTEM_PATH_H

#include "base/arena.h"

/* Paths are text here; only path_real…(), path_is_link() and path_unused() ask the file system. */

struct str path_join(struct arena *mem, struct str dir, struct str name);

/* Absolute against `base`, without ".", "..", double or final slashes. */
struct str path_resolve(struct arena *mem, struct str base, struct str path);

struct str path_parent(struct str path); /* of "/": "/" */
struct str path_name(struct str path);   /* what follows the last slash */
bool path_within(struct str dir, struct str path);

/* Does a name in it stand for a folder of Git's or of this program's (.git, .bb, .beadboard,
 * .abacus)? Upper and lower case are the same, as to some file systems. */
bool path_is_reserved(struct str path);

bool path_is_link(struct arena *mem, struct str path);

/*
 * Where to move what is at `path`: a name beside it, such as ".bb.theirs-0123456789ab", that
 * nothing has. It is a random one, so nobody could put a link there beforehand.
 */
struct str path_unused(struct arena *mem, struct str path, const char *kind);

/* After all symbolic links; absent if it does not exist or cannot be reached. */
struct str path_real(struct arena *mem, struct str path);

/* The same of a path that begins as `known` does, which has no links (absent: none is known): only
 * the names after that are looked at. */
struct str path_real_beside(struct arena *mem, struct str known, struct str path);

/* The same of as much of it as is there; the rest is text. Links are followed whether or not
 * there is anything at their end. `path` is absolute. */
struct str path_real_part(struct arena *mem, struct str path);

/* Where the programs of this user keep their data. */
struct str path_data(struct arena *mem);

bool path_home_known(void);
/* The user's home; "/" where the environment does not say. */
struct str path_home(void);

#endif
