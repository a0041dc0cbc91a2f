#ifndef STORE_DB_DB_VFS_H
#define STORE_DB_DB_VFS_H

#include <stdbool.h>

/*
 * How SQLite opens and removes files: as it does by itself, with three differences. The folder of
 * a log that is there already is not synced. An alias of a long path is left as it is. And no
 * super-journal is ever used: a rollback journal can name any file of the user's as its
 * super-journal, and SQLite would delete that file after the rollback. It only needs one for a
 * transaction in several databases, which this program never makes.
 */
struct sqlite3_vfs;

/* The same without locks, for a log that nobody has open. */
#define DB_VFS_LOCKLESS "abacus-none"

/* Sets SQLite up, once, and returns the system's own functions. `stays`: the process lives for
 * long, so SQLite's memory has to be freed (db_memory.h). */
struct sqlite3_vfs *db_vfs_register(bool stays);

#endif
