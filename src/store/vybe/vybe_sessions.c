#include "store/vybe/vybe_sessions.h"

#include "store/db/row.h"

/* Files of versions without sessions get the table when it is needed. */
static enum err need_table(struct call *c, struct vybe_db *v)
{
	if (db_has_table(v->db, "sessions"))
		return ERR_OK;
	return db_exec(c, v->db, VYBE_SESSIONS_TABLE);
}

#define COLUMNS "agent, workspace, line, host, ended, heir, seen"

static const struct column session_columns[] = {
	COLUMN(struct host_session, agent),   COLUMN(struct host_session, workspace),
	COLUMN(struct host_session, line),    COLUMN(struct host_session, host),
	COLUMN(struct host_session, ended),   COLUMN(struct host_session, heir),
	COLUMN(struct host_session, seen_ms), { 0 },
};

enum err vybe_session_find(struct call *c, struct vybe_db *v, struct str agent,
			   struct host_session *out)
{
	AUTO_STMT *st = NULL;
	enum err e = need_table(c, v);

	*out = (struct host_session){ .agent = agent };
	if (e)
		return e;
	st = db_stmt(v->db, "SELECT " COLUMNS " FROM sessions WHERE agent = ?");
	stmt_bind_str(st, agent);
	if (stmt_row(st))
		stmt_read_row(st, &c->mem, session_columns, out);
	return stmt_end(c, st);
}

enum err vybe_session_put(struct call *c, struct vybe_db *v, const struct host_session *s)
{
	return db_put_row(c, v->db,
			  "INSERT OR REPLACE INTO sessions (" COLUMNS
			  ") VALUES (?, ?, ?, ?, ?, ?, ?)",
			  session_columns, s);
}

enum err vybe_session_each(struct call *c, struct vybe_db *v, struct str workspace, int64_t limit,
			   struct host_session **out)
{
	AUTO_STMT *st = NULL;
	enum err e = need_table(c, v);

	*out = NULL;
	if (e)
		return e;
	st = db_stmt(v->db, "SELECT " COLUMNS " FROM sessions WHERE workspace = ? AND"
			    " heir IS NULL ORDER BY seen DESC, agent LIMIT ?");
	stmt_bind_str(st, workspace);
	stmt_bind_int(st, limit);
	for (; stmt_row(st); out = &(*out)->next) {
		*out = arena_new(&c->mem, struct host_session);
		stmt_read_row(st, &c->mem, session_columns, *out);
	}
	return stmt_end(c, st);
}

enum err vybe_session_names(struct call *c, struct vybe_db *v, struct str agent, int64_t limit,
			    struct str **names, size_t *count)
{
	AUTO_STMT *st = NULL;

	*names = arena_array(&c->mem, (size_t)limit, sizeof **names);
	(*names)[0] = agent;
	*count = 1;
	if (!v->db || !db_has_table(v->db, "sessions"))
		return ERR_OK;
	st = db_stmt(v->db, "WITH RECURSIVE line (agent) AS (VALUES (?1) UNION"
			    " SELECT s.agent FROM sessions s JOIN line"
			    " ON s.heir = line.agent) SELECT agent FROM line"
			    " WHERE agent <> ?1 LIMIT ?2");
	stmt_bind_str(st, agent);
	stmt_bind_int(st, limit - 1);
	while (stmt_row(st))
		(*names)[(*count)++] = stmt_str(st, &c->mem);
	return stmt_end(c, st);
}

enum err vybe_session_inherit(struct call *c, struct vybe_db *v, struct str from, struct str to)
{
	static const char *const sql[] = {
		"INSERT INTO agents (agent, project, cursor, focus, seen)"
		" SELECT ?2, project, cursor, NULL, seen FROM agents"
		" WHERE agent = ?1"
		" ON CONFLICT (agent, project) DO UPDATE SET"
		" cursor = max(cursor, excluded.cursor)",
		"INSERT OR IGNORE INTO memory (scope, scope_id, key, value, type, kind,"
		" pinned, expires, created, updated) SELECT scope, ?2, key, value, type,"
		" kind, pinned, expires, created, updated FROM memory"
		" WHERE scope = 'agent' AND scope_id = ?1",
	};
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < sizeof sql / sizeof *sql; i++)
		e = db_run(c, v->db, sql[i], BIND(from), BIND(to));
	return e;
}

enum err vybe_session_collect(struct call *c, struct vybe_db *v, int64_t before_ms)
{
	enum err e = need_table(c, v);

	return e ? e : db_run(c, v->db, "DELETE FROM sessions WHERE seen < ?", BIND(before_ms));
}
