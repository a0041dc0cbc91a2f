#ifndef STORE_OWNER_H
#define STORE_OWNER_H

#include <sys/types.h>

#include "base/call.h"

/*
 * Whose folders and files are used. What a search finds has to belong to the user, as in Git: the
 * owner of a repository or a store decides what is read from it and which programs run. Otherwise
 * the user has to list the folder in `safe.directory`.
 */

/* Is this the user? For root, who was meant by sudo also counts. */
bool owner_is_user(uid_t uid);

/* Does safe.directory of the protected configuration list this folder? */
bool owner_listed_safe(struct call *c, struct str dir);

/* DUBIOUS_OWNERSHIP: `path` belongs to `uid`. To list `dir` as safe would allow it. */
enum err owner_refuse(struct call *c, struct str path, uid_t uid, struct str dir);

/* The same for what lies in a folder of the user's: it is to be moved away. */
enum err owner_refuse_inside(struct call *c, struct str path, uid_t uid);

#endif
