#ifndef CONTINUITY_NAMED_H
#define CONTINUITY_NAMED_H

#include "base/call.h"

/*
 * Where tasks are kept outside of the user's repositories: a bare repository that is used for
 * nothing else, in the user's data folder, or as FILE.git beside the FILE that --db-path names.
 * It has no remote.
 */

/* Creates the files that make a folder a bare repository, if there are none. */
enum err named_repository_create(struct call *c, struct str dir);

/*
 * Refuses a FILE if something beside it was not made by this program for this user. FILE may lie
 * in a clone, or in a folder like /tmp, where others can put a FILE.git that has settings of its
 * own, or a FILE-wal that SQLite would play into the database.
 */
enum err named_check(struct call *c, struct str file, struct str dir);

#endif
