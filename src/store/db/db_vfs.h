#ifndef STORE_DB_DB_VFS_H
#define STORE_DB_DB_VFS_H

#include <stdbool.h>

/*
 * How SQLite opens and deletes files: like its default VFS, with three differences. The folder of
 * an existing log is not synced. An alias of a long path is not resolved. And super-journals are
 * never used: a rollback journal can name any of the user's files as its super-journal, and SQLite
 * would delete that file after the rollback. SQLite needs one only for a transaction in several
 * databases, which this program never makes.
 */
struct sqlite3_vfs;

/* A VFS without locks, for a log that no process has open. */
#define DB_VFS_LOCKLESS "abacus-none"

/*
 * Configures SQLite once, and returns the system's VFS. `stays`: the process is long-running, so
 * SQLite's memory must be freed (db_memory.h).
 */
struct sqlite3_vfs *db_vfs_register(bool stays);

#endif
