#ifndef STORE_DB_BOARD_REFS_H
#define STORE_DB_BOARD_REFS_H

#include "base/call.h"

struct board;
struct message;

/*
 * An index from references to messages. It may lag behind: its row for the empty reference says up
 * to which message it is complete, and a query scans the few messages after that. So messages that
 * other programs add to the board are found, too.
 */

/* Called after a message was inserted, in the same transaction. */
enum err refs_follow(struct call *c, struct board *b, const struct message *m);

/* Called after messages were deleted, in the same transaction. */
enum err refs_forget(struct call *c, struct board *b);

/*
 * SQL for the ids of the messages with a reference. Parameters: ?7 where, ?8 what, ?9 ref as JSON.
 * REFS_INDEXED needs the table `refs`.
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
