#ifndef STORE_DB_DB_H
#define STORE_DB_DB_H

#include "base/call.h"

struct names;

/*
 * One SQLite connection. Only this module knows that it is SQLite. A database may come from
 * somebody else: views, triggers and functions in its schema are not run, values are at most
 * FILE_MOST bytes long (DAMAGED), and a query takes at most 30 s (QUERY_TIMEOUT).
 */
struct db;

/*
 * A prepared statement on loan. The SQL of db_stmt() is a literal: it is compiled once per
 * connection and found again by the literal's address. Parameters are bound, and columns read,
 * from left to right. An error on the way makes every later step a no-op; stmt_end() reports the
 * first one.
 */
struct stmt;

enum db_mode {
	DB_READ,    /* also where nothing can be written */
	DB_WRITE,   /* must exist */
	DB_CREATE,  /* made if it does not exist */
	DB_SCRATCH, /* as DB_WRITE, but a commit is not synced, and leaves no log behind */
	DB_STILL,   /* a file that does not change while it is read */
};

/* Waits for others up to `wait_ms`, here and later, then it is DATABASE_BUSY. */
enum err db_open(struct call *c, struct str path, enum db_mode mode, int wait_ms, struct db **out);
void db_close(struct db *db);

/*
 * A new database with these statements, which end with NULL. It appears whole, by a rename, so
 * that a process that is killed leaves none, and in WAL mode, so that our own databases never have
 * a rollback journal. Logs that lie there are kept under another name: SQLite would play them into
 * the new file. One process at a time.
 */
enum err db_make(struct call *c, struct str path, const char *const *schema);

/* For a process that stays: what is closed from here on is kept open for the next call that wants
 * the same, as long as it is the same file. */
void db_keep(void);
bool db_keeps(void);

enum err db_exec(struct call *c, struct db *db, const char *sql);

/* From here on all reads see one state, until something is written. */
enum err db_snapshot(struct call *c, struct db *db);

/* A write transaction, durable after db_commit(). */
enum err db_begin(struct call *c, struct db *db);
enum err db_commit(struct call *c, struct db *db);
void db_rollback(struct db *db);

/*
 * For notes that may be lost, such as what a reader has seen: never waits, never fails, costs no
 * sync. False: somebody else writes, or nothing can be written.
 */
bool db_begin_lazy(struct db *db);

int64_t db_last_id(struct db *db);
int64_t db_changes(struct db *db);
bool db_has_table(struct db *db, const char *name);
enum err db_is_empty(struct call *c, struct db *db, bool *empty); /* has no tables */

/* A table that a store uses, and its columns, up to a NULL. Others may be beside them. */
struct db_table {
	const char *name;
	bool optional; /* it need not be there */
	const char *columns[13];
};

/*
 * For a database that others may have made, before it is used: DAMAGED if one of these is a view
 * or a virtual table, lacks a column or has a trigger, or if SQLite would evaluate something for
 * it that is not in our own `schema`; see db_schema.h. The list of tables ends with one without a
 * name, the statements of the schema with NULL.
 */
enum err db_expect(struct call *c, struct db *db, const struct db_table *tables,
		   const char *const *schema);

/* The last part of it alone. */
enum err db_expect_schema(struct call *c, struct db *db, const char *const *schema);

/* Another limit for the queries from here on; for tests. */
void db_limit_time(struct db *db, int ms);

/* Another database beside it, as `old`, from which rows are saved. */
enum err db_attach_old(struct call *c, struct db *db, struct str path);

/* A quick look at its structure: DAMAGED if it is not sound. */
enum err db_check(struct call *c, struct db *db);

struct stmt *db_stmt(struct db *db, const char *sql);
struct stmt *db_stmt_once(struct db *db, struct str sql); /* made up for this one use */
void stmt_done(struct stmt **st);
#define AUTO_STMT __attribute__((cleanup(stmt_done))) struct stmt

void stmt_bind_str(struct stmt *st, struct str s); /* an absent string: NULL */
void stmt_bind_int(struct stmt *st, int64_t v);

/* For numbered parameters that the SQL has left out, always or if `s` is absent. */
void stmt_skip(struct stmt *st, int count);
void stmt_bind_opt(struct stmt *st, struct str s);

bool stmt_row(struct stmt *st);                          /* true while there is a row */
struct str stmt_str(struct stmt *st, struct arena *mem); /* NULL: absent */
int64_t stmt_int(struct stmt *st);

/*
 * Columns whose text is JSON, or one of a few words. Other programs can write what our tables
 * would not allow: `otherwise` is read instead.
 */
struct str stmt_json(struct stmt *st, struct arena *mem, struct str otherwise);
int stmt_word(struct stmt *st, struct arena *mem, const struct names *words, int otherwise);

int64_t stmt_int_or(struct stmt *st, int64_t absent);
enum err stmt_end(struct call *c, struct stmt *st); /* did it all go well? */
enum err stmt_run(struct call *c, struct stmt *st); /* for what gives no rows */

#endif
