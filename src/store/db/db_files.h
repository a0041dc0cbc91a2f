#ifndef STORE_DB_DB_FILES_H
#define STORE_DB_DB_FILES_H

#include "base/call.h"

/*
 * A database consists of its file and the files that SQLite keeps beside it and opens by name:
 * "-wal", "-shm" and "-journal".
 */

/*
 * Refuses a database if one of its files is a link, a FIFO on which SQLite would block, another
 * user's file, or a rollback journal that names a super-journal: only a program that writes to
 * several databases at once creates one, and SQLite deletes whatever file it names. A database that
 * is opened `alone`, as a file that does not change, has no files beside it.
 */
enum err db_files_check(struct call *c, struct str path, bool alone);

/* Refuses a database if one of its files is not safe (store/exposed.h). */
enum err db_files_check_exposed(struct call *c, struct str path);

/* Renames existing logs at the path of a new database. */
enum err db_files_set_logs_aside(struct call *c, struct str path);

#endif
