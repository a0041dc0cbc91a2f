#ifndef STORE_DB_DB_SCHEMA_H
#define STORE_DB_DB_SCHEMA_H

#include "base/arena.h"

/*
 * A database's definitions of tables and indexes are SQL of the program that created the database,
 * and SQLite evaluates parts of them with every query: computed columns, CHECK, computed DEFAULT,
 * indexes on expressions, partial indexes, conflict clauses, foreign key actions. A single function
 * call in them can take minutes, and no query timeout can stop it. So each such part must be one of
 * ours. Other programs may add columns and indexes that only name something.
 */

/*
 * The tokens of a statement, with one blank before and after each, words in lower case, without
 * comments and "IF NOT EXISTS".
 */
struct str schema_normalise(struct arena *mem, struct str sql);

/*
 * Is the statement, byte for byte, in our schema? SQLite stores statements unchanged except for "IF
 * NOT EXISTS". An absent statement comes from SQLite itself, and counts as ours.
 */
bool schema_is_verbatim(struct str schema, struct str sql);

/*
 * Removes the first definition from our schema if it equals `sql`, except for "IF NOT EXISTS". A
 * database that this program created has its definitions in the order of our schema, so one
 * comparison per definition shows that it contains nothing else.
 */
bool schema_take(struct str *schema, struct str sql);

/* A row of sqlite_schema. */
struct schema_row {
	struct str name, table, sql;
};

/*
 * The fault of a definition, such as "has a CHECK of its own"; NULL: none, or the definition does
 * not concern our tables. `ours` is our own schema, normalised; `table` is the table concerned.
 */
const char *schema_fault(struct arena *mem, struct str ours, const struct schema_row *row,
			 struct str *table);

#endif
