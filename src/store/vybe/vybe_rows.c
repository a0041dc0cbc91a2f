#include "store/vybe/vybe_rows.h"

#include "base/buf.h"
#include "store/db/row.h"

/* --- events --- */

#define EVENT_COLUMNS "id, kind, agent, project, task, message, metadata, created"

static const struct column event_columns[] = {
	COLUMN(struct event_row, id),
	COLUMN(struct event_row, kind),
	COLUMN(struct event_row, agent),
	COLUMN(struct event_row, project),
	COLUMN(struct event_row, task),
	COLUMN(struct event_row, message),
	{ COLUMN_JSON, offsetof(struct event_row, metadata) },
	COLUMN(struct event_row, created),
	{ 0 },
};

enum err vybe_event_put(struct call *c, struct vybe_db *v, struct event_row *event)
{
	enum err e;

	event->created = c->now_ms;
	e = db_put_row(c, v->db,
		       "INSERT INTO events (kind, agent, project, task, message, metadata,"
		       " created) VALUES (?, ?, ?, ?, ?, ?, ?)",
		       event_columns + 1, event);
	event->id = db_last_id(v->db);
	return e;
}

/* The kinds are our own words, without quotes, so they need no escaping. */
static struct str left_out(struct call *c, const char *const *kind)
{
	struct buf b = { .mem = &c->mem };

	for (; kind && *kind; kind++)
		buf_fmt(&b, "%s'%s'", b.n ? ", " : " AND kind NOT IN (", *kind);
	if (b.n)
		buf_char(&b, ')');
	return buf_str(&b);
}

/* Conditions that are not in the statement have unused parameters. */
enum err vybe_event_each(struct call *c, struct vybe_db *v, const struct event_filter *f,
			 struct event_row **out)
{
	struct str without = left_out(c, f->without);
	struct str sql = arena_fmt(
		&c->mem,
		"SELECT " EVENT_COLUMNS " FROM events WHERE id > ?1%s%s%s%s%s" STR_FMT
		" ORDER BY id %s LIMIT ?6",
		f->archived ? "" : " AND archived = 0", f->agent.p ? " AND agent = ?2" : "",
		f->task.p ? " AND task = ?3" : "", f->kind.p ? " AND kind = ?4" : "",
		f->project.p ? " AND project = ?5" : "", STR_ARG(without),
		f->ascending ? "ASC" : "DESC");
	AUTO_STMT *st = v->db ? db_stmt_once(v->db, sql) : NULL;

	*out = NULL;
	if (!st)
		return ERR_OK;
	stmt_bind_int(st, f->since);
	stmt_bind_opt(st, f->agent);
	stmt_bind_opt(st, f->task);
	stmt_bind_opt(st, f->kind);
	stmt_bind_opt(st, f->project);
	stmt_bind_int(st, f->limit);
	while (stmt_row(st)) {
		*out = arena_new(&c->mem, struct event_row);
		stmt_read_row(st, &c->mem, event_columns, *out);
		out = &(*out)->next;
	}
	return stmt_end(c, st);
}

enum err vybe_event_find(struct call *c, struct vybe_db *v, int64_t id, struct event_row **out)
{
	struct event_filter first = {
		.since = id - 1, .limit = 1, .ascending = true, .archived = true
	};
	enum err e = vybe_event_each(c, v, &first, out);

	if (*out && (*out)->id != id)
		*out = NULL;
	return e;
}

enum err vybe_event_last(struct call *c, struct vybe_db *v, int64_t *id)
{
	*id = 0;
	return v->db ? db_number(c, v->db, "SELECT max(id) FROM events", NULL, id) : ERR_OK;
}

enum err vybe_event_live(struct call *c, struct vybe_db *v, int64_t *count)
{
	*count = 0;
	return v->db ? db_number(c, v->db, "SELECT count(*) FROM events WHERE archived = 0", NULL,
				 count) :
		       ERR_OK;
}

enum err vybe_event_archive(struct call *c, struct vybe_db *v, int64_t keep, int64_t *count,
			    int64_t *first, int64_t *last)
{
	AUTO_STMT *find = db_stmt(v->db, "SELECT min(id), max(id), count(*) FROM events"
					 " WHERE archived = 0 AND id <= (SELECT id FROM"
					 " events WHERE archived = 0 ORDER BY id DESC"
					 " LIMIT 1 OFFSET ?)");
	enum err e;

	*count = *first = *last = 0;
	stmt_bind_int(find, keep);
	if (stmt_row(find)) {
		*first = stmt_int_or(find, 0);
		*last = stmt_int_or(find, 0);
		*count = stmt_int(find);
	}
	if ((e = stmt_end(c, find)) || !*count)
		return e;
	return db_run(c, v->db, "UPDATE events SET archived = 1 WHERE archived = 0 AND id <= ?",
		      BIND(*last));
}

/* --- memory --- */

#define MEMORY_COLUMNS \
	"id, scope, scope_id, key, value, type, kind, pinned, expires, created, updated"

