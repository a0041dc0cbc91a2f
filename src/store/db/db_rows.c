#include "store/db/db_rows.h"

#include "base/buf.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/value.h"
#include "store/db/db.h"

enum {
	GROUP = 50, /* columns in one json_object(), which takes at most 127 arguments */
	COLUMNS_MOST = 500,
	WAIT_MS = 5000,
};

static enum err rows_refuse(struct call *c, const char *table, const char *what)
{
	call_fail(c, ERR_DAMAGED, "the table '%s' %s", table, what);
	return call_step(c, "Let the program that wrote the database export its issues, and import "
			    "that file.");
}

/* Is the name a table with rows of its own? */
static enum err rows_find(struct call *c, struct db *db, const struct db_rows *t, bool *there)
{
	AUTO_STMT *st = db_stmt(db, "SELECT type, rootpage FROM sqlite_schema"
				    " WHERE name = ? COLLATE NOCASE");
	bool plain;

	stmt_bind_str(st, str_of(t->table));
	*there = stmt_row(st);
	plain = *there && str_is(stmt_str(st, &c->mem), "table") && stmt_int(st) > 0;
	if (*there && !plain)
		return rows_refuse(c, t->table, "is not a table");
	if (!*there && !t->optional)
		return rows_refuse(c, t->table, "is missing");
	return stmt_end(c, st);
}

static struct str rows_quoted(struct arena *mem, struct str name, char quote)
{
	struct buf b = { .mem = mem };

	buf_char(&b, quote);
	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] == quote)
			buf_char(&b, quote);
		buf_char(&b, name.p[i]);
	}
	buf_char(&b, quote);
	return buf_str(&b);
}

/* The expressions that give a row as JSON objects of some columns each. */
static enum err rows_columns(struct call *c, struct db *db, const char *table, struct buf *sql,
			     size_t *groups)
{
	AUTO_STMT *st = db_stmt_once(db, arena_fmt(&c->mem, "PRAGMA table_xinfo(%s)", table));
	size_t n = 0;

	for (; stmt_row(st); n++) {
		struct str name, quoted;

		stmt_int(st);
		name = stmt_str(st, &c->mem);
		for (int i = 0; i < 4; i++)
			stmt_str(st, &c->mem);
		if (stmt_int(st) || n == COLUMNS_MOST)
			return rows_refuse(c, table,
					   n == COLUMNS_MOST ? "has too many columns" :
							       "has computed columns");
		quoted = rows_quoted(&c->mem, name, '"');
		buf_fmt(sql,
			"%s" STR_FMT ", CASE typeof(" STR_FMT
			") WHEN 'blob' THEN NULL ELSE " STR_FMT " END",
			n % GROUP ? ", " :
			n         ? "), json_object(" :
				    "json_object(",
			STR_ARG(rows_quoted(&c->mem, name, '\'')), STR_ARG(quoted),
			STR_ARG(quoted));
	}
	buf_char(sql, ')');
	*groups = (n + GROUP - 1) / GROUP;
	return n ? stmt_end(c, st) : rows_refuse(c, table, "has no columns");
}

/*
 * How much may still be read. A hostile database can use a page more than once, so its rows are
 * limited by its size.
 */
struct rows_left {
	int64_t rows, bytes;
};

static enum err rows_limit(struct call *c, struct db *db, struct rows_left *out)
{
	enum { ROW_LEAST = 4, GROWTH = 64 }; /* bytes; JSON has the names of columns, too */
	AUTO_STMT *st = db_stmt(db, "SELECT page_count * page_size FROM pragma_page_count,"
				    " pragma_page_size");
	int64_t size = stmt_row(st) ? stmt_int(st) : 0;

	*out = (struct rows_left){ size / ROW_LEAST, size * GROWTH };
	return stmt_end(c, st);
}

static enum err rows_read(struct call *c, struct db *db, struct db_rows *t, struct rows_left *left)
{
	struct buf sql = { .mem = &c->mem }, out = { .mem = &c->mem };
	struct arena scratch = { 0 };
	size_t groups = 0;
	enum err e;

	buf_put(&sql, STR("SELECT "));
	if ((e = rows_columns(c, db, t->table, &sql, &groups)))
		return e;
	buf_fmt(&sql, " FROM %s NOT INDEXED", t->table); /* in the order of the table itself */
	AUTO_STMT *st = db_stmt_once(db, buf_str(&sql));

	while (stmt_row(st) && out.n <= FILE_MOST && left->rows-- && (int64_t)out.n < left->bytes) {
		for (size_t i = 0; i < groups; i++) {
			struct str part = stmt_str(st, &scratch);

			if (part.n < 2)
				continue;
			buf_put(&out, i ? STR(",") : STR("{"));
			buf_put(&out, (struct str){ part.p + 1, part.n - 2 });
		}
		buf_put(&out, STR("}\n"));
		arena_reset(&scratch);
	}
	arena_release(&scratch);
	t->text = buf_str(&out);
	left->bytes -= (int64_t)out.n;
	if (left->rows < 0 || left->bytes <= 0)
		return rows_refuse(c, t->table, "has more rows than fit into the file");
	return out.n > FILE_MOST ? rows_refuse(c, t->table, "is larger than 64 MiB") :
				   stmt_end(c, st);
}

/*
 * 'abacus doctor' repairs only files of Abacus. The file may have come with a repository, so no other
 * program is named that would repair it: what 'sqlite3 FILE .recover' prints is SQL that the file
 * chooses, and running that can start any program.
 */
static enum err rows_damaged(struct call *c, struct str path)
{
	struct str lines = path_join(&c->mem, path_parent(path), STR("issues.jsonl"));

	if (!path_is_link(&c->mem, lines) && file_size(&c->mem, lines) > 0)
		return call_step(c,
				 "Nothing was changed. Import the issues in the file beside it: bd "
				 "import " STR_FMT,
				 STR_ARG(spawn_word(&c->mem, lines)));
	return call_step(c, "Nothing was changed. Let the program that wrote the database export "
			    "its issues, and import that file.");
}

enum err db_rows_read(struct call *c, struct str path, struct db_rows *tables, size_t count)
{
	static const struct db_table none[] = { { 0 } };
	static const char *const nothing[] = { NULL };
	struct rows_left left;
	struct db *db;
	bool there;
	enum err e = db_open(c, path, DB_READ, WAIT_MS, &db);

	if (e)
		return e == ERR_DAMAGED ? rows_damaged(c, path) : e;
	if (!(e = db_expect(c, db, none, nothing, NULL)))
		e = db_snapshot(c, db);
	e = e ? e : rows_limit(c, db, &left);
	for (size_t i = 0; !e && i < count; i++)
		if (!(e = rows_find(c, db, &tables[i], &there)) && there)
			e = rows_read(c, db, &tables[i], &left);
	db_close(db);
	return e == ERR_DAMAGED && !c->step.p ? rows_damaged(c, path) : e;
}
