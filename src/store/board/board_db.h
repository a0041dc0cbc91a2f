#ifndef STORE_DB_BOARD_DB_H
#define STORE_DB_BOARD_DB_H

#include "base/system/lock.h"
#include "store/receipt.h"

struct db;

/*
 * The blackboard on disk: `.bb/blackboard.db`, with the three tables of the Blackboard
 * specification and, beside them, what readers have seen and the receipts of request ids. Opened,
 * used and closed by every operation.
 */
struct mend;

struct board {
	struct str root; /* the project's */
	struct db *db;
	uint64_t file;    /* which database it is: it may be removed meanwhile */
	struct lock lock; /* writers queue here, in order */
	bool writing;
	bool tracked; /* it has our tables beside the specification's */
};

/* What a message or artifact points to: a triple such as tt:issue:42. */
struct ref {
	struct str where, what;
	struct str json; /* the third part: a number if it is all digits, else a string */
};

enum board_mode { BOARD_READ, BOARD_WRITE };

/* NOT_INITIALIZED where there is none. For writing, a transaction is begun. */
enum err board_open(struct call *c, enum board_mode mode, struct board *out);
enum err board_commit(struct call *c, struct board *b);

/* What an error was really: a board that was destroyed meanwhile is NOT_INITIALIZED. */
enum err board_explain(struct call *c, struct board *b, enum err e);
void board_close(struct board *b); /* without a commit: nothing was written */

enum board_made { BOARD_MADE, BOARD_THERE, BOARD_REPLACED };

/* UNSAFE_PATH if the folder of a board that is in `root`, or will be, is refused. */
enum err board_check(struct call *c, struct str root);

/* Makes a board, or finds one; a damaged database is kept aside under `aside`. */
enum err board_make(struct call *c, struct str root, enum board_made *made, struct str *aside);
enum err board_destroy(struct call *c, struct str root);

/* Removes what a board_destroy() that was killed has left there. */
void board_sweep(struct call *c, struct str root);

/* How many rows the three tables have, to be shown before they are deleted. */
struct board_counts {
	int64_t agents, messages, artifacts;
};
enum err board_count(struct call *c, struct board *b, struct board_counts *out);

/* Durable with board_commit(). The arguments are kept as JSON, not as a digest. */
struct receipts board_receipts(struct board *b);

/* Looks at the board's database; a damaged one is repaired, if that is asked for. */
enum err board_mend(struct call *c, struct mend *m);

#endif
