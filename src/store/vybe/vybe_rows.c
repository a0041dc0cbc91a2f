#include "store/vybe/vybe_rows.h"

#include "base/buf.h"
#include "store/db/db.h"

/* --- events --- */

enum err vybe_event_put(struct call *c, struct vybe_db *v, struct event_row *event)
{
	AUTO_STMT *st = db_stmt(v->db, "INSERT INTO events (kind, agent, project, task,"
				       " message, metadata, created)"
				       " VALUES (?, ?, ?, ?, ?, ?, ?)");
	enum err e;

	event->created = c->now_ms;
	stmt_bind_str(st, event->kind);
	stmt_bind_str(st, event->agent);
	stmt_bind_str(st, event->project);
	stmt_bind_str(st, event->task);
	stmt_bind_str(st, event->message);
	stmt_bind_str(st, event->metadata);
	stmt_bind_int(st, event->created);
	e = stmt_run(c, st);
	event->id = db_last_id(v->db);
	return e;
}

#define EVENT_COLUMNS "id, kind, agent, project, task, message, metadata, created"

static struct event_row *read_event(struct call *c, struct stmt *st)
{
	struct event_row *r = arena_new(&c->mem, struct event_row);

	r->id = stmt_int(st);
	r->kind = stmt_str(st, &c->mem);
	r->agent = stmt_str(st, &c->mem);
	r->project = stmt_str(st, &c->mem);
	r->task = stmt_str(st, &c->mem);
	r->message = stmt_str(st, &c->mem);
	r->metadata = stmt_json(st, &c->mem, STR_NONE);
	r->created = stmt_int(st);
	return r;
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
	struct event_row **tail = out;
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
		*tail = read_event(c, st);
		tail = &(*tail)->next;
	}
	return stmt_end(c, st);
}

enum err vybe_event_last(struct call *c, struct vybe_db *v, int64_t *id)
{
	AUTO_STMT *st = v->db ? db_stmt(v->db, "SELECT max(id) FROM events") : NULL;

	*id = st && stmt_row(st) ? stmt_int_or(st, 0) : 0;
	return st ? stmt_end(c, st) : ERR_OK;
}

enum err vybe_event_live(struct call *c, struct vybe_db *v, int64_t *count)
{
	AUTO_STMT *st =
		v->db ? db_stmt(v->db, "SELECT count(*) FROM events WHERE archived = 0") : NULL;

	*count = st && stmt_row(st) ? stmt_int(st) : 0;
	return st ? stmt_end(c, st) : ERR_OK;
}

enum err vybe_event_archive(struct call *c, struct vybe_db *v, int64_t keep, int64_t *count,
			    int64_t *first, int64_t *last)
{
	AUTO_STMT *find = db_stmt(v->db, "SELECT min(id), max(id), count(*) FROM events"
					 " WHERE archived = 0 AND id <= (SELECT id FROM"
					 " events WHERE archived = 0 ORDER BY id DESC"
					 " LIMIT 1 OFFSET ?)");
	AUTO_STMT *put =
		db_stmt(v->db, "UPDATE events SET archived = 1 WHERE archived = 0 AND id <= ?");
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
	stmt_bind_int(put, *last);
	return stmt_run(c, put);
}

/* --- memory --- */

#define MEMORY_COLUMNS \
	"id, scope, scope_id, key, value, type, kind, pinned, expires, created, updated"

static struct memory_row *vybe_rows_read_memory(struct call *c, struct stmt *st)
{
	struct memory_row *m = arena_new(&c->mem, struct memory_row);

	m->id = stmt_int(st);
	m->scope = stmt_str(st, &c->mem);
	m->scope_id = stmt_str(st, &c->mem);
	m->key = stmt_str(st, &c->mem);
	m->value = stmt_str(st, &c->mem);
	m->type = stmt_str(st, &c->mem);
	m->kind = stmt_str(st, &c->mem);
	m->pinned = stmt_int(st);
	m->expires = stmt_int_or(st, 0);
	m->created = stmt_int(st);
	m->updated = stmt_int(st);
	return m;
}

/* Binds the last two parameters, now and the limit, and reads all rows. */
static enum err vybe_rows_list_memory(struct call *c, struct stmt *st, int64_t limit,
				      struct memory_row **out)
{
	stmt_bind_int(st, c->now_ms);
	stmt_bind_int(st, limit);
	while (stmt_row(st)) {
		*out = vybe_rows_read_memory(c, st);
		out = &(*out)->next;
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
	stmt_bind_str(st, scope);
	stmt_bind_str(st, scope_id);
	return vybe_rows_list_memory(c, st, limit, out);
}

enum err vybe_memory_newest(struct call *c, struct vybe_db *v, int64_t limit,
			    struct memory_row **out)
{
	AUTO_STMT *st = v->db ? db_stmt(v->db, "SELECT " MEMORY_COLUMNS " FROM memory"
					       " WHERE expires IS NULL OR expires > ?"
					       " ORDER BY updated DESC, id DESC LIMIT ?") :
				NULL;

