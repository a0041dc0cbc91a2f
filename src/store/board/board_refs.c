#include "store/board/board_refs.h"

#include "store/board/board_db.h"
#include "store/board/board_messages.h"
#include "store/db/db.h"

enum { LAG = 64 }; /* messages without references by which the index may lag behind */

static enum err board_refs_known(struct call *c, struct board *b, int64_t *upto)
{
	AUTO_STMT *st = db_stmt(b->db, "SELECT message FROM refs WHERE ref = ''");

	*upto = stmt_row(st) ? stmt_int(st) : 0;
	return stmt_end(c, st);
}

static enum err board_refs_extend(struct call *c, struct board *b, int64_t upto)
{
	AUTO_STMT *add = db_stmt(b->db, "INSERT OR IGNORE INTO refs"
					" SELECT json_extract(m.refs, r.fullkey || '.where') || ':'"
					" || json_extract(m.refs, r.fullkey || '.what') || ':'"
					" || (m.refs -> (r.fullkey || '.ref')), m.id"
					" FROM messages m, json_each(m.refs) r"
					" WHERE m.id > ? AND m.refs <> '[]' AND r.type = 'object'");

	stmt_bind_int(add, upto);
	return stmt_run(c, add);
}

static enum err board_refs_mark(struct call *c, struct board *b, int64_t upto)
{
	AUTO_STMT *st = db_stmt(b->db, "UPDATE refs SET message = ? WHERE ref = ''");

	stmt_bind_int(st, upto);
	return stmt_run(c, st);
}

enum err refs_follow(struct call *c, struct board *b, const struct message *m)
{
	int64_t upto;
	enum err e;

	if (str_is(m->refs, "[]") && m->id % LAG)
		return ERR_OK;
	if ((e = board_refs_known(c, b, &upto)) || (e = board_refs_extend(c, b, upto)))
		return e;
	return board_refs_mark(c, b, m->id);
}

enum err refs_forget(struct call *c, struct board *b)
{
	return db_exec(c, b->db,
		       "DELETE FROM refs WHERE ref <> ''"
		       " AND message NOT IN (SELECT id FROM messages)");
}
