#ifndef STORE_DB_RECEIPT_DB_H
#define STORE_DB_RECEIPT_DB_H

#include "store/receipt.h"

struct db;
struct stmt;

/*
 * `receipts.db`: the replies to request ids, so that a repeated request is not carried out twice. A
 * row is found by a digest of the actor and the id. The last RECEIPT_REPLIES bytes of replies are
 * stored completely; of older ones only the request and the ids of the reply.
 */

/*
 * A receipt expires when it is this old and there are this many newer ones: so a clock that is set
 * forward by a month does not expire receipts of recent requests.
 */
#define RECEIPT_KEPT_MS (INT64_C(30) * 24 * 3600 * 1000)
enum { RECEIPT_FLOOR = 10000, RECEIPT_REPLIES = 16 << 20 };

struct receipt_db {
	struct db *db; /* NULL: the database does not exist yet */
	bool inside;   /* the tables are RECEIPT_TABLES, in the database of another store */
};

/*
 * The board and continuity store receipts in their own database, so that a request and its receipt
 * are one transaction.
 */
#define RECEIPT_TABLES                                                               \
	"CREATE TABLE receipt_bytes (bytes INTEGER NOT NULL);"                       \
	"INSERT INTO receipt_bytes VALUES (0);"                                      \
	"CREATE TABLE receipt_replies (n INTEGER PRIMARY KEY, reply TEXT NOT NULL);" \
	"CREATE TABLE receipt_keys ("                                                \
	"    n INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,"         \
	"    op TEXT NOT NULL, args TEXT, at INTEGER NOT NULL, about TEXT);"
#define RECEIPT_TABLES_MEND          \
	"DELETE FROM receipt_bytes;" \
	"INSERT INTO receipt_bytes"  \
	" SELECT coalesce(sum(length(CAST(reply AS BLOB))), 0) FROM receipt_replies;"
#define RECEIPT_TABLE_ROWS                                                                     \
	{ "receipt_bytes", true, { "bytes" } }, { "receipt_replies", true, { "n", "reply" } }, \
	{                                                                                      \
		"receipt_keys", true,                                                          \
		{                                                                              \
			"n", "key", "op", "args", "at", "about"                                \
		}                                                                              \
	}

/*
 * Earlier versions had one table with every reply. For a writer that has begun its transaction:
 * creates the new tables, and moves the newest rows of the old table, which is dropped once it is
 * empty. Only a few rows are moved at a time, so that no command takes long.
 */
struct receipt_old {
	const char *table;
	const char
		*newest; /* selects actor, id, operation, arguments, reply, time of RECEIPT_MOVED */
	const char *remove; /* removes the same rows */
	const char *find;   /* selects operation, arguments, reply by actor and id */
	const char *drop;
};
#define RECEIPT_MOVED "256"
enum err receipt_db_upgrade(struct call *c, struct db *db, const struct receipt_old *old);

/* Like receipt_db_find(), in the new tables and in the rest of the old one. */
enum err receipt_db_find_inside(struct call *c, struct db *db, const struct receipt_old *old,
				struct receipt *r);

/* Opens the database. For a reader, a missing database has no receipts. */
enum err receipt_db_open(struct call *c, struct str path, bool write, struct receipt_db *out);
void receipt_db_close(struct receipt_db *r);

/* Finds a receipt by its actor and id; `op` is absent if there is none. */
enum err receipt_db_find(struct call *c, struct receipt_db *db, struct receipt *r);

/* Stores a receipt, durable after receipt_db_commit(). An existing receipt is not changed. */
enum err receipt_db_put(struct call *c, struct receipt_db *db, const struct receipt *r);
enum err receipt_db_commit(struct call *c, struct receipt_db *db);

/*
 * For a cache with receipts in one table, with columns for the actor, the id, the operation, the
 * arguments, the reply and the time. The statement selects operation, arguments and reply by actor
 * and id, or inserts all six columns.
 */
enum err receipt_row_find(struct call *c, struct stmt *st, struct receipt *r);
enum err receipt_row_put(struct call *c, struct stmt *st, const struct receipt *r);

#endif
