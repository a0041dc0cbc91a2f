#ifndef BASE_SYSTEM_PATH_H
#define BASE_SYSTEM_PATH_H

#include "base/arena.h"

/*
 * Operations on paths as text. Only path_real…(), path_is_link() and path_unused() access the file
 * system.
 */

struct str path_join(struct arena *mem, struct str dir, struct str name);

/* Absolute against `base`, without ".", "..", double or final slashes. */
struct str path_resolve(struct arena *mem, struct str base, struct str path);

struct str path_parent(struct str path); /* the parent of "/" is "/" */
struct str path_name(struct str path);   /* the part after the last slash */
bool path_within(struct str dir, struct str path);

/*
 * Does the path contain a name reserved for Git or this program (.git, .bb, .beadboard, .abacus)?
 * Case is ignored, because some file systems ignore it.
 */
bool path_is_reserved(struct str path);

bool path_is_link(struct arena *mem, struct str path);

/*
 * An unused name beside `path` to move the file to, such as ".bb.theirs-0123456789ab". It is
 * random, so that no other user can put a link there beforehand.
 */
struct str path_unused(struct arena *mem, struct str path, const char *kind);

/* The path with all symbolic links resolved; absent if it does not exist or cannot be reached. */
struct str path_real(struct arena *mem, struct str path);

/*
 * Like path_real(), for a path that may begin like `known`, which contains no links (absent:
 * unknown): only the names after the common part are resolved.
 */
struct str path_real_beside(struct arena *mem, struct str known, struct str path);

/*
 * Like path_real(), for an absolute path whose end may not exist: the missing part stays text. A
 * link is followed even if its target is missing.
 */
struct str path_real_part(struct arena *mem, struct str path);

/* The folder for this user's application data. */
struct str path_data(struct arena *mem);

/* The folder for the state of programs, which no project contains; absent: HOME is not known. */
struct str path_state(struct arena *mem);

/* Does the environment name the home folder, by an absolute path? A relative one would be in any
 * repository. */
bool path_home_known(void);
/* The user's home folder; "/" if it is not known. */
struct str path_home(void);

#endif
