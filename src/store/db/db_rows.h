#ifndef STORE_DB_DB_ROWS_H
#define STORE_DB_DB_ROWS_H

#include "base/call.h"

/*
 * Reads whole tables of another program's database, which may be hostile: it is opened read-only,
 * and a view, a virtual table or a computed column in place of a table's own data is refused
 * (DAMAGED), because SQLite would run the other program's SQL for it.
 */
struct db_rows {
	const char *table;
	bool optional;   /* the table may be missing */
	struct str text; /* out: each row as a JSON object on a line of its own; or absent */
};
enum err db_rows_read(struct call *c, struct str path, struct db_rows *tables, size_t count);

#endif
