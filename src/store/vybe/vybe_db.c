#include "store/vybe/vybe_db.h"

#include "base/moment.h"
#include "base/system/file.h"
#include "store/db/db_salvage.h"
#include "store/db/receipt_db.h"
#include "store/db/row.h"
#include "store/exposed.h"
#include "store/vybe/vybe_deliveries.h"
#include "store/vybe/vybe_sessions.h"

enum { VERSION = 1, WAIT_MS = 10000, NOTE_WAIT_MS = 500 };

/* Stores of earlier versions get it with their next write. */
#define EVENTS_AGENT_INDEX "CREATE INDEX IF NOT EXISTS events_agent ON events (agent, id);"

static const char schema[] =
	"CREATE TABLE about (version INTEGER, segment INTEGER, offset INTEGER,"
	"    last INTEGER, crc INTEGER, first INTEGER);"
	"INSERT INTO about VALUES (1, 0, 0, 0, 0, 0);"
	"CREATE TABLE events ("
	"    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,"
	"    agent TEXT NOT NULL, project TEXT, task TEXT, message TEXT NOT NULL,"
	"    metadata TEXT, created INTEGER NOT NULL,"
	"    archived INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX events_task ON events (task, id) WHERE task IS NOT NULL;" EVENTS_AGENT_INDEX
	"CREATE TABLE memory ("
	"    id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL,"
	"    scope_id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,"
	"    type TEXT NOT NULL, kind TEXT, pinned INTEGER NOT NULL DEFAULT 0,"
	"    expires INTEGER, created INTEGER NOT NULL, updated INTEGER NOT NULL,"
	"    UNIQUE (scope, scope_id, key));"
	"CREATE INDEX memory_order ON memory (scope, scope_id, pinned DESC, updated DESC,"
	"    id DESC);"
	"CREATE INDEX memory_expires ON memory (expires) WHERE expires IS NOT NULL;"
	"CREATE TABLE artifacts ("
	"    id INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL,"
	"    event INTEGER NOT NULL, path TEXT NOT NULL, type TEXT, created INTEGER NOT NULL);"
	"CREATE INDEX artifacts_task ON artifacts (task, id);"
	"CREATE TABLE agents ("
	"    agent TEXT, project TEXT, cursor INTEGER NOT NULL, focus TEXT,"
	"    seen INTEGER NOT NULL, PRIMARY KEY (agent, project)) WITHOUT ROWID;"
	"CREATE TABLE tasks (id TEXT PRIMARY KEY, status INTEGER NOT NULL, assignee TEXT,"
	"    created INTEGER NOT NULL, updated INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, agent TEXT NOT NULL,"
	"    project TEXT, started INTEGER NOT NULL, duration INTEGER NOT NULL,"
	"    completed INTEGER NOT NULL, failed INTEGER NOT NULL, blocked INTEGER NOT NULL,"
	"    total INTEGER NOT NULL);" VYBE_SESSIONS_TABLE ";" VYBE_DELIVERIES_TABLE
	";" RECEIPT_TABLES;

/* The receipts table of earlier versions. */
static const char old_schema[] =
	"CREATE TABLE ledger ("
	"    agent TEXT, request TEXT, op TEXT NOT NULL, args TEXT NOT NULL,"
	"    reply TEXT NOT NULL, created INTEGER NOT NULL);"
	"CREATE UNIQUE INDEX ledger_key ON ledger (agent, request);"
	"CREATE INDEX ledger_created ON ledger (created);";

static const struct receipt_old old_ledger = {
	.table = "ledger",
	.newest = "SELECT agent, request, op, args, reply, created FROM ledger"
		  " ORDER BY rowid DESC LIMIT " RECEIPT_MOVED,
	.remove = "DELETE FROM ledger WHERE rowid IN"
		  " (SELECT rowid FROM ledger ORDER BY rowid DESC LIMIT " RECEIPT_MOVED ")",
	.find = "SELECT op, args, reply FROM ledger WHERE agent = ? AND request = ?",
	.drop = "DROP TABLE ledger",
};

static const char *const ours[] = { schema, NULL };

