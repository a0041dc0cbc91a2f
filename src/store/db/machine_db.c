#include "store/db/machine_db.h"

#include "base/buf.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "store/db/db.h"

enum { WAIT_MS = 10000 };

static const char schema[] =
	"CREATE TABLE self (version INTEGER, id TEXT, name TEXT, key TEXT, clock_ms INTEGER,"
	"    clock_n INTEGER, count INTEGER, sent INTEGER, segment INTEGER, head TEXT,"
	"    pushed INTEGER, looked INTEGER, dirty INTEGER);"
	"INSERT INTO self VALUES (1, NULL, NULL, NULL, 0, 0, 0, 0, 1, NULL, 0, 0, 0);"
	"CREATE TABLE machines (id TEXT PRIMARY KEY, name TEXT, nick TEXT, key TEXT,"
	"    count INTEGER, applied INTEGER, head TEXT, seen INTEGER, problem TEXT, bad TEXT,"
	"    forgotten INTEGER) WITHOUT ROWID;"
	"CREATE TABLE facts (machine TEXT, seq INTEGER, ms INTEGER, n INTEGER, who TEXT,"
	"    kind TEXT, subject TEXT, line TEXT, segment INTEGER, done INTEGER,"
	"    PRIMARY KEY (machine, seq));"
	"CREATE INDEX facts_subject ON facts (subject, kind);"
	"CREATE INDEX facts_kind ON facts (kind);"
	"CREATE INDEX facts_segment ON facts (segment);"
	"CREATE INDEX facts_done ON facts (done);"
	"CREATE TABLE places (source TEXT PRIMARY KEY, place TEXT) WITHOUT ROWID;"
	"CREATE TABLE known (kind TEXT, key TEXT, value TEXT, PRIMARY KEY (kind, key, value))"
	"    WITHOUT ROWID;";

static const char *const ours[] = { schema, NULL };

static const struct db_table tables[] = {
	{ "self",
	  false,
	  { "version", "id", "name", "key", "clock_ms", "clock_n", "count", "sent", "segment",
	    "head", "pushed", "looked" } },
	{ "machines",
	  false,
	  { "id", "name", "nick", "key", "count", "applied", "head", "seen", "problem", "bad",
	    "forgotten" } },
	{ "facts",
	  false,
	  { "machine", "seq", "ms", "n", "who", "kind", "subject", "line", "segment", "done" } },
	{ "places", false, { "source", "place" } },
	{ "known", false, { "kind", "key", "value" } },
	{ 0 },
};

enum err machine_db_open(struct call *c, struct str path, bool write, struct machine_db *out)
{
	struct file_found found;
	enum err e = file_look(c, path, &found);

	*out = (struct machine_db){ 0 };
	if (e || (!write && found.kind == FILE_NONE))
		return e;
	if (write && found.size <= 0 &&
	    ((e = file_make_folder(c, path_parent(path), 0700)) || (e = db_make(c, path, ours))))
		return e;
	if ((e = db_open(c, path, write ? DB_WRITE : DB_READ, WAIT_MS, &out->db)))
		return e;
	if ((e = db_expect(c, out->db, tables, ours, NULL)))
		machine_db_close(out);
	return e;
}

void machine_db_close(struct machine_db *m)
{
	if (m->db)
		db_close(m->db);
	m->db = NULL;
}

enum err machine_db_begin(struct call *c, struct machine_db *m)
{
	return db_begin(c, m->db);
}

enum err machine_db_commit(struct call *c, struct machine_db *m)
{
	return db_commit(c, m->db);
}

void machine_db_rollback(struct machine_db *m)
{
	db_rollback(m->db);
}

/* --- this machine --- */

enum err machine_self_find(struct call *c, struct machine_db *m, struct machine_self *out)
{
	AUTO_STMT *st = db_stmt(m->db, "SELECT id, name, key, clock_ms, clock_n, count, sent, "
				       "segment, head, pushed, looked, dirty FROM self");

