#ifndef STORE_DB_RECEIPT_DB_H
#define STORE_DB_RECEIPT_DB_H

#include "store/receipt.h"

struct db;
struct stmt;

/*
 * `receipts.db`: what was answered to request ids, so that a request that is repeated is not
 * carried out twice. A row is found by a digest of the actor and the id. The last RECEIPT_REPLIES
 * bytes of replies are kept whole; of older ones only what the request was and which things it
 * was about.
 */

/* A receipt goes when it is this old and so many newer ones are there: a clock that is set
 * forward by a month forgets nothing that somebody may still repeat. */
#define RECEIPT_KEPT_MS (INT64_C(30) * 24 * 3600 * 1000)
enum { RECEIPT_FLOOR = 10000, RECEIPT_REPLIES = 16 << 20 };

struct receipt_db {
	struct db *db; /* NULL: there is none yet */
	bool inside;   /* the tables are RECEIPT_TABLES, in the database of another store */
};

/*
 * The board and continuity keep receipts in their own database, so that a request and its receipt
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
 * Earlier versions had one table, which kept every reply. For a writer that has begun its
 * transaction: makes the tables, and moves the newest rows of the old one; the old table is dropped
 * once it is empty. Few rows at a time, so that no command takes long.
 */
struct receipt_old {
	const char *table;
	const char
		*newest; /* selects actor, id, operation, arguments, reply, time of RECEIPT_MOVED */
	const char *remove; /* the same rows */
	const char *find;   /* selects operation, arguments, reply by actor and id */
	const char *drop;
};
#define RECEIPT_MOVED "256"
enum err receipt_db_upgrade(struct call *c, struct db *db, const struct receipt_old *old);

/* As receipt_db_find(), in the tables and in what is left of the old one. */
enum err receipt_db_find_inside(struct call *c, struct db *db, const struct receipt_old *old,
				struct receipt *r);

/* For reading, a database that is not there has no receipts. */
enum err receipt_db_open(struct call *c, struct str path, bool write, struct receipt_db *out);
void receipt_db_close(struct receipt_db *r);

/* By its actor and id; `op` is absent if there is none. */
enum err receipt_db_find(struct call *c, struct receipt_db *db, struct receipt *r);

/* Durable after receipt_db_commit(). One that is there already stays as it is. */
enum err receipt_db_put(struct call *c, struct receipt_db *db, const struct receipt *r);
enum err receipt_db_commit(struct call *c, struct receipt_db *db);

/*
 * For a cache that keeps receipts in one table, with columns for the actor, the id, the operation,
 * the arguments, the reply and the time. The statement selects operation, arguments and reply by
 * actor and id; or inserts all six.
 */
enum err receipt_row_find(struct call *c, struct stmt *st, struct receipt *r);
enum err receipt_row_put(struct call *c, struct stmt *st, const struct receipt *r);

#endif
