#ifndef STORE_DB_DB_SALVAGE_H
#define STORE_DB_DB_SALVAGE_H

#include "store/db/db.h"
#include "store/mend.h"

/* How to create a store's database again. */
struct db_plan {
	const char *schema[5]; /* SQL statements, up to a NULL */
	const struct db_table *tables;
	const char *after; /* SQL that repairs references to lost rows; or NULL */
};

/*
 * Checks a database and reports the result. With `m->fix`, a damaged one is copied, and every row
 * that can still be read goes into a new database in its place. The caller holds the writers' lock.
 * `check` (or NULL) decides whether an intact database belongs to the store.
 */
typedef enum err db_store_check(struct call *c, struct db *db, struct str path);
enum err db_mend(struct call *c, struct mend *m, struct str path, const struct db_plan *plan,
		 db_store_check *check);

#endif