static const struct db_table tables[] = {
	{ "about", false, { "version", "segment", "offset", "last", "crc", "first" } },
	{ "events",
	  false,
	  { "id", "kind", "agent", "project", "task", "message", "metadata", "created",
	    "archived" } },
	{ "memory",
	  false,
	  { "id", "scope", "scope_id", "key", "value", "type", "kind", "pinned", "expires",
	    "created", "updated" } },
	{ "artifacts", false, { "id", "task", "event", "path", "type", "created" } },
	{ "agents", false, { "agent", "project", "cursor", "focus", "seen" } },
	{ "ledger", true, { "agent", "request", "op", "args", "reply", "created" } },
	RECEIPT_TABLE_ROWS,
	{ "tasks", false, { "id", "status", "assignee", "created", "updated" } },
	{ "runs", false, { "id", "agent", "project", "started", "duration" } },
	{ "deliveries", true, { "agent", "mail", "post", "briefed" } },
	{ "sessions", true, { "agent", "workspace", "line", "host", "ended", "heir", "seen" } },
	{ 0 },
};

static enum err vybe_db_check_version(struct call *c, struct vybe_db *v, struct str path)
{
	AUTO_STMT *st = NULL;
	int64_t version;
	enum err e = db_expect(c, v->db, tables, ours, old_schema);

	if (e)
		return e;
	st = db_stmt(v->db, "SELECT version FROM about");
	version = stmt_row(st) ? stmt_int(st) : 0;
	e = stmt_end(c, st);
	if (e || version == VERSION)
		return e;
	call_fail(c, ERR_DAMAGED, "'" STR_FMT "' is not a store of this version", STR_ARG(path));
	return call_remedy(c, "Move the file away to begin a new one (the tasks are not in it)");
}

/* A process that created the file may have died before it created the tables. */
static enum err make_tables(struct call *c, struct vybe_db *v)
{
	bool empty;
	enum err e = db_is_empty(c, v->db, &empty);

	if (e || !empty)
		return e;
	if ((e = db_begin(c, v->db)) || (e = db_exec(c, v->db, schema)))
		return e;
	return db_commit(c, v->db);
}

static enum err vybe_db_lock(struct call *c, struct str path, int wait_ms, struct lock *out)
{
	struct str lock = arena_fmt(&c->mem, STR_FMT ".lock", STR_ARG(path));

	return exposed_covers(c, path) ? exposed_lock(c, lock, wait_ms, out) :
					 lock_take(c, lock, wait_ms, out);
}

static enum err vybe_db_open_writer(struct call *c, struct str path, int wait_ms, struct vybe_db *v)
{
	struct file_found found;
	enum err e = vybe_db_lock(c, path, wait_ms, &v->lock);

	if (e)
		return e;
	if (!c->still)
		c->now_ms = moment_now();
	if ((e = file_look(c, path, &found)) || (found.size <= 0 && (e = db_make(c, path, ours))))
		return e;
	if ((e = db_open(c, path, DB_WRITE, WAIT_MS, &v->db)) || (e = make_tables(c, v)) ||
	    (e = vybe_db_check_version(c, v, path)) || (e = db_begin(c, v->db)))
		return e;
	v->writing = true;
	if ((e = db_exec(c, v->db, EVENTS_AGENT_INDEX)) || (e = vybe_deliveries_upgrade(c, v)))
		return e;
	return receipt_db_upgrade(c, v->db, &old_ledger);
}

/* A file without tables is one whose creation was interrupted, so it has no data. */
static enum err vybe_db_open_reader(struct call *c, struct str path, struct vybe_db *v)
{
	bool empty;
	enum err e = db_open(c, path, DB_READ, WAIT_MS, &v->db);

	if (e || (e = db_is_empty(c, v->db, &empty)))
		return e;
	if (empty) {
		db_close(v->db);
		v->db = NULL;
		return ERR_OK;
	}
	if ((e = vybe_db_check_version(c, v, path)))
		return e;
	return db_snapshot(c, v->db);
}

/*
 * A file with a lock file beside it is one of ours already, and may be in use: only a file without
 * one is opened as unchanging.
 */
enum err vybe_db_look(struct call *c, struct str path)
{
	struct vybe_db v = { .lock = LOCK_NONE };
	bool empty;
	enum err e;