	*out = NULL;
	return st ? vybe_rows_list_memory(c, st, limit, out) : ERR_OK;
}

enum err vybe_memory_find(struct call *c, struct vybe_db *v, struct str scope, struct str scope_id,
			  struct str key, struct memory_row **out)
{
	AUTO_STMT *st = v->db ? db_stmt(v->db, "SELECT " MEMORY_COLUMNS " FROM memory"
					       " WHERE scope = ? AND scope_id = ? AND"
					       " key = ? AND"
					       " (expires IS NULL OR expires > ?)") :
				NULL;

	*out = NULL;
	if (!st)
		return ERR_OK;
	stmt_bind_str(st, scope);
	stmt_bind_str(st, scope_id);
	stmt_bind_str(st, key);
	stmt_bind_int(st, c->now_ms);
	if (stmt_row(st))
		*out = vybe_rows_read_memory(c, st);
	return stmt_end(c, st);
}

static void bind_or_null(struct stmt *st, int64_t value)
{
	if (value)
		stmt_bind_int(st, value);
	else
		stmt_bind_str(st, STR_NONE);
}

enum err vybe_memory_put(struct call *c, struct vybe_db *v, const struct memory_row *m)
{
	AUTO_STMT *st = db_stmt(
		v->db, "INSERT INTO memory (scope, scope_id, key, value, type, kind, pinned,"
		       " expires, created, updated)"
		       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)"
		       " ON CONFLICT (scope, scope_id, key) DO UPDATE SET"
		       " value = excluded.value, type = excluded.type,"
		       " kind = iif(expires <= ?9, excluded.kind,"
		       "            coalesce(excluded.kind, kind)),"
		       " pinned = iif(expires <= ?9, excluded.pinned,"
		       "              max(pinned, excluded.pinned)),"
		       " expires = excluded.expires, updated = excluded.updated,"
		       " created = iif(expires <= ?9, excluded.created, created)");

	stmt_bind_str(st, m->scope);
	stmt_bind_str(st, m->scope_id);
	stmt_bind_str(st, m->key);
	stmt_bind_str(st, m->value);
	stmt_bind_str(st, m->type);
	stmt_bind_str(st, m->kind);
	stmt_bind_int(st, m->pinned);
	bind_or_null(st, m->expires);
	stmt_bind_int(st, c->now_ms);
	return stmt_run(c, st);
}

enum err vybe_memory_all(struct call *c, struct vybe_db *v, struct memory_row **out)
{
	*out = NULL;
	if (!v->db)
		return ERR_OK;

	AUTO_STMT *st = db_stmt(v->db, "SELECT " MEMORY_COLUMNS " FROM memory ORDER BY id");

	while (stmt_row(st)) {
		*out = vybe_rows_read_memory(c, st);
		out = &(*out)->next;
	}
	return stmt_end(c, st);
}

enum err vybe_memory_replace(struct call *c, struct vybe_db *v, const struct memory_row *m)
{
	AUTO_STMT *st = db_stmt(
		v->db, "INSERT INTO memory (scope, scope_id, key, value, type, kind, pinned,"
		       " expires, created, updated)"
		       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
		       " ON CONFLICT (scope, scope_id, key) DO UPDATE SET"
		       " value = excluded.value, type = excluded.type, kind = excluded.kind,"
		       " pinned = excluded.pinned, expires = excluded.expires,"
		       " created = excluded.created, updated = excluded.updated");

	stmt_bind_str(st, m->scope);
	stmt_bind_str(st, m->scope_id);
	stmt_bind_str(st, m->key);
	stmt_bind_str(st, m->value);
	stmt_bind_str(st, m->type);
	stmt_bind_str(st, m->kind);
	stmt_bind_int(st, m->pinned);
	bind_or_null(st, m->expires);
	stmt_bind_int(st, m->created);
	stmt_bind_int(st, m->updated);
	return stmt_run(c, st);
}

enum err vybe_memory_pin(struct call *c, struct vybe_db *v, int64_t id, bool pinned)
{
	AUTO_STMT *st = db_stmt(v->db, "UPDATE memory SET pinned = ?, updated = ? WHERE id = ?");

	stmt_bind_int(st, pinned);
	stmt_bind_int(st, c->now_ms);
	stmt_bind_int(st, id);
	return stmt_run(c, st);
}

