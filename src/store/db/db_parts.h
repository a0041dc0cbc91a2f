#ifndef STORE_DB_DB_PARTS_H
#define STORE_DB_DB_PARTS_H

#include <sqlite3.h>

#include "base/system/platform.h"
#include "store/db/db.h"

/* Shared by db.c (connections), stmt.c (statements) and db_expect.c (checks of the schema). */

enum {
	STMTS_MOST = 64, /* statements of one connection from literals */
	MADE_KEPT = 8,   /* statements of one connection from generated text, for later use */
};

struct stmt {
	struct db *db;
	const char *sql;
	sqlite3_stmt *raw;
	int bound, column;
	int64_t deadline; /* 0: not started */
	int failed;       /* the first error since it was handed out; SQLITE_OK: none */
	bool lent;
	char *made; /* its text, if generated; such a statement is not in `cache` */
};

struct db {
	sqlite3 *raw;
	int log_pages; /* pages in the log after the last commit */
	int log_most;  /* limit above which the log is emptied */
	bool scratch;  /* a cache, which can be rebuilt */
	int wait_ms;   /* how long to wait for another process's lock */
	struct str path;
	struct str real; /* the path without links above the file */
	struct stmt cache[STMTS_MOST];
	int cached;
	struct stmt *made[MADE_KEPT]; /* unused, most recently used first */
	char *name;                   /* a copy of the path, while the connection is kept open */
	bool too_long;                /* the path is too long for SQLite, and has no alias */
	int folder;                 /* an open folder, if its path is too long for SQLite; or -1 */
	char alias[PLATFORM_ALIAS]; /* alias path of that folder */
	enum db_mode mode;
	uint64_t file;    /* identifies the file */
	bool spoilt;      /* an error occurred: do not keep it open */
	bool distrusted;  /* other users may have written it; see db_expect() */
	int query_ms;     /* timeout of a query; 0: none */
	int64_t deadline; /* deadline of the running query */
	char *guard;      /* how the names of its files begin; NULL: not guarded (db_guard.h) */
	bool refused;     /* one of its files was not safe */
	struct db *next_guarded;
};

/* Records the error of SQLite as a failure of the call. */
enum err db_fail(struct call *c, struct db *db, int rc);

/* The time that a query may take begins now. */
void db_begin_query(struct db *db);

void stmt_free(struct stmt *st); /* of generated text; or NULL */

#endif