	if (file_size(&c->mem, path) <= 0 ||
	    file_size(&c->mem, arena_fmt(&c->mem, STR_FMT ".lock", STR_ARG(path))) >= 0)
		return ERR_OK;
	if (!(e = db_open(c, path, DB_STILL, WAIT_MS, &v.db)) &&
	    !(e = db_is_empty(c, v.db, &empty)) && !empty)
		e = vybe_db_check_version(c, &v, path);
	vybe_db_close(&v);
	return e;
}

enum err vybe_db_open(struct call *c, struct str path, enum vybe_mode mode, struct vybe_db *out)
{
	struct file_found found;
	enum err e;

	*out = (struct vybe_db){ .lock = LOCK_NONE };
	if (mode == VYBE_READ && ((e = file_look(c, path, &found)) || found.size <= 0))
		return e;
	if (mode != VYBE_READ)
		e = vybe_db_open_writer(c, path, mode == VYBE_NOTE ? NOTE_WAIT_MS : WAIT_MS, out);
	else
		e = vybe_db_open_reader(c, path, out);
	if (e)
		vybe_db_close(out);
	return e;
}

enum err vybe_db_commit(struct call *c, struct vybe_db *v)
{
	v->writing = false;
	return db_commit(c, v->db);
}

void vybe_db_close(struct vybe_db *v)
{
	if (v->writing)
		db_rollback(v->db);
	if (v->db)
		db_close(v->db);
	lock_drop(&v->lock);
	v->db = NULL;
	v->writing = false;
}

/* A store of another version is not damaged: it belongs to another version of the program. */
static enum err vybe_db_check_store(struct call *c, struct db *db, struct str path)
{
	struct vybe_db v = { .db = db };
	enum err e = db_expect(c, db, tables, ours, old_schema);

	return e ? e : vybe_db_check_version(c, &v, path) ? (c->code = ERR_INTERNAL_ERROR) : ERR_OK;
}

enum err vybe_db_mend(struct call *c, struct str path, struct mend *m)
{
	static const struct db_plan plan = {
		.schema = { schema, old_schema },
		.tables = tables,
		.after = RECEIPT_TABLES_MEND
		"DELETE FROM about WHERE version IS NOT 1;"
		"INSERT INTO about SELECT 1, 0, 0, 0, 0, 0"
		" WHERE NOT EXISTS (SELECT 1 FROM about);" VYBE_DELIVERIES_MOVE,
	};
	AUTO_LOCK lock = LOCK_NONE;
	struct file_found found;
	enum err e = file_look(c, path, &found);

	if (e || found.size <= 0) /* an empty file is one whose creation was interrupted */
		return e;
	if (m->fix && (e = vybe_db_lock(c, path, WAIT_MS, &lock)))
		return e;
	return db_mend(c, m, path, &plan, vybe_db_check_store);
}

/* --- the ledger --- */

static enum err vybe_ledger_find(struct call *c, void *store, struct receipt *r)
{
	struct vybe_db *v = store;

	return receipt_db_find_inside(c, v->db, &old_ledger, r);
}

static enum err vybe_ledger_put(struct call *c, void *store, const struct receipt *r)
{
	struct vybe_db *v = store;

	return receipt_db_put(c, &(struct receipt_db){ .db = v->db, .inside = true }, r);
}

struct receipts vybe_receipts(struct vybe_db *v)
{
	return (struct receipts){ v, vybe_ledger_find, vybe_ledger_put };
}

/* --- last known state of the beads --- */

static const struct column place_columns[] = {
	COLUMN(struct journal_place, segment), COLUMN(struct journal_place, offset),
	COLUMN(struct journal_place, last),    COLUMN(struct journal_place, crc),
	COLUMN(struct journal_place, first),   { 0 },
};

enum err vybe_place_find(struct call *c, struct vybe_db *v, struct journal_place *out)
{
	AUTO_STMT *st = db_stmt(v->db, "SELECT segment, offset, last, crc, first FROM about");

	*out = (struct journal_place){ 0 };
	if (stmt_row(st))
		stmt_read_row(st, &c->mem, place_columns, out);
	return stmt_end(c, st);
}

enum err vybe_place_put(struct call *c, struct vybe_db *v, const struct journal_place *place)
{
	return db_put_row(c, v->db,
			  "UPDATE about SET segment = ?, offset = ?, last = ?, crc = ?, first = ?",
			  place_columns, place);
}