	*out = (struct machine_self){ 0 };
	if (stmt_row(st)) {
		out->id = stmt_str(st, &c->mem);
		out->name = stmt_str(st, &c->mem);
		out->key = stmt_str(st, &c->mem);
		out->clock_ms = stmt_int(st);
		out->clock_n = stmt_int(st);
		out->count = stmt_int(st);
		out->sent = stmt_int(st);
		out->segment = stmt_int(st);
		out->commit = stmt_str(st, &c->mem);
		out->pushed_ms = stmt_int(st);
		out->looked_ms = stmt_int(st);
		out->dirty = stmt_int(st);
	}
	return stmt_end(c, st);
}

enum err machine_self_put(struct call *c, struct machine_db *m, const struct machine_self *s)
{
	AUTO_STMT *st = db_stmt(m->db, "UPDATE self SET id = ?, name = ?, key = ?, clock_ms = ?, "
				       "clock_n = ?, count = ?, sent = ?, segment = ?, head = ?, "
				       "pushed = ?, looked = ?, dirty = ?");

	stmt_bind_str(st, s->id);
	stmt_bind_str(st, s->name);
	stmt_bind_str(st, s->key);
	stmt_bind_int(st, s->clock_ms);
	stmt_bind_int(st, s->clock_n);
	stmt_bind_int(st, s->count);
	stmt_bind_int(st, s->sent);
	stmt_bind_int(st, s->segment);
	stmt_bind_str(st, s->commit);
	stmt_bind_int(st, s->pushed_ms);
	stmt_bind_int(st, s->looked_ms);
	stmt_bind_int(st, s->dirty);
	return stmt_run(c, st);
}

/* --- other machines --- */

static void machine_row_read(struct call *c, struct stmt *st, struct machine_row *r)
{
	r->id = stmt_str(st, &c->mem);
	r->name = stmt_str(st, &c->mem);
	r->nick = stmt_str(st, &c->mem);
	r->key = stmt_str(st, &c->mem);
	r->count = stmt_int(st);
	r->applied = stmt_int(st);
	r->commit = stmt_str(st, &c->mem);
	r->seen_ms = stmt_int(st);
	r->problem = stmt_str(st, &c->mem);
	r->bad = stmt_str(st, &c->mem);
	r->forgotten = stmt_int(st);
}

enum err machine_row_each(struct call *c, struct machine_db *m, struct machine_row **out)
{
	*out = NULL;
	if (!m->db)
		return ERR_OK;

	AUTO_STMT *st = db_stmt(m->db, "SELECT id, name, nick, key, count, applied, head, seen, "
				       "problem, bad, forgotten FROM machines ORDER BY id");

	while (stmt_row(st)) {
		*out = arena_new(&c->mem, struct machine_row);
		machine_row_read(c, st, *out);
		out = &(*out)->next;
	}
	return stmt_end(c, st);
}

enum err machine_row_put(struct call *c, struct machine_db *m, const struct machine_row *r)
{
	AUTO_STMT *st = db_stmt(m->db, "INSERT OR REPLACE INTO machines (id, name, nick, key, "
				       "count, applied, head, seen, problem, bad, forgotten) "
				       "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	stmt_bind_str(st, r->id);
	stmt_bind_str(st, r->name);
	stmt_bind_str(st, r->nick);
	stmt_bind_str(st, r->key);
	stmt_bind_int(st, r->count);
	stmt_bind_int(st, r->applied);
	stmt_bind_str(st, r->commit);
	stmt_bind_int(st, r->seen_ms);
	stmt_bind_str(st, r->problem);
	stmt_bind_str(st, r->bad);
	stmt_bind_int(st, r->forgotten);
	return stmt_run(c, st);
}

enum err machine_row_drop(struct call *c, struct machine_db *m, struct str id)
{
	AUTO_STMT *st = db_stmt(m->db, "DELETE FROM machines WHERE id = ?");

