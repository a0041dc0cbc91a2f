#ifndef STORE_DB_DB_H
#define STORE_DB_DB_H

#include "base/call.h"

struct names;

/*
 * One SQLite connection. Only this module knows that it is SQLite. A database may come from another
 * user: views, triggers and functions in its schema are not run, values have at most FILE_MOST
 * bytes (DAMAGED), and a query takes at most 30 s (QUERY_TIMEOUT).
 */
struct db;

/*
 * A prepared statement, to be returned with stmt_done(). The SQL of db_stmt() is a literal: it is
 * compiled once per connection, and looked up by the literal's address. Parameters are bound, and
 * columns read, from left to right. After an error every later step is a no-op; stmt_end() reports
 * the first error.
 */
struct stmt;

enum db_mode {
	DB_READ,    /* also on a read-only file system */
	DB_WRITE,   /* must exist */
	DB_CREATE,  /* created if it does not exist */
	DB_SCRATCH, /* like DB_WRITE, but a commit is not synced, and leaves no log behind */
	DB_STILL,   /* a file that does not change while it is read */
};

/*
 * Waits up to `wait_ms` for locks of other processes, here and later, then fails with
 * DATABASE_BUSY.
 */
enum err db_open(struct call *c, struct str path, enum db_mode mode, int wait_ms, struct db **out);
void db_close(struct db *db);

/*
 * Creates a database with these statements, which end with NULL. The file appears complete, by a
 * rename, so that a killed process leaves none, and in WAL mode, so that our own databases never
 * have a rollback journal. Existing logs at that path are renamed: SQLite would apply them to the
 * new file. Only one process at a time may call this.
 */
enum err db_make(struct call *c, struct str path, const char *const *schema);

/*
 * Opens a database of this program. A writer creates it with `schema` if it does not exist or is
 * empty, as after an interrupted creation; a reader gets NULL if it does not exist.
 */
enum err db_open_own(struct call *c, struct str path, bool write, int wait_ms,
		     const char *const *schema, struct db **out);

/*
 * For a long-running process: db_close() keeps connections open for later calls, as long as the
 * path names the same file.
 */
void db_keep(void);
bool db_keeps(void);

enum err db_exec(struct call *c, struct db *db, const char *sql);

/* All later reads see one state of the database, until something is written. */
enum err db_snapshot(struct call *c, struct db *db);

/* A write transaction, durable after db_commit(). */
enum err db_begin(struct call *c, struct db *db);
enum err db_commit(struct call *c, struct db *db);
void db_rollback(struct db *db);

/*
 * Begins a write of data that may be lost, such as read positions: never waits, never fails, and
 * does not sync. False: another process is writing, or the file system is read-only.
 */
bool db_begin_lazy(struct db *db);

int64_t db_last_id(struct db *db);
int64_t db_changes(struct db *db);       /* rows that the last statement changed */
int64_t db_total_changes(struct db *db); /* since the database was opened */
bool db_has_table(struct db *db, const char *name);
enum err db_is_empty(struct call *c, struct db *db, bool *empty); /* has no tables */

/* A table that a store uses, with its columns, up to a NULL. There may be other columns. */
struct db_table {
	const char *name;
	bool optional; /* the table may be missing */
	const char *columns[13];
};

/*
 * Checks a database that other programs may have created, before it is used: DAMAGED if one of
 * these tables is a view or a virtual table, lacks a column or has a trigger, or if SQLite would
 * evaluate an expression for it that is not in our own `schema`, or in `old`, the definitions of
 * earlier versions, or NULL; see db_schema.h. The list of tables ends with an entry without a name,
 * the schema with NULL. A database with exactly our schema is checked fastest.
 */
enum err db_expect(struct call *c, struct db *db, const struct db_table *tables,
		   const char *const *schema, const char *old);

/* For a cache, which nobody else changes: DAMAGED unless it has exactly this schema. */
enum err db_expect_exact(struct call *c, struct db *db, const char *const *schema);

/* Changes the timeout of later queries; for tests. */
void db_limit_time(struct db *db, int ms);

/* Attaches another database as `old`, to copy rows from it. */
enum err db_attach_old(struct call *c, struct db *db, struct str path);

/* A quick check of the structure; DAMAGED if it fails. */
enum err db_check(struct call *c, struct db *db);

struct stmt *db_stmt(struct db *db, const char *sql);
struct stmt *db_stmt_once(struct db *db, struct str sql); /* generated text, not a literal */
void stmt_done(struct stmt **st);
#define AUTO_STMT __attribute__((cleanup(stmt_done))) struct stmt

void stmt_bind_str(struct stmt *st, struct str s); /* an absent string: NULL */
void stmt_bind_blob(struct stmt *st, struct str s);
void stmt_bind_int(struct stmt *st, int64_t v);

/* For numbered parameters that the SQL does not contain: always, or if `s` is absent. */
void stmt_skip(struct stmt *st, int count);
void stmt_bind_opt(struct stmt *st, struct str s);

bool stmt_row(struct stmt *st);                          /* true while there is a row */
struct str stmt_str(struct stmt *st, struct arena *mem); /* NULL: absent */
int64_t stmt_int(struct stmt *st);

/*
 * Columns whose text is JSON, or one of a few words. Other programs can store values that our
 * tables would not allow; then `otherwise` is returned.
 */
struct str stmt_json(struct stmt *st, struct arena *mem, struct str otherwise);
int stmt_word(struct stmt *st, struct arena *mem, const struct names *words, int otherwise);

/* A LIKE pattern, with ESCAPE '\', for texts that have this text anywhere. */
struct str stmt_like(struct arena *mem, struct str text);

/* An FTS5 expression for texts in which every word begins a word. `column` is "", or "name : ". */
struct str stmt_match(struct arena *mem, struct str words, const char *column);

int64_t stmt_int_or(struct stmt *st, int64_t absent);
enum err stmt_end(struct call *c, struct stmt *st); /* reports the first error */
enum err stmt_run(struct call *c, struct stmt *st); /* for statements without rows */

#endif