static const struct column task_columns[] = {
	COLUMN(struct vybe_task, id),       COLUMN(struct vybe_task, status),
	COLUMN(struct vybe_task, assignee), COLUMN(struct vybe_task, created),
	COLUMN(struct vybe_task, updated),  { 0 },
};

enum err vybe_task_find(struct call *c, struct vybe_db *v, struct str id, struct vybe_task *out)
{
	AUTO_STMT *st =
		db_stmt(v->db, "SELECT status, assignee, created, updated FROM tasks WHERE id = ?");

	*out = (struct vybe_task){ .id = id, .status = -1 };
	stmt_bind_str(st, id);
	if (stmt_row(st))
		stmt_read_row(st, &c->mem, task_columns + 1, out);
	return stmt_end(c, st);
}

enum err vybe_task_put(struct call *c, struct vybe_db *v, const struct vybe_task *t)
{
	if (t->status < 0)
		return db_run(c, v->db, "DELETE FROM tasks WHERE id = ?", BIND(t->id));
	return db_put_row(c, v->db, "INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?, ?)",
			  task_columns, t);
}

enum err vybe_task_each(struct call *c, struct vybe_db *v, struct vybe_task **out, size_t *count)
{
	AUTO_STMT *st = db_stmt(v->db, "SELECT id, status, assignee, created, updated FROM tasks"
				       " ORDER BY id");

	*out = NULL;
	for (*count = 0; stmt_row(st); ++*count) {
		*out = arena_room(&c->mem, *out, *count, sizeof **out);
		stmt_read_row(st, &c->mem, task_columns, *out + *count);
	}
	return stmt_end(c, st);
}

/* --- agents --- */

enum err vybe_agent_find(struct call *c, struct vybe_db *v, struct vybe_agent *a)
{
	AUTO_STMT *st = v->db ? db_stmt(v->db, "SELECT cursor, focus, seen FROM agents"
					       " WHERE agent = ? AND project = ?") :
				NULL;

	a->cursor = a->seen_ms = 0;
	a->focus = STR_NONE;
	if (!st)
		return ERR_OK;
	stmt_bind_str(st, a->agent);
	stmt_bind_str(st, a->project);
	if (stmt_row(st)) {
		a->cursor = stmt_int(st);
		a->focus = stmt_str(st, &c->mem);
		a->seen_ms = stmt_int(st);
	}
	return stmt_end(c, st);
}

enum err vybe_agent_put(struct call *c, struct vybe_db *v, const struct vybe_agent *a)
{
	return db_run(c, v->db,
		      "INSERT INTO agents VALUES (?1, ?2, ?3, ?4, ?5)"
		      " ON CONFLICT (agent, project) DO UPDATE SET"
		      " cursor = max(cursor, excluded.cursor), focus = excluded.focus,"
		      " seen = max(seen, excluded.seen)",
		      BIND(a->agent), BIND(a->project), BIND(a->cursor), BIND(a->focus),
		      BIND(c->now_ms));
}

/*
 * An event is never deleted and never renumbered, so that the ids count them; after a repair, those
 * that were lost count too. An older file has rows of `agents` instead of the table of deliveries.
 */
#define VYBE_COUNT(agents)                                                        \
	"SELECT (SELECT ifnull(max(id), 0) FROM events),"                         \
	" (SELECT count(*) FROM memory),"                                         \
	" (SELECT count(*) FROM artifacts), (SELECT count(*) FROM (" agents "))," \
	" (SELECT count(DISTINCT project) FROM agents WHERE project NOT LIKE ':%')"

enum err vybe_count(struct call *c, struct vybe_db *v, struct vybe_counts *out)
{
	AUTO_STMT *st = NULL;

	*out = (struct vybe_counts){ 0 };
	if (!v->db)
		return ERR_OK;
	st = db_stmt(v->db, db_has_table(v->db, "deliveries") ?
				    VYBE_COUNT("SELECT agent FROM agents UNION"
					       " SELECT agent FROM deliveries") :
				    VYBE_COUNT("SELECT DISTINCT agent FROM agents"));
	if (stmt_row(st)) {
		out->events = stmt_int(st);
		out->memory = stmt_int(st);
		out->artifacts = stmt_int(st);
		out->agents = stmt_int(st);
		out->projects = stmt_int(st);
	}
	return stmt_end(c, st);
}
