#include "store/board/board_refs.h"

#include "store/board/board_db.h"
#include "store/board/board_messages.h"
#include "store/db/row.h"

enum { LAG = 64 }; /* messages without references by which the index may lag behind */

enum err refs_follow(struct call *c, struct board *b, const struct message *m)
{
	int64_t upto;
	enum err e;

	if (str_is(m->refs, "[]") && m->id % LAG)
		return ERR_OK;
	if ((e = db_number(c, b->db, "SELECT message FROM refs WHERE ref = ''", NULL, &upto)) ||
	    (e = db_run(c, b->db,
			"INSERT OR IGNORE INTO refs"
			" SELECT json_extract(m.refs, r.fullkey || '.where') || ':'"
			" || json_extract(m.refs, r.fullkey || '.what') || ':'"
			" || (m.refs -> (r.fullkey || '.ref')), m.id"
			" FROM messages m, json_each(m.refs) r"
			" WHERE m.id > ? AND m.refs <> '[]' AND r.type = 'object'",
			BIND(upto))))
		return e;
	return db_run(c, b->db, "UPDATE refs SET message = ? WHERE ref = ''", BIND(m->id));
}

enum err refs_forget(struct call *c, struct board *b)
{
	return db_exec(c, b->db,
		       "DELETE FROM refs WHERE ref <> ''"
		       " AND message NOT IN (SELECT id FROM messages)");
}
