#include "store/board/board_messages.h"

#include "base/buf.h"
#include "base/moment.h"
#include "store/board/board_db.h"
#include "store/board/board_refs.h"
#include "store/db/row.h"

const struct names priorities =
	NAMES_OF([PRIORITY_LOW] = "low", [PRIORITY_NORMAL] = "normal", [PRIORITY_HIGH] = "high",
		 [PRIORITY_CRITICAL] = "critical");

#define COLUMNS "id, from_agent, content, tags, priority, in_reply_to, refs, created_at"

static struct message *board_messages_decode(struct arena *mem, struct stmt *st)
{
	struct message *m = arena_new(mem, struct message);

	m->id = stmt_int(st);
	m->from_agent = stmt_str(st, mem);
	m->content = stmt_str(st, mem);
	m->tags = stmt_json(st, mem, STR("[]"));
	m->priority = stmt_word(st, mem, &priorities, PRIORITY_NORMAL);
	m->in_reply_to = stmt_int(st);
	m->refs = stmt_json(st, mem, STR("[]"));
	moment_parse(stmt_str(st, mem), &m->created_at);
	return m;
}

/*
 * The condition for each minimum priority. The two highest have a partial index, which gives their
 * ids.
 */
static const char *const at_least[] = {
	[PRIORITY_LOW] = "",
	[PRIORITY_NORMAL] = " AND priority <> 'low'",
	[PRIORITY_HIGH] = " AND id IN (SELECT id FROM messages"
			  " WHERE priority IN ('high', 'critical'))",
	[PRIORITY_CRITICAL] = (" AND id IN (SELECT id FROM messages WHERE priority = 'critical'"
			       " AND priority IN ('high', 'critical'))"),
};

/* Without any other condition, the newest few of each priority are enough. */
#define LAST_OF(word)                                                     \
	"SELECT id FROM (SELECT id FROM messages WHERE priority = '" word \
	"' AND priority IN ('high', 'critical') ORDER BY id DESC LIMIT ?10)"
static const char last_high[] =
	" AND id IN (" LAST_OF("high") " UNION ALL " LAST_OF("critical") ")";

static bool only_priority(const struct message_filter *f)
{
	return f->min_priority == PRIORITY_HIGH && !f->since && !f->from_agent.p && !f->tags.p &&
	       !f->ref && !f->after && !f->before && !f->oldest_first;
}

/* "2026-11-15 21:31:59": the format of SQLite's own functions. */
static struct str space_form(struct arena *mem, struct str moment)
{
	return arena_fmt(mem, "%.10s %.8s", moment.p, moment.p + 11);
}

static struct str board_messages_select_sql(struct arena *mem, const struct message_filter *f,
					    bool tracked)
{
	struct buf sql = { .mem = mem };

	buf_put(&sql, STR("SELECT " COLUMNS " FROM messages WHERE 1"));
	if (f->after || f->before)
		buf_put(&sql, STR(" AND id > ?1 AND id < ?2"));
	if (f->since)
		/*
		 * SQLite's format has a space instead of the T, so it sorts first on the same day
		 */
		buf_put(&sql, STR(" AND id IN (SELECT id FROM messages WHERE created_at >= ?3"
				  " UNION ALL SELECT id FROM messages WHERE created_at >= ?4"
				  " AND created_at < substr(?3, 1, 10) || '!')"));
	if (f->from_agent.p)
		buf_put(&sql, STR(" AND from_agent = ?5"));
	if (f->tags.p)
		buf_put(&sql, STR(" AND EXISTS (SELECT 1 FROM json_each(tags) t"
				  " JOIN json_each(?6) w ON w.value = t.value)"));
	if (only_priority(f))
		buf_put(&sql, str_of(last_high));
	else if (f->min_priority >= 0)
		buf_put(&sql, str_of(at_least[f->min_priority]));
	if (f->ref)
		buf_fmt(&sql, " AND id IN (%s)", tracked ? REFS_INDEXED : REFS_UNINDEXED);
	if (f->mentions.p)
		buf_put(&sql, STR(" AND (instr(content, ?11) OR instr(refs, ?11))"));
	buf_put(&sql, f->oldest_first ? STR(" ORDER BY id") : STR(" ORDER BY id DESC"));
	buf_put(&sql, STR(" LIMIT ?10"));
	return buf_str(&sql);
}

enum err message_each(struct call *c, struct board *b, const struct message_filter *f,
		      struct message **out)
{
	AUTO_STMT *st = db_stmt_once(b->db, board_messages_select_sql(&c->mem, f, b->tracked));
	const struct ref none = { 0 }, *ref = f->ref ? f->ref : &none;
	struct str since = { 0 };