static const struct column memory_columns[] = {
	COLUMN(struct memory_row, id),
	COLUMN(struct memory_row, scope),
	COLUMN(struct memory_row, scope_id),
	COLUMN(struct memory_row, key),
	COLUMN(struct memory_row, value),
	COLUMN(struct memory_row, type),
	COLUMN(struct memory_row, kind),
	COLUMN(struct memory_row, pinned),
	{ COLUMN_MAYBE, offsetof(struct memory_row, expires) },
	COLUMN(struct memory_row, created),
	COLUMN(struct memory_row, updated),
	{ 0 },
};

static enum err memory_rows_read(struct call *c, struct stmt *st, struct memory_row **out)
{
	for (*out = NULL; stmt_row(st); out = &(*out)->next) {
		*out = arena_new(&c->mem, struct memory_row);
		stmt_read_row(st, &c->mem, memory_columns, *out);
	}
	return stmt_end(c, st);
}

enum err vybe_memory_each(struct call *c, struct vybe_db *v, struct str scope, struct str scope_id,
			  int64_t limit, struct memory_row **out)
{
	AUTO_STMT *st = v->db ? db_stmt(v->db, "SELECT " MEMORY_COLUMNS " FROM memory"
					       " WHERE scope = ? AND scope_id = ? AND"
					       " (expires IS NULL OR expires > ?)"
					       " ORDER BY pinned DESC, updated DESC,"
					       " id DESC LIMIT ?") :
				NULL;

	*out = NULL;
	if (!st)
		return ERR_OK;
	stmt_bind(st, PARAMS(BIND(scope), BIND(scope_id), BIND(c->now_ms), BIND(limit)));
	return memory_rows_read(c, st, out);
}

enum err vybe_memory_newest(struct call *c, struct vybe_db *v, struct str text, int64_t limit,
			    struct memory_row **out)
{
	AUTO_STMT *st = v->db ? db_stmt(v->db, "SELECT " MEMORY_COLUMNS " FROM memory"
					       " WHERE (key LIKE ?1 ESCAPE '\\'"
					       " OR value LIKE ?1 ESCAPE '\\')"
					       " AND (expires IS NULL OR expires > ?2)"
					       " ORDER BY updated DESC, id DESC LIMIT ?3") :
				NULL;

	*out = NULL;
	if (!st)
		return ERR_OK;
	stmt_bind(st, PARAMS(BIND(stmt_like(&c->mem, text)), BIND(c->now_ms), BIND(limit)));
	return memory_rows_read(c, st, out);
}

enum err vybe_memory_find(struct call *c, struct vybe_db *v, struct str scope, struct str scope_id,
			  struct str key, struct memory_row **out)
{
	AUTO_STMT *st = v->db ? db_stmt(v->db, "SELECT " MEMORY_COLUMNS " FROM memory"
					       " WHERE scope = ? AND scope_id = ? AND"
					       " key = ?") :
				NULL;

	*out = NULL;
	if (!st)
		return ERR_OK;
	stmt_bind(st, PARAMS(BIND(scope), BIND(scope_id), BIND(key)));
	return memory_rows_read(c, st, out);
}

enum err vybe_memory_put(struct call *c, struct vybe_db *v, const struct memory_row *m)
{
	struct memory_row now = *m;

	now.created = now.updated = c->now_ms;
	return db_put_row(c, v->db,
			  "INSERT INTO memory (scope, scope_id, key, value, type, kind, pinned,"
			  " expires, created, updated)"
			  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
			  " ON CONFLICT (scope, scope_id, key) DO UPDATE SET"
			  " value = excluded.value, type = excluded.type,"
			  " kind = iif(expires <= ?9, excluded.kind,"
			  "            coalesce(excluded.kind, kind)),"
			  " pinned = iif(expires <= ?9, excluded.pinned,"
			  "              max(pinned, excluded.pinned)),"
			  " expires = excluded.expires, updated = excluded.updated,"
			  " created = iif(expires <= ?9, excluded.created, created)",
			  memory_columns + 1, &now);
}

enum err vybe_memory_all(struct call *c, struct vybe_db *v, struct memory_row **out)
{
	*out = NULL;
	if (!v->db)
		return ERR_OK;

	AUTO_STMT *st = db_stmt(v->db, "SELECT " MEMORY_COLUMNS " FROM memory ORDER BY id");

	return memory_rows_read(c, st, out);
}

enum err vybe_memory_replace(struct call *c, struct vybe_db *v, const struct memory_row *m)
{
	return db_put_row(c, v->db,
			  "INSERT INTO memory (scope, scope_id, key, value, type, kind, pinned,"
			  " expires, created, updated)"
			  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
			  " ON CONFLICT (scope, scope_id, key) DO UPDATE SET"
			  " value = excluded.value, type = excluded.type, kind = excluded.kind,"
			  " pinned = excluded.pinned, expires = excluded.expires,"
			  " created = excluded.created, updated = excluded.updated",
			  memory_columns + 1, m);
}

