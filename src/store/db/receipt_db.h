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
enum { RECEIPT_FLOOR = 10000, RECEIPT_REPLIES = 16 << 20, RECEIPT_SWEEP = 64 };

struct receipt_db {
	struct db *db; /* NULL: there is none yet */
};

/* For reading, a database that is not there has no receipts. */
enum err receipt_db_open(struct call *c, struct str path, bool write, struct receipt_db *out);
void receipt_db_close(struct receipt_db *r);

/* By its actor and id; `op` is absent if there is none. */
enum err receipt_db_find(struct call *c, struct receipt_db *db, struct receipt *r);

/* Durable after receipt_db_commit(). One that is there already stays as it is. */
enum err receipt_db_put(struct call *c, struct receipt_db *db, const struct receipt *r);
enum err receipt_db_commit(struct call *c, struct receipt_db *db);

/*
 * For stores that keep receipts in a table of their own, with columns for the actor, the id, the
 * operation, the arguments, the reply and the time. The statement selects operation, arguments and
 * reply by actor and id; or inserts all six.
 */
enum err receipt_row_find(struct call *c, struct stmt *st, struct receipt *r);
enum err receipt_row_put(struct call *c, struct stmt *st, const struct receipt *r);

#endif
