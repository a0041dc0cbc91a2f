#ifndef STORE_DB_BOARD_REFS_H
#define STORE_DB_BOARD_REFS_H

#include "base/call.h"

struct board;
struct message;

/*
 * An index from references to the messages that have them. It may lag behind: its row for the
 * empty reference says up to which message it is complete, and a query looks through the few
 * after that. So it also stands up to messages that other programs put into the board.
 */

/* After a message was put, in its transaction. */
enum err refs_follow(struct call *c, struct board *b, const struct message *m);

/* After messages were deleted, in that transaction. */
enum err refs_forget(struct call *c, struct board *b);

/*
 * SQL: the ids of the messages with a reference. Parameters: ?7 where, ?8 what, ?9 ref as JSON;
 * the first form wants the index.
 */
#define REFS_MATCH(refs)                                         \
	" json_extract(" refs ", r.fullkey || '.where') = ?7"    \
	" AND json_extract(" refs ", r.fullkey || '.what') = ?8" \
	" AND (" refs " -> (r.fullkey || '.ref')) = ?9"
#define REFS_LOOK(after)                                                        \
	" SELECT n.id FROM messages n, json_each(n.refs) r WHERE n.id > " after \
	" AND n.refs <> '[]' AND" REFS_MATCH("n.refs")
#define REFS_INDEXED                                                         \
	" SELECT message FROM refs WHERE ref = ?7 || ':' || ?8 || ':' || ?9" \
	" UNION ALL" REFS_LOOK("(SELECT message FROM refs WHERE ref = '')")
#define REFS_UNINDEXED REFS_LOOK("0")

#endif