	if (f->since) /* to the millisecond: created_at may have more digits or a zone after it */
		since = str_head(moment_format(&c->mem, f->since), 23);
	*out = NULL;
	if (f->after || f->before) {
		stmt_bind_int(st, f->after);
		stmt_bind_int(st, f->before ? f->before : INT64_MAX);
	} else {
		stmt_skip(st, 2);
	}
	stmt_bind_opt(st, since);
	stmt_bind_opt(st, since.p ? space_form(&c->mem, since) : since);
	stmt_bind_opt(st, f->from_agent);
	stmt_bind_opt(st, f->tags);
	stmt_bind_opt(st, ref->where);
	stmt_bind_opt(st, ref->what);
	stmt_bind_opt(st, ref->json);
	stmt_bind_int(st, f->limit ? f->limit : -1);
	stmt_bind_opt(st, f->mentions);
	for (; stmt_row(st); out = &(*out)->next)
		*out = board_messages_decode(&c->mem, st);
	return stmt_end(c, st);
}

enum err message_find(struct call *c, struct board *b, int64_t id, struct message **out)
{
	AUTO_STMT *st = db_stmt(b->db, "SELECT " COLUMNS " FROM messages WHERE id = ?");

	stmt_bind_int(st, id);
	*out = stmt_row(st) ? board_messages_decode(&c->mem, st) : NULL;
	return stmt_end(c, st);
}

enum err message_put(struct call *c, struct board *b, struct message *m)
{
	enum err e =
		db_run(c, b->db,
		       "INSERT INTO messages (from_agent, content, tags, priority,"
		       " in_reply_to, refs, created_at)"
		       " VALUES (?, ?, ?, ?, nullif(?, 0), ?, ?)",
		       BIND(m->from_agent), BIND(m->content), BIND(m->tags),
		       BIND(str_of(names_word(&priorities, m->priority))), BIND(m->in_reply_to),
		       BIND(m->refs), BIND(moment_format(&c->mem, m->created_at)));

	if (e)
		return e;
	m->id = db_last_id(b->db);
	return refs_follow(c, b, m);
}

enum err message_rename(struct call *c, struct board *b, struct str machine, struct str from,
			struct str to)
{
	return db_run(c, b->db,
		      "UPDATE messages SET from_agent = ? WHERE from_agent = ? AND"
		      " (SELECT machine FROM shared WHERE kind = 'post'"
		      " AND shared.id = messages.id) IS ?",
		      BIND(to), BIND(from), BIND(machine));
}

/*
 * A recursive query whose queue is sorted by depth, deepest first, and then by id walks a tree
 * depth first, but only as long as it is not joined with another table.
 */
#define THREAD                                                        \
	"WITH RECURSIVE thread(id, depth) AS (SELECT ?1, 0 UNION ALL" \
	" SELECT m.id, thread.depth + 1 FROM thread JOIN messages m"  \
	" ON m.in_reply_to = thread.id AND m.id > thread.id"          \
	" ORDER BY 2 DESC, 1)"

enum err message_thread(struct call *c, struct board *b, int64_t id, int64_t limit,
			struct message **out, int64_t *total)
{
	AUTO_STMT *st = db_stmt(b->db, THREAD " SELECT id FROM thread LIMIT ?2");
	enum err e;

	*out = NULL;
	stmt_bind(st, PARAMS(BIND(id), BIND(limit)));
	for (; stmt_row(st); out = &(*out)->next) {
		if ((e = message_find(c, b, stmt_int(st), out)))
			return e;
		if (!*out) /* deleted meanwhile */
			break;
	}
	e = stmt_end(c, st);
	return e ? e :
		   db_number(c, b->db, THREAD " SELECT count(*) FROM thread", PARAMS(BIND(id)),
			     total);
}

#define OLD                                                                         \
	"WITH RECURSIVE kept(id) AS (SELECT in_reply_to FROM messages"              \
	" WHERE julianday(created_at) >= julianday(?1) AND in_reply_to IS NOT NULL" \
	" UNION SELECT m.in_reply_to FROM messages m JOIN kept USING (id)"          \
	" WHERE m.in_reply_to IS NOT NULL)"
#define IS_OLD " julianday(created_at) < julianday(?1) AND id NOT IN kept"

enum err message_count_before(struct call *c, struct board *b, int64_t before, int64_t *out)
{
	return db_number(c, b->db, OLD " SELECT count(*) FROM messages WHERE" IS_OLD,
			 PARAMS(BIND(moment_format(&c->mem, before))), out);
}

enum err message_delete_before(struct call *c, struct board *b, int64_t before)
{
	enum err e = db_run(c, b->db, OLD " DELETE FROM messages WHERE" IS_OLD,
			    BIND(moment_format(&c->mem, before)));

	return e ? e : refs_forget(c, b);
}
