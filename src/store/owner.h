#ifndef STORE_OWNER_H
#define STORE_OWNER_H

#include <sys/types.h>

#include "base/call.h"

/*
 * Which owners are trusted. As in Git, a repository or store that is found by a search must belong
 * to the user, because its owner decides what is read from it and which programs run. Otherwise the
 * user must list the folder in `safe.directory`.
 */

/* Is this the user? For root, the user who ran sudo counts as well. */
bool owner_is_user(uid_t uid);

/* Is this root, or the uid that stands for root in this sandbox? */
bool owner_is_system(uid_t uid);

/* Does safe.directory of the protected configuration list this folder? */
bool owner_listed_safe(struct call *c, struct str dir);

/* DUBIOUS_OWNERSHIP: `path` belongs to `uid`. The hint is to list `dir` in safe.directory. */
enum err owner_refuse(struct call *c, struct str path, uid_t uid, struct str dir);

/* DUBIOUS_OWNERSHIP, for a path inside a folder of the user; the hint is to move it away,
 * or to take it back from root. */
enum err owner_refuse_inside(struct call *c, struct str path, uid_t uid);

/* DUBIOUS_OWNERSHIP, for a folder of a path that the user named; the hint: name another path. */
enum err owner_refuse_folder(struct call *c, struct str path, uid_t uid);

/* DUBIOUS_OWNERSHIP, for a folder that HOME or the variable names; the hint is to set it. */
enum err owner_refuse_user(struct call *c, struct str path, uid_t uid, const char *variable);

#endif