enum err vybe_memory_drop(struct call *c, struct vybe_db *v, int64_t id)
{
	AUTO_STMT *st = db_stmt(v->db, "DELETE FROM memory WHERE id = ?");

	stmt_bind_int(st, id);
	return stmt_run(c, st);
}

enum err vybe_memory_collect(struct call *c, struct vybe_db *v, int64_t limit, int64_t *count)
{
	AUTO_STMT *st = db_stmt(v->db, "DELETE FROM memory WHERE id IN (SELECT id FROM"
				       " memory WHERE expires IS NOT NULL AND"
				       " expires <= ? ORDER BY expires LIMIT ?)");
	enum err e;

	stmt_bind_int(st, c->now_ms);
	stmt_bind_int(st, limit);
	e = stmt_run(c, st);
	*count = db_changes(v->db);
	return e;
}

/* --- artifacts --- */

enum err vybe_artifact_put(struct call *c, struct vybe_db *v, struct artifact_row *a)
{
	AUTO_STMT *st = db_stmt(v->db, "INSERT INTO artifacts (task, event, path, type,"
				       " created) VALUES (?, ?, ?, ?, ?)");
	enum err e;

	a->created = c->now_ms;
	stmt_bind_str(st, a->task);
	stmt_bind_int(st, a->event);
	stmt_bind_str(st, a->path);
	stmt_bind_str(st, a->type);
	stmt_bind_int(st, a->created);
	e = stmt_run(c, st);
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
	struct artifact_row **tail = out;

	*out = NULL;
	if (!st)
		return ERR_OK;
	stmt_bind_str(st, task);
	stmt_bind_int(st, limit);
	while (stmt_row(st)) {
		struct artifact_row *a = arena_new(&c->mem, struct artifact_row);

		a->id = stmt_int(st);
		a->event = stmt_int(st);
		a->task = stmt_str(st, &c->mem);
		a->path = stmt_str(st, &c->mem);
		a->type = stmt_str(st, &c->mem);
		a->created = stmt_int(st);
		*tail = a;
		tail = &a->next;
	}
	return stmt_end(c, st);
}

enum err vybe_artifact_drop(struct call *c, struct vybe_db *v, struct str task)
{
	AUTO_STMT *st = db_stmt(v->db, "DELETE FROM artifacts WHERE task = ?");

	stmt_bind_str(st, task);
	return stmt_run(c, st);
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

	for (size_t i = 0; !e && i < sizeof sql / sizeof *sql; i++) {
		AUTO_STMT *st = db_stmt(v->db, sql[i]);

		stmt_bind_str(st, from);
		stmt_bind_str(st, to);
		e = stmt_run(c, st);
	}
	return e;
}

/* --- loop runs --- */

enum err vybe_run_put(struct call *c, struct vybe_db *v, const struct run_row *r)
{
	AUTO_STMT *st = db_stmt(v->db, "INSERT INTO runs (agent, project, started, duration,"
				       " completed, failed, blocked, total)"
				       " VALUES (?, ?, ?, ?, ?, ?, ?, ?)");

	stmt_bind_str(st, r->agent);
	stmt_bind_str(st, r->project);
	stmt_bind_int(st, r->started);
	stmt_bind_int(st, r->duration_ms);
	stmt_bind_int(st, r->completed);
	stmt_bind_int(st, r->failed);
	stmt_bind_int(st, r->blocked);
	stmt_bind_int(st, r->total);
	return stmt_run(c, st);
}

enum err vybe_run_each(struct call *c, struct vybe_db *v, struct str project, int64_t limit,
		       struct run_row **out)
{
	AUTO_STMT *st =
		v->db ? db_stmt(v->db, "SELECT agent, project, started, duration, completed,"
				       " failed, blocked, total FROM runs WHERE ?1 IS NULL"
				       " OR project = ?1 ORDER BY id DESC LIMIT ?2") :
			NULL;
	struct run_row **tail = out;

	*out = NULL;
	if (!st)
		return ERR_OK;
	stmt_bind_str(st, project);
	stmt_bind_int(st, limit);
	while (stmt_row(st)) {
		struct run_row *r = arena_new(&c->mem, struct run_row);

		r->agent = stmt_str(st, &c->mem);
		r->project = stmt_str(st, &c->mem);
		r->started = stmt_int(st);
		r->duration_ms = stmt_int(st);
		r->completed = stmt_int(st);
		r->failed = stmt_int(st);
		r->blocked = stmt_int(st);
		r->total = stmt_int(st);
		*tail = r;
		tail = &r->next;
	}
	return stmt_end(c, st);
}