enum err vybe_memory_pin(struct call *c, struct vybe_db *v, int64_t id, bool pinned)
{
	return db_run(c, v->db, "UPDATE memory SET pinned = ?, updated = ? WHERE id = ?",
		      BIND(pinned), BIND(c->now_ms), BIND(id));
}

enum err vybe_memory_drop(struct call *c, struct vybe_db *v, int64_t id)
{
	return db_run(c, v->db, "DELETE FROM memory WHERE id = ?", BIND(id));
}

enum err vybe_memory_collect(struct call *c, struct vybe_db *v, int64_t limit, int64_t *count)
{
	enum err e = db_run(c, v->db,
			    "DELETE FROM memory WHERE id IN (SELECT id FROM memory WHERE"
			    " expires IS NOT NULL AND expires <= ? ORDER BY expires LIMIT ?)",
			    BIND(c->now_ms), BIND(limit));

	*count = db_changes(v->db);
	return e;
}

/* --- artifacts --- */

static const struct column artifact_columns[] = {
	COLUMN(struct artifact_row, id),
	COLUMN(struct artifact_row, event),
	COLUMN(struct artifact_row, task),
	COLUMN(struct artifact_row, path),
	COLUMN(struct artifact_row, type),
	COLUMN(struct artifact_row, created),
	{ 0 },
};

enum err vybe_artifact_put(struct call *c, struct vybe_db *v, struct artifact_row *a)
{
	enum err e;

	a->created = c->now_ms;
	e = db_put_row(c, v->db,
		       "INSERT INTO artifacts (event, task, path, type, created)"
		       " VALUES (?, ?, ?, ?, ?)",
		       artifact_columns + 1, a);
	a->id = db_last_id(v->db);
	return e;
}

enum err vybe_artifact_each(struct call *c, struct vybe_db *v, struct str task, int64_t limit,
			    struct artifact_row **out)
{
	AUTO_STMT *st = v->db ? db_stmt(v->db, "SELECT id, event, task, path, type, created"
					       " FROM artifacts WHERE ?1 IS NULL OR"
					       " task = ?1 ORDER BY id DESC LIMIT ?2") :
				NULL;

	*out = NULL;
	if (!st)
		return ERR_OK;
	stmt_bind(st, PARAMS(BIND(task), BIND(limit)));
	for (; stmt_row(st); out = &(*out)->next) {
		*out = arena_new(&c->mem, struct artifact_row);
		stmt_read_row(st, &c->mem, artifact_columns, *out);
	}
	return stmt_end(c, st);
}

enum err vybe_artifact_drop(struct call *c, struct vybe_db *v, struct str task)
{
	return db_run(c, v->db, "DELETE FROM artifacts WHERE task = ?", BIND(task));
}

enum err vybe_rename_task(struct call *c, struct vybe_db *v, struct str from, struct str to)
{
	static const char *const sql[] = {
		"UPDATE events SET task = ?2 WHERE task = ?1",
		"UPDATE artifacts SET task = ?2 WHERE task = ?1",
		"UPDATE agents SET focus = ?2 WHERE focus = ?1",
		"UPDATE OR IGNORE memory SET scope_id = ?2 WHERE scope = 'task' AND scope_id = ?1",
	};
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < sizeof sql / sizeof *sql; i++)
		e = db_run(c, v->db, sql[i], BIND(from), BIND(to));
	return e;
}

/* --- loop runs --- */

#define RUN_COLUMNS "agent, project, started, duration, completed, failed, blocked, total"

static const struct column run_columns[] = {
	COLUMN(struct run_row, agent),
	COLUMN(struct run_row, project),
	COLUMN(struct run_row, started),
	COLUMN(struct run_row, duration_ms),
	COLUMN(struct run_row, completed),
	COLUMN(struct run_row, failed),
	COLUMN(struct run_row, blocked),
	COLUMN(struct run_row, total),
	{ 0 },
};

enum err vybe_run_put(struct call *c, struct vybe_db *v, const struct run_row *r)
{
	return db_put_row(c, v->db,
			  "INSERT INTO runs (" RUN_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			  run_columns, r);
}

enum err vybe_run_each(struct call *c, struct vybe_db *v, struct str project, int64_t limit,
		       struct run_row **out)
{
	AUTO_STMT *st = v->db ? db_stmt(v->db, "SELECT " RUN_COLUMNS " FROM runs WHERE ?1 IS NULL"
					       " OR project = ?1 ORDER BY id DESC LIMIT ?2") :
				NULL;

	*out = NULL;
	if (!st)
		return ERR_OK;
	stmt_bind(st, PARAMS(BIND(project), BIND(limit)));
	for (; stmt_row(st); out = &(*out)->next) {
		*out = arena_new(&c->mem, struct run_row);
		stmt_read_row(st, &c->mem, run_columns, *out);
	}
	return stmt_end(c, st);
}
