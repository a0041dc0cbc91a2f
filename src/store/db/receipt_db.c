#include "store/db/receipt_db.h"

#include "store/db/row.h"

enum { VERSION = 1, WAIT_MS = 10000 };

/*
 * `bytes` is the total size of the replies. Replies have a table of their own, because deleting
 * them then frees whole pages, which later replies use again.
 */
static const char schema[] = "CREATE TABLE about (version INTEGER, bytes INTEGER);"
			     "INSERT INTO about VALUES (1, 0);"
			     "CREATE TABLE replies (n INTEGER PRIMARY KEY, reply TEXT NOT NULL);"
			     "CREATE TABLE receipts ("
			     "    n INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,"
			     "    op TEXT NOT NULL, args TEXT, at INTEGER NOT NULL, about TEXT);";

static const struct db_table tables[] = {
	{ "about", false, { "version", "bytes" } },
	{ "replies", false, { "n", "reply" } },
	{ "receipts", false, { "n", "key", "op", "args", "at", "about" } },
	{ 0 },
};

/* The statements for both locations of the tables: receipts.db, or another store's database. */
struct receipt_sql {
	const char *find, *put, *put_reply, *bytes, *add_bytes, *oldest, *drop_reply, *drop_old;
};

#define RECEIPT_SQL(bytes_table, replies, keys)                                              \
	{                                                                                    \
		.find = "SELECT op, args, at, about, reply FROM " keys " LEFT JOIN " replies \
			" USING (n) WHERE key = ?",                                          \
		.put = "INSERT OR IGNORE INTO " keys                                         \
		       " (key, op, args, at, about) VALUES (?, ?, ?, ?, ?)",                 \
		.put_reply = "INSERT INTO " replies " VALUES (?, ?)",                        \
		.bytes = "SELECT bytes FROM " bytes_table,                                   \
		.add_bytes = "UPDATE " bytes_table " SET bytes = bytes + ?",                 \
		.oldest = "SELECT n, length(CAST(reply AS BLOB)) FROM " replies              \
			  " WHERE n < ? ORDER BY n LIMIT 1",                                 \
		.drop_reply = "DELETE FROM " replies " WHERE n = ?",                         \
		.drop_old = "DELETE FROM " keys " WHERE n IN (SELECT n FROM " keys           \
			    " ORDER BY n LIMIT 2) AND n <= ? AND at < ?",                    \
	}

static const struct receipt_sql sql_of_file = RECEIPT_SQL("about", "replies", "receipts");
static const struct receipt_sql sql_inside =
	RECEIPT_SQL("receipt_bytes", "receipt_replies", "receipt_keys");

static const struct receipt_sql *receipt_sql(const struct receipt_db *r)
{
	return r->inside ? &sql_inside : &sql_of_file;
}

static enum err receipt_db_make(struct call *c, struct db *db)
{
	bool empty;
	enum err e = db_is_empty(c, db, &empty);

	return e || !empty ? e : db_exec(c, db, schema);
}

enum err receipt_db_open(struct call *c, struct str path, bool write, struct receipt_db *out)
{
	static const char *const ours[] = { schema, NULL };
	enum err e;

	*out = (struct receipt_db){ 0 };
	if ((e = db_open_own(c, path, write, WAIT_MS, ours, &out->db)) || !out->db)
		return e;
	if (write && ((e = db_begin(c, out->db)) || (e = receipt_db_make(c, out->db))))
		receipt_db_close(out);
	else if (!write && !db_has_table(out->db, "receipts")) /* its creator died */
		receipt_db_close(out);
	if (out->db && (e = db_expect(c, out->db, tables, ours, NULL)))
		receipt_db_close(out);
	return e;
}

void receipt_db_close(struct receipt_db *r)
{
	if (r->db)
		db_close(r->db);
	r->db = NULL;
}

enum err receipt_db_commit(struct call *c, struct receipt_db *r)
{
	return db_commit(c, r->db);
}

enum err receipt_row_find(struct call *c, struct stmt *st, struct receipt *r)
{
	stmt_bind_str(st, r->actor);
	stmt_bind_str(st, r->id);
	if (stmt_row(st)) {
		r->op = stmt_str(st, &c->mem);
		r->args = stmt_str(st, &c->mem);
		r->reply = stmt_str(st, &c->mem);
	}
	return stmt_end(c, st);
}

enum err receipt_row_put(struct call *c, struct stmt *st, const struct receipt *r)
{
	stmt_bind(st, PARAMS(BIND(r->actor), BIND(r->id), BIND(r->op), BIND(r->args),
			     BIND(r->reply), BIND(r->at)));
	return stmt_run(c, st);
}

enum err receipt_db_find(struct call *c, struct receipt_db *db, struct receipt *r)
{
	if (!db->db)
		return ERR_OK;

	AUTO_STMT *st = db_stmt(db->db, receipt_sql(db)->find);

	stmt_bind_str(st, receipt_key(c, r->actor, r->id));
	if (stmt_row(st)) {
		r->op = stmt_str(st, &c->mem);
		r->args = stmt_str(st, &c->mem);
		r->at = stmt_int(st);
		r->about = stmt_str(st, &c->mem);
		r->reply = stmt_str(st, &c->mem);
	}
	return stmt_end(c, st);
}

/* --- expiry --- */

