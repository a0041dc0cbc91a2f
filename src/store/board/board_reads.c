#include "store/board/board_reads.h"

#include "store/board/board_db.h"
#include "store/board/board_messages.h"
#include "store/db/row.h"

enum err reads_each(struct call *c, struct board *b, struct str agent, struct span **out)
{
	AUTO_STMT *st = NULL;

	*out = NULL;
	if (!b->tracked)
		return ERR_OK;
	st = db_stmt(b->db, "SELECT first, last FROM reads WHERE agent = ? ORDER BY first");
	stmt_bind_str(st, agent);
	for (; stmt_row(st); out = &(*out)->next) {
		*out = arena_new(&c->mem, struct span);
		(*out)->first = stmt_int(st);
		(*out)->last = stmt_int(st);
	}
	return stmt_end(c, st);
}

/* Widens the span to cover all spans that it touches, and deletes those. */
static enum err board_reads_absorb(struct call *c, struct board *b, struct str agent,
				   struct span *span)
{
	AUTO_STMT *find =
		db_stmt(b->db, "SELECT min(first), max(last) FROM reads"
			       " WHERE agent = ?1 AND first <= ?3 + 1 AND last >= ?2 - 1");
	const struct stmt_param *params = PARAMS(BIND(agent), BIND(span->first), BIND(span->last));
	AUTO_STMT *drop =
		db_stmt(b->db, "DELETE FROM reads"
			       " WHERE agent = ?1 AND first <= ?3 + 1 AND last >= ?2 - 1");
	enum err e;

	stmt_bind(find, params);
	stmt_bind(drop, params);
	if (stmt_row(find)) {
		int64_t first = stmt_int_or(find, span->first);
		int64_t last = stmt_int_or(find, span->last);

		span->first = first < span->first ? first : span->first;
		span->last = last > span->last ? last : span->last;
	}
	if ((e = stmt_end(c, find)))
		return e;
	return stmt_run(c, drop);
}

static enum err board_reads_insert(struct call *c, struct board *b, struct str agent,
				   struct span span)
{
	enum err e = board_reads_absorb(c, b, agent, &span);

	return e ? e :
		   db_run(c, b->db, "INSERT INTO reads (agent, first, last) VALUES (?, ?, ?)",
			  BIND(agent), BIND(span.first), BIND(span.last));
}

/* The usual case: the span extends the agent's last span. */
static enum err board_reads_lengthen(struct call *c, struct board *b, struct str agent,
				     struct span span, bool *done)
{
	enum err e = db_run(c, b->db,
			    "UPDATE reads SET last = ?3 WHERE agent = ?1"
			    " AND last BETWEEN ?2 - 1 AND ?3"
			    " AND first = (SELECT max(first) FROM reads"
			    "  WHERE agent = ?1) AND first <= ?2",
			    BIND(agent), BIND(span.first), BIND(span.last));

	*done = !e && db_changes(b->db);
	return e;
}

enum err reads_add(struct call *c, struct board *b, struct str agent, struct span span)
{
	bool done;
	enum err e = board_reads_lengthen(c, b, agent, span, &done);

	return e || done ? e : board_reads_insert(c, b, agent, span);
}

bool reads_note(struct board *b, struct str agent, const struct span *spans)
{
	struct call quiet = { 0 };
	enum err e = ERR_OK;

	if (!spans)
		return true;
	if (!b->tracked || !db_begin_lazy(b->db))
		return false;
	for (; spans && !e; spans = spans->next)
		e = reads_add(&quiet, b, agent, *spans);
	if (e || (e = db_commit(&quiet, b->db)))
		db_rollback(b->db);
	call_release(&quiet);
	return !e;
}

/*
 * An index finds the two highest priorities; for the others, only the first few messages are
 * checked.
 */
static enum err board_reads_highest(struct call *c, struct board *b, struct gap gap, int64_t most,
				    int *priority)
{
	AUTO_STMT *st = db_stmt(
		b->db, "SELECT coalesce("
		       "(SELECT max(priority = 'critical') + 2 FROM messages"
		       " WHERE priority IN ('high', 'critical') AND id > ?1 AND id < ?2),"
		       "(SELECT 1 FROM (SELECT priority FROM messages WHERE id > ?1 AND id < ?2"
		       " LIMIT ?3) WHERE priority = 'normal' LIMIT 1), 0)");
	int found;

	stmt_bind_int(st, gap.after);
	stmt_bind_int(st, gap.before);
	stmt_bind_int(st, most);
	if (stmt_row(st) && (found = (int)stmt_int(st)) > *priority)
		*priority = found;
	return stmt_end(c, st);
}

enum err gap_count(struct call *c, struct board *b, struct gap gap, int64_t most, int64_t *count,
		   int *priority)
{
	enum err e = db_number(c, b->db,
			       "SELECT count(*) FROM (SELECT 1 FROM messages"
			       " WHERE id > ? AND id < ? LIMIT ?)",
			       PARAMS(BIND(gap.after), BIND(gap.before), BIND(most)), count);

	if (e || (!*count && most))
		return e;
	return board_reads_highest(c, b, gap, most, priority);
}
