#ifndef STORE_DB_DB_SALVAGE_H
#define STORE_DB_DB_SALVAGE_H

#include "store/db/db.h"
#include "store/mend.h"

/* How a store's database is made, for one that has to be made again. */
struct db_plan {
	const char *schema[5]; /* SQL, up to a NULL */
	const struct db_table *tables;
	const char *after; /* SQL that makes good what lost rows have left; or NULL */
};

/*
 * Looks at a database, and reports it. With `m->fix`, a damaged one is copied, and every row that
 * can still be read goes to a new database in its place. The caller has the lock of its writers.
 * `check` (or NULL) says whether a sound database is the store's.
 */
typedef enum err db_store_check(struct call *c, struct db *db, struct str path);
enum err db_mend(struct call *c, struct mend *m, struct str path, const struct db_plan *plan,
		 db_store_check *check);

#endif
