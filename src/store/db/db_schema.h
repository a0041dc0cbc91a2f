#ifndef STORE_DB_DB_SCHEMA_H
#define STORE_DB_DB_SCHEMA_H

#include "base/arena.h"

/*
 * What a database says about its own tables and indexes is SQL of the program that made it, and
 * SQLite evaluates parts of it with every query: computed columns, CHECK, computed DEFAULT,
 * indexes of expressions, partial indexes, what becomes of a conflict or of rows that refer to
 * others. One call of a function in it can take minutes, which no limit on the time of a query
 * can stop. So each such part has to be one of ours. Columns and indexes that only name something
 * may be added by others.
 */

/* A statement's tokens, with one blank before and after each of them, words in lower case,
 * without comments and "IF NOT EXISTS". */
struct str schema_normalise(struct arena *mem, struct str sql);

/* Is it, to the byte, in a schema of ours? SQLite keeps statements as they were given, but for
 * "IF NOT EXISTS". An absent one is of SQLite itself, and counts as ours. */
bool schema_is_verbatim(struct str schema, struct str sql);

/*
 * Takes the first definition off our schema if `sql` is that definition, to the byte but for "IF
 * NOT EXISTS". A database that this program made has its definitions in the order of our schema,
 * so one comparison for each of them shows that there is nothing else in it.
 */
bool schema_take(struct str *schema, struct str sql);

/* A row of sqlite_schema. */
struct schema_row {
	struct str name, table, sql;
};

/*
 * What is wrong with it: "has a CHECK of its own"; NULL: nothing, or it is about none of our
 * tables. `ours` is our own schema, normalised; `table` is which table it is about.
 */
const char *schema_fault(struct arena *mem, struct str ours, const struct schema_row *row,
			 struct str *table);

#endif