	stmt_bind_str(st, id);
	return stmt_run(c, st);
}

/* --- facts --- */

enum err fact_row_put(struct call *c, struct machine_db *m, const struct fact_row *f)
{
	AUTO_STMT *st = db_stmt(m->db, "INSERT OR IGNORE INTO facts (machine, seq, ms, n, who, "
				       "kind, subject, line, segment, done) "
				       "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	stmt_bind_str(st, f->machine);
	stmt_bind_int(st, f->seq);
	stmt_bind_int(st, f->ms);
	stmt_bind_int(st, f->n);
	stmt_bind_str(st, f->by);
	stmt_bind_str(st, f->kind);
	stmt_bind_str(st, f->subject);
	stmt_bind_str(st, f->line);
	stmt_bind_int(st, f->segment);
	stmt_bind_int(st, f->done);
	return stmt_run(c, st);
}

static enum err fact_row_change(struct call *c, struct stmt *st, struct str machine, int64_t seq)
{
	stmt_bind_str(st, machine);
	stmt_bind_int(st, seq);
	return stmt_run(c, st);
}

enum err fact_row_done(struct call *c, struct machine_db *m, struct str machine, int64_t seq)
{
	AUTO_STMT *st = db_stmt(m->db, "UPDATE facts SET done = 1 WHERE machine = ? AND seq = ?");

	return fact_row_change(c, st, machine, seq);
}

enum err fact_row_drop_all(struct call *c, struct machine_db *m, struct str machine)
{
	AUTO_STMT *st = db_stmt(m->db, "DELETE FROM facts WHERE machine = ?");

	stmt_bind_str(st, machine);
	return stmt_run(c, st);
}

enum err fact_row_unlist(struct call *c, struct machine_db *m, struct str machine, int64_t seq)
{
	AUTO_STMT *st =
		db_stmt(m->db, "UPDATE facts SET segment = 0 WHERE machine = ? AND seq = ?");

	return fact_row_change(c, st, machine, seq);
}

enum err fact_row_rename(struct call *c, struct machine_db *m, struct str from, struct str to,
			 int64_t sent)
{
	AUTO_STMT *st = db_stmt(m->db, "UPDATE facts SET machine = iif(seq > ?3, ?1, machine), "
				       "segment = iif(seq > ?3, segment, 0) WHERE machine = ?2");

	stmt_bind_str(st, to);
	stmt_bind_str(st, from);
	stmt_bind_int(st, sent);
	return stmt_run(c, st);
}

static void fact_row_read(struct call *c, struct stmt *st, struct fact_row *f)
{
	f->machine = stmt_str(st, &c->mem);
	f->seq = stmt_int(st);
	f->ms = stmt_int(st);
	f->n = stmt_int(st);
	f->by = stmt_str(st, &c->mem);
	f->kind = stmt_str(st, &c->mem);
	f->subject = stmt_str(st, &c->mem);
	f->line = stmt_str(st, &c->mem);
	f->segment = stmt_int(st);
	f->done = stmt_int(st);
}

static struct str fact_row_query(struct call *c, const struct fact_filter *filter)
{
	struct buf sql = { .mem = &c->mem };

	buf_put(&sql, STR("SELECT machine, seq, ms, n, who, kind, subject, line, segment, done "
			  "FROM facts WHERE 1"));
	if (filter->kind.p)
		buf_put(&sql, STR(" AND kind = ?1"));
	if (filter->subject.p)
		buf_put(&sql, STR(" AND subject = ?2"));
	if (filter->machine.p)
		buf_put(&sql, STR(" AND machine = ?3"));
	if (filter->open)
		buf_put(&sql, STR(" AND done = 0"));
	if (filter->segment)
		buf_fmt(&sql, " AND segment = %lld", (long long)filter->segment);
	buf_put(&sql,
		filter->latest ? STR(" ORDER BY ms DESC, n DESC") : STR(" ORDER BY machine, seq"));
	if (filter->limit)
		buf_fmt(&sql, " LIMIT %lld", (long long)filter->limit);
	return buf_str(&sql);
}

enum err fact_row_each(struct call *c, struct machine_db *m, const struct fact_filter *filter,
		       struct fact_row **out)
{
	*out = NULL;
	if (!m->db)
		return ERR_OK;

