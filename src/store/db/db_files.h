#ifndef STORE_DB_DB_FILES_H
#define STORE_DB_DB_FILES_H

#include "base/call.h"

/*
 * A database is a file and those that SQLite keeps beside it and opens by name: "-wal", "-shm" and
 * "-journal".
 */

/*
 * Refuses a database if one of its files is a link to somewhere else, a FIFO that SQLite would
 * wait for, another user's, or a rollback journal that names a super-journal: only a program that
 * writes to several databases at once makes one, and SQLite deletes whatever file it names. A
 * database that is opened `alone`, as a file that does not change, has no files beside it.
 */
enum err db_files_check(struct call *c, struct str path, bool alone);

/* Renames logs that lie where a new database is to be made. */
enum err db_files_set_logs_aside(struct call *c, struct str path);

#endif
