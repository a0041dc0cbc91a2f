#ifndef CONTINUITY_NAMED_H
#define CONTINUITY_NAMED_H

#include "base/call.h"

/*
 * Where tasks are kept outside of the user's repositories: a bare repository that is used for
 * nothing else, in the user's data folder, or as FILE.git beside the FILE that --db-path names.
 * It has no remote.
 */

/*
 * Creates the files that make a folder a bare repository, if there are none. If another user has
 * created the folder in the meantime, it is refused.
 */
enum err named_repository_create(struct call *c, struct str dir);

/*
 * Refuses a FILE if something beside it was not made by this program for this user. FILE may lie in
 * a clone, or in a folder like /tmp, where others can put a FILE.git that has settings of its own,
 * or a FILE-wal that SQLite would replay into the database. `fresh`: there is no repository yet;
 * one that appears later was not checked.
 */
enum err named_check(struct call *c, struct str file, struct str dir, bool *fresh);

#endif
