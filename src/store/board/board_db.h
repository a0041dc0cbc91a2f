#ifndef STORE_DB_BOARD_DB_H
#define STORE_DB_BOARD_DB_H

#include "base/system/lock.h"
#include "store/receipt.h"

struct db;

/*
 * The blackboard on disk: `.bb/blackboard.db`, with the three tables of the Blackboard
 * specification and our own tables for read positions, references and receipts of request ids.
 * Every operation opens, uses and closes it.
 */
struct mend;

struct board {
	struct str root; /* the project's root */
	struct db *db;
	uint64_t file;    /* identifies the database file, which may be removed meanwhile */
	struct lock lock; /* queue of the writers */
	bool writing;
	bool tracked; /* it has our own tables */
};

/* A reference of a message or artifact: a triple such as tt:issue:42. */
struct ref {
	struct str where, what;
	struct str json; /* the third part: a number if all digits, else a string */
};

enum board_mode { BOARD_READ, BOARD_WRITE };

/* NOT_INITIALIZED if there is no board. For writing, begins a transaction. */
enum err board_open(struct call *c, enum board_mode mode, struct board *out);
enum err board_commit(struct call *c, struct board *b);

/* Finds the cause of an error: NOT_INITIALIZED if the board was destroyed meanwhile. */
enum err board_explain(struct call *c, struct board *b, enum err e);
void board_close(struct board *b); /* rolls back unless board_commit() was called */

enum board_made { BOARD_MADE, BOARD_THERE, BOARD_REPLACED };

/* UNSAFE_PATH if the existing or future board folder in `root` is not safe to use. */
enum err board_check(struct call *c, struct str root);

/* Creates a board, or finds the existing one; a damaged database is moved to `aside`. */
enum err board_make(struct call *c, struct str root, enum board_made *made, struct str *aside);
enum err board_destroy(struct call *c, struct str root);

/* Removes the folders that a killed board_destroy() left behind. */
void board_sweep(struct call *c, struct str root);

/* The number of rows of the three tables, shown before they are deleted. */
struct board_counts {
	int64_t agents, messages, artifacts;
};
enum err board_count(struct call *c, struct board *b, struct board_counts *out);

/*
 * The board's receipts, durable with board_commit(). They store the arguments as JSON, not as a
 * digest.
 */
struct receipts board_receipts(struct board *b);

/* Checks the board's database, and repairs a damaged one if asked to. */
enum err board_mend(struct call *c, struct mend *m);

#endif
