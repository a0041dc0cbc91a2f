/* Checks the schema of databases that other programs may have written, before they are used. */
#include "base/buf.h"
#include "store/db/db_parts.h"
#include "store/db/db_schema.h"

static enum err db_unexpected(struct call *c, const struct db *db, const char *name,
			      const char *what)
{
	return call_fail(c, ERR_DAMAGED, "in '" STR_FMT "', '%s' %s", STR_ARG(db->path), name,
			 what);
}

/* Names of tables are case-insensitive. */
static const struct db_table *db_find_table(const struct db_table *tables, const char *name)
{
	for (; tables->name; tables++)
		if (!sqlite3_stricmp(tables->name, name))
			return tables;
	return NULL;
}

/* Views, and virtual tables that were not used yet, have no columns in SQLite's metadata. */
static enum err db_expect_table(struct call *c, struct db *db, const struct db_table *t)
{
	if (t->optional && !db_has_table(db, t->name))
		return ERR_OK;
	for (const char *const *column = t->columns; *column; column++)
		if (sqlite3_table_column_metadata(db->raw, "main", t->name, *column, NULL, NULL,
						  NULL, NULL, NULL))
			return db_unexpected(
				c, db, t->name,
				arena_fmt(&c->mem, "is not a table with a column '%s'", *column).p);
	return ERR_OK;
}

/*
 * Disables all virtual tables except json_each and long LIKE patterns, and checks every page when
 * it is read.
 */
static enum err db_distrust(struct call *c, struct db *db)
{
	const char *keep[] = { "json_each", NULL };

	if (db->distrusted)
		return ERR_OK;
	db->distrusted = true;
	sqlite3_drop_modules(db->raw, keep);
	sqlite3_limit(db->raw, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50);
	return db_exec(c, db, "PRAGMA cell_size_check = ON");
}

/* Refuses views in place of our tables, and triggers on them. */
static enum err db_expect_kinds(struct call *c, struct db *db, const struct db_table *tables)
{
	const struct db_table *t = NULL;
	AUTO_STMT *st = db_stmt(db, "SELECT tbl_name, type FROM sqlite_schema"
				    " WHERE type NOT IN ('table', 'index') OR rootpage < 1");

	while (!t && stmt_row(st))
		t = db_find_table(tables, arena_cstr(&c->mem, stmt_str(st, &c->mem)));
	if (t)
		return db_unexpected(c, db, t->name,
				     str_is(stmt_str(st, &c->mem), "trigger") ? "has a trigger" :
										"is not a table");
	return stmt_end(c, st);
}

/*
 * Does the database define exactly our schema, in the same order? Almost every database does, and
 * then nothing in it needs to be parsed. SQLite itself adds an index without a statement for each
 * UNIQUE, and the table for AUTOINCREMENT. `stored`: every table must have pages of its own, which
 * virtual tables do not have.
 */
static enum err db_is_exact(struct call *c, struct db *db, struct str ours, bool stored,
			    bool *exact)
{
	AUTO_STMT *st = db_stmt(db, "SELECT sql, type, rootpage FROM sqlite_schema");

	*exact = true;
	while (*exact && stmt_row(st)) {
		struct str sql = stmt_str(st, &c->mem), type = stmt_str(st, &c->mem);
		bool index = str_is(type, "index");

		*exact = (index || str_is(type, "table")) && (stmt_int(st) > 0 || !stored) &&
			 (sql.p ? str_is(sql, "CREATE TABLE sqlite_sequence(name,seq)") ||
					  schema_take(&ours, sql) :
				  index);
	}
	*exact = *exact && !ours.n;
	return stmt_end(c, st);
}

/* Checks each definition by itself. */
static enum err db_expect_definitions(struct call *c, struct db *db, struct str schema)
{
	AUTO_STMT *st = db_stmt(db, "SELECT sql, name, tbl_name FROM sqlite_schema");
	struct str ours = { 0 }, table;

	while (stmt_row(st)) {
		struct schema_row row;
		const char *fault;

		row.sql = stmt_str(st, &c->mem);
		if (schema_is_verbatim(schema, row.sql))
			continue;
		row.name = stmt_str(st, &c->mem);
		row.table = stmt_str(st, &c->mem);
		if (!ours.p)
			ours = schema_normalise(&c->mem, schema);
		if ((fault = schema_fault(&c->mem, ours, &row, &table)))
			return db_unexpected(c, db, arena_cstr(&c->mem, table), fault);
	}
	return stmt_end(c, st);
}

static struct str db_join(struct arena *mem, const char *const *schema, const char *old)
{
	struct buf all = { .mem = mem };

	for (; *schema; schema++)
		buf_put(&all, str_of(*schema));
	buf_put(&all, str_of(old ? old : ""));
	return buf_str(&all);
}

enum err db_expect_exact(struct call *c, struct db *db, const char *const *schema)
{
	bool exact;
	enum err e = db_is_exact(c, db, db_join(&c->mem, schema, NULL), false, &exact);

	if (e || exact)
		return e;
	return call_fail(c, ERR_DAMAGED, "'" STR_FMT "' has another schema than this version's",
			 STR_ARG(db->path));
}

enum err db_expect(struct call *c, struct db *db, const struct db_table *tables,
		   const char *const *schema, const char *old)
{
	bool exact;
	enum err e = db_distrust(c, db);

	if (e || (e = db_is_exact(c, db, db_join(&c->mem, schema, NULL), true, &exact)) || exact)
		return e;
	e = db_expect_kinds(c, db, tables);
	for (const struct db_table *t = tables; !e && t->name; t++)
		e = db_expect_table(c, db, t);
	return e ? e : db_expect_definitions(c, db, db_join(&c->mem, schema, old));
}