	AUTO_STMT *st = db_stmt_once(m->db, fact_row_query(c, filter));

	stmt_bind_opt(st, filter->kind);
	stmt_bind_opt(st, filter->subject);
	stmt_bind_opt(st, filter->machine);
	while (stmt_row(st)) {
		*out = arena_new(&c->mem, struct fact_row);
		fact_row_read(c, st, *out);
		out = &(*out)->next;
	}
	return stmt_end(c, st);
}

enum err segment_row_each(struct call *c, struct machine_db *m, struct segment_row **out)
{
	AUTO_STMT *st = db_stmt(m->db, "SELECT segment, sum(length(CAST(line AS BLOB)) + 1), "
				       "max(seq) FROM facts WHERE segment > 0 GROUP BY segment "
				       "ORDER BY segment");

	*out = NULL;
	while (stmt_row(st)) {
		*out = arena_new(&c->mem, struct segment_row);
		(*out)->number = stmt_int(st);
		(*out)->bytes = stmt_int(st);
		(*out)->last = stmt_int(st);
		out = &(*out)->next;
	}
	return stmt_end(c, st);
}

/* --- places and values --- */

enum err place_row_find(struct call *c, struct machine_db *m, struct str source, struct str *out)
{
	AUTO_STMT *st = db_stmt(m->db, "SELECT place FROM places WHERE source = ?");

	*out = STR_NONE;
	stmt_bind_str(st, source);
	if (stmt_row(st))
		*out = stmt_str(st, &c->mem);
	return stmt_end(c, st);
}

enum err place_row_put(struct call *c, struct machine_db *m, struct str source, struct str place)
{
	AUTO_STMT *st = db_stmt(m->db, "INSERT OR REPLACE INTO places VALUES (?, ?)");

	stmt_bind_str(st, source);
	stmt_bind_str(st, place);
	return stmt_run(c, st);
}

enum err value_row_find(struct call *c, struct machine_db *m, struct str kind, struct str key,
			struct str value, bool *out)
{
	AUTO_STMT *st =
		db_stmt(m->db, "SELECT 1 FROM known WHERE kind = ? AND key = ? AND value = ?");

	stmt_bind_str(st, kind);
	stmt_bind_str(st, key);
	stmt_bind_str(st, value);
	*out = stmt_row(st);
	return stmt_end(c, st);
}

enum err value_row_put(struct call *c, struct machine_db *m, struct str kind, struct str key,
		       struct str value)
{
	AUTO_STMT *st = db_stmt(m->db, "INSERT OR IGNORE INTO known VALUES (?, ?, ?)");

	stmt_bind_str(st, kind);
	stmt_bind_str(st, key);
	stmt_bind_str(st, value);
	return stmt_run(c, st);
}

enum err value_row_each(struct call *c, struct machine_db *m, struct str kind,
			struct value_row **out)
{
	AUTO_STMT *st = db_stmt(m->db, "SELECT key, value FROM known WHERE kind = ? ORDER BY key");

	*out = NULL;
	stmt_bind_str(st, kind);
	while (stmt_row(st)) {
		*out = arena_new(&c->mem, struct value_row);
		(*out)->key = stmt_str(st, &c->mem);
		(*out)->value = stmt_str(st, &c->mem);
		out = &(*out)->next;
	}
	return stmt_end(c, st);
}

enum err value_row_drop(struct call *c, struct machine_db *m, struct str kind, struct str key)
{
	AUTO_STMT *st = db_stmt(m->db, "DELETE FROM known WHERE kind = ? AND key = ?");

	stmt_bind_str(st, kind);
	stmt_bind_str(st, key);
	return stmt_run(c, st);
}