static enum err add_bytes(struct call *c, struct receipt_db *in, int64_t more)
{
	return db_run(c, in->db, receipt_sql(in)->add_bytes, BIND(more));
}

static enum err receipt_db_put_reply(struct call *c, struct receipt_db *in, int64_t n,
				     struct str reply)
{
	enum err e;

	if (!reply.p)
		return ERR_OK;
	e = db_run(c, in->db, receipt_sql(in)->put_reply, BIND(n), BIND(reply));
	return e ? e : add_bytes(c, in, (int64_t)reply.n);
}

/*
 * The total size of the replies. It is stored in a row, so that reading it does not depend on the
 * number of replies.
 */
static enum err count_bytes(struct call *c, struct receipt_db *in, int64_t *bytes)
{
	return db_number(c, in->db, receipt_sql(in)->bytes, NULL, bytes);
}

/* The oldest reply before that of receipt `last`; `n` is 0 if there is none. */
static enum err find_oldest_reply(struct call *c, struct receipt_db *in, int64_t last, int64_t *n,
				  int64_t *bytes)
{
	AUTO_STMT *st = db_stmt(in->db, receipt_sql(in)->oldest);

	*n = *bytes = 0;
	stmt_bind_int(st, last);
	if (stmt_row(st)) {
		*n = stmt_int(st);
		*bytes = stmt_int(st);
	}
	return stmt_end(c, st);
}

/*
 * Drops the oldest replies until the others fit. Each reply is dropped once, so the cost is
 * proportional to storing them. The newest reply stays, whatever its size: its request may be
 * repeated at once.
 */
static enum err bound_replies(struct call *c, struct receipt_db *in, int64_t last)
{
	int64_t n, bytes, all;
	enum err e;

	while (!(e = count_bytes(c, in, &all)) && all > RECEIPT_REPLIES &&
	       !(e = find_oldest_reply(c, in, last, &n, &bytes)) && n)
		if ((e = db_run(c, in->db, receipt_sql(in)->drop_reply, BIND(n))) ||
		    (e = add_bytes(c, in, -bytes)))
			break;
	return e;
}

enum err receipt_db_put(struct call *c, struct receipt_db *in, const struct receipt *r)
{
	int64_t last;
	enum err e = db_run(c, in->db, receipt_sql(in)->put, BIND(receipt_key(c, r->actor, r->id)),
			    BIND(r->op), BIND(r->args), BIND(r->at),
			    BIND(r->about.p ? r->about : receipt_about(c, r->reply)));

	if (e || !db_changes(in->db))
		return e;
	last = db_last_id(in->db);
	if ((e = receipt_db_put_reply(c, in, last, r->reply)) || (e = bound_replies(c, in, last)))
		return e;
	/* Each new receipt removes up to two old ones, if they have expired. */
	return db_run(c, in->db, receipt_sql(in)->drop_old, BIND(last - RECEIPT_FLOOR),
		      BIND(r->at - RECEIPT_KEPT_MS));
}

/* --- receipts in another store's database --- */

/* A moved receipt gets only the remaining room, so that it displaces no newer reply. */
static enum err receipt_db_move(struct call *c, struct receipt_db *in, struct receipt *r)
{
	int64_t bytes;
	enum err e = count_bytes(c, in, &bytes);

	r->about = receipt_about(c, r->reply);
	if (bytes + (int64_t)r->reply.n > RECEIPT_REPLIES)
		r->reply = STR_NONE;
	return e ? e : receipt_db_put(c, in, r);
}

static enum err receipt_db_move_some(struct call *c, struct receipt_db *in,
				     const struct receipt_old *old, int *moved)
{
	AUTO_STMT *st = db_stmt(in->db, old->newest);
	struct call part = call_part(c);
	enum err e = ERR_OK;

	for (*moved = 0; !e && stmt_row(st); ++*moved) {
		struct receipt r = { .actor = stmt_str(st, &part.mem) };

		r.id = stmt_str(st, &part.mem);
		r.op = stmt_str(st, &part.mem);
		r.args = stmt_str(st, &part.mem);
		r.reply = stmt_str(st, &part.mem);
		r.at = stmt_int(st);
		e = receipt_db_move(&part, in, &r);
		if (!e)
			arena_reset(&part.mem);
	}
	e = call_part_end(c, &part, e);
	return e ? e : stmt_end(c, st);
}

enum err receipt_db_upgrade(struct call *c, struct db *db, const struct receipt_old *old)
{
	struct receipt_db in = { .db = db, .inside = true };
	int moved;
	enum err e;

	if (!db_has_table(db, "receipt_keys") && (e = db_exec(c, db, RECEIPT_TABLES)))
		return e;
	if (!db_has_table(db, old->table))
		return ERR_OK;
	if ((e = receipt_db_move_some(c, &in, old, &moved)))
		return e;
	return db_exec(c, db, moved ? old->remove : old->drop);
}

enum err receipt_db_find_inside(struct call *c, struct db *db, const struct receipt_old *old,
				struct receipt *r)
{
	struct receipt_db in = { .db = db, .inside = true };
	enum err e = receipt_db_find(c, &in, r);

	if (e || r->op.p || !db_has_table(db, old->table))
		return e;

	AUTO_STMT *st = db_stmt(db, old->find);

	return receipt_row_find(c, st, r);
}
