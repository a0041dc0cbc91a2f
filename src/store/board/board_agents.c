#include "store/board/board_agents.h"

#include "base/moment.h"
#include "store/board/board_db.h"
#include "store/db/row.h"

static const char *const words[] = {
	[AGENT_IDLE] = "idle",       [AGENT_PLANNING] = "planning",   [AGENT_CODING] = "coding",
	[AGENT_TESTING] = "testing", [AGENT_REVIEWING] = "reviewing", [AGENT_BLOCKED] = "blocked",
	[AGENT_OFFLINE] = "offline",
};
const struct names agent_statuses = { words, AGENT_OFFLINE + 1, NULL };
const struct names agent_active_statuses = { words, AGENT_BLOCKED + 1, NULL };

#define COLUMNS "id, current_task, progress, status, blockers, last_seen, updated_at"

static struct agent *board_agents_decode(struct arena *mem, struct stmt *st)
{
	struct agent *a = arena_new(mem, struct agent);

	a->id = stmt_str(st, mem);
	a->current_task = stmt_str(st, mem);
	a->progress = stmt_int(st);
	a->status = stmt_word(st, mem, &agent_statuses, AGENT_IDLE);
	a->blockers = stmt_str(st, mem);
	moment_parse(stmt_str(st, mem), &a->last_seen);
	moment_parse(stmt_str(st, mem), &a->updated_at);
	return a;
}

enum err agent_each(struct call *c, struct board *b, struct agent **out)
{
	AUTO_STMT *st = db_stmt(b->db, "SELECT " COLUMNS " FROM agents"
				       " ORDER BY replace(last_seen, ' ', 'T') DESC, id");

	*out = NULL;
	for (; stmt_row(st); out = &(*out)->next)
		*out = board_agents_decode(&c->mem, st);
	return stmt_end(c, st);
}

enum err agent_find(struct call *c, struct board *b, struct str id, struct agent **out)
{
	AUTO_STMT *st = db_stmt(b->db, "SELECT " COLUMNS " FROM agents WHERE id = ?");

	stmt_bind_str(st, id);
	*out = stmt_row(st) ? board_agents_decode(&c->mem, st) : NULL;
	return stmt_end(c, st);
}

enum err agent_put(struct call *c, struct board *b, const struct agent *a)
{
	return db_run(c, b->db,
		      "INSERT INTO agents (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?)"
		      " ON CONFLICT (id) DO UPDATE SET"
		      " current_task = excluded.current_task,"
		      " progress = excluded.progress, status = excluded.status,"
		      " blockers = excluded.blockers,"
		      " last_seen = excluded.last_seen,"
		      " updated_at = excluded.updated_at",
		      BIND(a->id), BIND(a->current_task), BIND(a->progress),
		      BIND(str_of(names_word(&agent_statuses, a->status))), BIND(a->blockers),
		      BIND(moment_format(&c->mem, a->last_seen)),
		      BIND(moment_format(&c->mem, a->updated_at)));
}

enum err agent_touch(struct call *c, struct board *b, struct str id)
{
	return db_run(c, b->db,
		      "INSERT INTO agents (id, last_seen, updated_at) VALUES (?1, ?2, ?2)"
		      " ON CONFLICT (id) DO UPDATE SET last_seen = excluded.last_seen,"
		      " status = CASE WHEN status <> 'offline' THEN status"
		      " WHEN blockers IS NULL THEN 'idle' ELSE 'blocked' END",
		      BIND(id), BIND(moment_format(&c->mem, c->now_ms)));
}

enum err agent_count_unseen(struct call *c, struct board *b, int64_t before, int64_t *out)
{
	return db_number(c, b->db,
			 "SELECT count(*) FROM agents WHERE julianday(last_seen) < julianday(?)",
			 PARAMS(BIND(moment_format(&c->mem, before))), out);
}

enum err agent_delete_unseen(struct call *c, struct board *b, int64_t before)
{
	return db_run(c, b->db, "DELETE FROM agents WHERE julianday(last_seen) < julianday(?)",
		      BIND(moment_format(&c->mem, before)));
}

void agent_note_offline(struct call *c, struct board *b, int64_t before)
{
	AUTO_STMT *st = NULL;
	struct call quiet = { 0 };

	if (b->writing || !db_begin_lazy(b->db))
		return;
	st = db_stmt(b->db, "UPDATE agents SET status = 'offline' WHERE status <> 'offline'"
			    " AND julianday(last_seen) < julianday(?)");
	stmt_bind_str(st, moment_format(&c->mem, before));
	if (stmt_run(&quiet, st) || db_commit(&quiet, b->db))
		db_rollback(b->db);
	call_release(&quiet);
}
