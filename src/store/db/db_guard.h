#ifndef STORE_DB_DB_GUARD_H
#define STORE_DB_DB_GUARD_H

#include "base/call.h"

struct db;

/*
 * Databases in folders that another user may change (store/exposed.h). SQLite opens their files by
 * name, some only when needed. So the open() of SQLite is replaced with one that checks the
 * descriptor of each file before anything is read or written.
 */

/* From now on, all files whose names begin with `name` are checked. Returns an SQLite code. */
int db_guard_begin(struct db *db, struct str name);
void db_guard_end(struct db *db);

/* After SQLite could not open a file: fails if the reason is that the file was not safe. */
enum err db_guard_explain(struct call *c, const struct db *db);

#endif
