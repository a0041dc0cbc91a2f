#include "store/db/shared_rows.h"

#include "store/db/row.h"

enum err shared_rows_begin(struct call *c, struct db *db)
{
	return db_has_table(db, "shared") ? ERR_OK : db_exec(c, db, SHARED_TABLE);
}

enum err shared_row_find(struct call *c, struct db *db, const char *kind, struct str machine,
			 int64_t number, int64_t *id)
{
	*id = 0;
	if (!db_has_table(db, "shared"))
		return ERR_OK;
	return db_number(c, db,
			 "SELECT id FROM shared WHERE kind = ? AND machine = ? AND number = ?",
			 PARAMS(BIND(str_of(kind)), BIND(machine), BIND(number)), id);
}

enum err shared_row_put(struct call *c, struct db *db, const char *kind, struct str machine,
			int64_t number, int64_t id, struct str name)
{
	return db_run(c, db, "INSERT OR IGNORE INTO shared VALUES (?, ?, ?, ?, ?)",
		      BIND(str_of(kind)), BIND(machine), BIND(number), BIND(id), BIND(name));
}

enum err shared_row_origin(struct call *c, struct db *db, const char *kind, int64_t id,
			   struct str *machine, int64_t *number, struct str *name)
{
	*machine = *name = STR_NONE;
	*number = 0;
	if (!db_has_table(db, "shared"))
		return ERR_OK;

	AUTO_STMT *st =
		db_stmt(db, "SELECT machine, number, name FROM shared WHERE kind = ? AND id = ?");

	stmt_bind_str(st, str_of(kind));
	stmt_bind_int(st, id);
	if (stmt_row(st)) {
		*machine = stmt_str(st, &c->mem);
		*number = stmt_int(st);
		*name = stmt_str(st, &c->mem);
	}
	return stmt_end(c, st);
}
