#ifndef STORE_DB_SHARED_ROWS_H
#define STORE_DB_SHARED_ROWS_H

#include "base/call.h"

struct db;

/*
 * Rows of a store that came from other machines: which row of which machine a row here is. The
 * table is in the store's own database, so that a row and its origin are stored together. It is
 * made when the first row arrives.
 */
#define SHARED_TABLE                                                                    \
	"CREATE TABLE IF NOT EXISTS shared (kind TEXT NOT NULL, machine TEXT NOT NULL," \
	"    number INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT,"                  \
	"    PRIMARY KEY (kind, machine, number)) WITHOUT ROWID;"                       \
	"CREATE INDEX IF NOT EXISTS shared_id ON shared (kind, id)"

/* For a writer in its transaction. */
enum err shared_rows_begin(struct call *c, struct db *db);

/* The id of the row here; 0: it has not arrived. */
enum err shared_row_find(struct call *c, struct db *db, const char *kind, struct str machine,
			 int64_t number, int64_t *id);

/* `name` is the name of the machine, as it is shown. */
enum err shared_row_put(struct call *c, struct db *db, const char *kind, struct str machine,
			int64_t number, int64_t id, struct str name);

/* Where a row here came from: `machine` and `name` are absent if it was made here. */
enum err shared_row_origin(struct call *c, struct db *db, const char *kind, int64_t id,
			   struct str *machine, int64_t *number, struct str *name);

#endif
