#include "store/db/machine_db.h"

#include "base/buf.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "store/db/row.h"

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

static const struct column self_columns[] = {
	COLUMN(struct machine_self, id),
	COLUMN(struct machine_self, name),
	COLUMN(struct machine_self, key),
	COLUMN(struct machine_self, clock_ms),
	COLUMN(struct machine_self, clock_n),
	COLUMN(struct machine_self, count),
	COLUMN(struct machine_self, sent),
	COLUMN(struct machine_self, segment),
	COLUMN(struct machine_self, commit),
	COLUMN(struct machine_self, pushed_ms),
	COLUMN(struct machine_self, looked_ms),
	COLUMN(struct machine_self, dirty),
	{ 0 },
};

enum err machine_self_find(struct call *c, struct machine_db *m, struct machine_self *out)
{
	AUTO_STMT *st = db_stmt(m->db, "SELECT id, name, key, clock_ms, clock_n, count, sent, "
				       "segment, head, pushed, looked, dirty FROM self");

	*out = (struct machine_self){ 0 };
	if (stmt_row(st))
		stmt_read_row(st, &c->mem, self_columns, out);
	return stmt_end(c, st);
}

enum err machine_self_put(struct call *c, struct machine_db *m, const struct machine_self *s)
{
	return db_put_row(c, m->db,
			  "UPDATE self SET id = ?, name = ?, key = ?, clock_ms = ?, clock_n = ?, "
			  "count = ?, sent = ?, segment = ?, head = ?, pushed = ?, looked = ?, "
			  "dirty = ?",
			  self_columns, s);
}

/* --- other machines --- */

#define MACHINE_COLUMNS "id, name, nick, key, count, applied, head, seen, problem, bad, forgotten"

static const struct column machine_columns[] = {
	COLUMN(struct machine_row, id),        COLUMN(struct machine_row, name),
	COLUMN(struct machine_row, nick),      COLUMN(struct machine_row, key),
	COLUMN(struct machine_row, count),     COLUMN(struct machine_row, applied),
	COLUMN(struct machine_row, commit),    COLUMN(struct machine_row, seen_ms),
	COLUMN(struct machine_row, problem),   COLUMN(struct machine_row, bad),
	COLUMN(struct machine_row, forgotten), { 0 },
};

enum err machine_row_each(struct call *c, struct machine_db *m, struct machine_row **out)
{
	*out = NULL;
	if (!m->db)
		return ERR_OK;

	AUTO_STMT *st = db_stmt(m->db, "SELECT " MACHINE_COLUMNS " FROM machines ORDER BY id");

	for (; stmt_row(st); out = &(*out)->next) {
		*out = arena_new(&c->mem, struct machine_row);
		stmt_read_row(st, &c->mem, machine_columns, *out);
	}
	return stmt_end(c, st);
}

enum err machine_row_put(struct call *c, struct machine_db *m, const struct machine_row *r)
{
	return db_put_row(c, m->db,
			  "INSERT OR REPLACE INTO machines (" MACHINE_COLUMNS ") "
			  "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			  machine_columns, r);
}

enum err machine_row_drop(struct call *c, struct machine_db *m, struct str id)
{
	return db_run(c, m->db, "DELETE FROM machines WHERE id = ?", BIND(id));
}

/* --- facts --- */

#define FACT_COLUMNS "machine, seq, ms, n, who, kind, subject, line, segment, done"

static const struct column fact_columns[] = {
	COLUMN(struct fact_row, machine),
	COLUMN(struct fact_row, seq),
	COLUMN(struct fact_row, ms),
	COLUMN(struct fact_row, n),
	COLUMN(struct fact_row, by),
	COLUMN(struct fact_row, kind),
	COLUMN(struct fact_row, subject),
	COLUMN(struct fact_row, line),
	COLUMN(struct fact_row, segment),
	COLUMN(struct fact_row, done),
	{ 0 },
};

enum err fact_row_put(struct call *c, struct machine_db *m, const struct fact_row *f)
{
	return db_put_row(c, m->db,
			  "INSERT OR IGNORE INTO facts (" FACT_COLUMNS ") "
			  "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			  fact_columns, f);
}

enum err fact_row_done(struct call *c, struct machine_db *m, struct str machine, int64_t seq)
{
	return db_run(c, m->db, "UPDATE facts SET done = 1 WHERE machine = ? AND seq = ?",
		      BIND(machine), BIND(seq));
}

enum err fact_row_drop_all(struct call *c, struct machine_db *m, struct str machine)
{
	return db_run(c, m->db, "DELETE FROM facts WHERE machine = ?", BIND(machine));
}

enum err fact_row_unlist(struct call *c, struct machine_db *m, struct str machine, int64_t seq)
{
	return db_run(c, m->db, "UPDATE facts SET segment = 0 WHERE machine = ? AND seq = ?",
		      BIND(machine), BIND(seq));
}

enum err fact_row_rename(struct call *c, struct machine_db *m, struct str from, struct str to,
			 int64_t sent)
{
	return db_run(c, m->db,
		      "UPDATE facts SET machine = iif(seq > ?3, ?1, machine), "
		      "segment = iif(seq > ?3, segment, 0) WHERE machine = ?2",
		      BIND(to), BIND(from), BIND(sent));
}

static struct str fact_row_query(struct call *c, const struct fact_filter *filter)
{
	struct buf sql = { .mem = &c->mem };

	buf_put(&sql, STR("SELECT " FACT_COLUMNS " FROM facts WHERE 1"));
	if (filter->kind.p)
		buf_put(&sql, STR(" AND kind = ?1"));
	if (filter->subject.p)
		buf_put(&sql, STR(" AND subject = ?2"));
	/* The + keeps SQLite from reading all facts of a machine to find those of one segment, and
	 * all open facts to find those of one subject. */
	if (filter->machine.p)
		buf_put(&sql,
			filter->segment > 0 ? STR(" AND +machine = ?3") : STR(" AND machine = ?3"));
	if (filter->open)
		buf_put(&sql, filter->subject.p ? STR(" AND +done = 0") : STR(" AND done = 0"));
	if (filter->seq)
		buf_fmt(&sql, " AND seq = %lld", (long long)filter->seq);
	if (filter->segment)
		buf_fmt(&sql, " AND segment = %lld", (long long)filter->segment);
	buf_put(&sql,
		filter->latest ? STR(" ORDER BY ms DESC, n DESC") : STR(" ORDER BY machine, seq"));
	if (filter->limit)
		buf_fmt(&sql, " LIMIT %lld", (long long)filter->limit);
	return buf_str(&sql);
}

static struct stmt *fact_row_stmt(struct call *c, struct machine_db *m,
				  const struct fact_filter *filter)
{
	struct stmt *st = db_stmt_once(m->db, fact_row_query(c, filter));

	stmt_bind_opt(st, filter->kind);
	stmt_bind_opt(st, filter->subject);
	stmt_bind_opt(st, filter->machine);
	return st;
}

enum err fact_row_each(struct call *c, struct machine_db *m, const struct fact_filter *filter,
		       struct fact_row **out)
{
	*out = NULL;
	if (!m->db)
		return ERR_OK;

	AUTO_STMT *st = fact_row_stmt(c, m, filter);

	for (; stmt_row(st); out = &(*out)->next) {
		*out = arena_new(&c->mem, struct fact_row);
		stmt_read_row(st, &c->mem, fact_columns, *out);
	}
	return stmt_end(c, st);
}

enum err fact_row_visit_each(struct call *c, struct machine_db *m, const struct fact_filter *filter,
			     fact_row_visit *visit, void *arg)
{
	struct arena scratch = { 0 };
	enum err e = ERR_OK;

	if (!m->db)
		return ERR_OK;

	AUTO_STMT *st = fact_row_stmt(c, m, filter);

	while (!e && stmt_row(st)) {
		struct fact_row row = { 0 };

		stmt_read_row(st, &scratch, fact_columns, &row);
		e = visit(&row, &scratch, arg);
		arena_reset(&scratch);
	}
	arena_release(&scratch);
	return e ? e : stmt_end(c, st);
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
	return db_run(c, m->db, "INSERT OR REPLACE INTO places VALUES (?, ?)", BIND(source),
		      BIND(place));
}

enum err value_row_find(struct call *c, struct machine_db *m, struct str kind, struct str key,
			struct str value, bool *out)
{
	AUTO_STMT *st =
		db_stmt(m->db, "SELECT 1 FROM known WHERE kind = ? AND key = ? AND value = ?");

	stmt_bind(st, PARAMS(BIND(kind), BIND(key), BIND(value)));
	*out = stmt_row(st);
	return stmt_end(c, st);
}

enum err value_row_find_any(struct call *c, struct machine_db *m, struct str kind, struct str key,
			    bool *out)
{
	AUTO_STMT *st = db_stmt(m->db, "SELECT 1 FROM known WHERE kind = ? AND key = ? LIMIT 1");

	stmt_bind(st, PARAMS(BIND(kind), BIND(key)));
	*out = stmt_row(st);
	return stmt_end(c, st);
}

enum err value_row_put(struct call *c, struct machine_db *m, struct str kind, struct str key,
		       struct str value)
{
	return db_run(c, m->db, "INSERT OR IGNORE INTO known VALUES (?, ?, ?)", BIND(kind),
		      BIND(key), BIND(value));
}

/* Reads rows of key and value. */
static enum err value_row_read_all(struct call *c, struct stmt *st, struct value_row **out)
{
	*out = NULL;
	while (stmt_row(st)) {
		*out = arena_new(&c->mem, struct value_row);
		(*out)->key = stmt_str(st, &c->mem);
		(*out)->value = stmt_str(st, &c->mem);
		out = &(*out)->next;
	}
	return stmt_end(c, st);
}

enum err value_row_each(struct call *c, struct machine_db *m, struct str kind,
			struct value_row **out)
{
	AUTO_STMT *st = db_stmt(m->db, "SELECT key, value FROM known WHERE kind = ? ORDER BY key");

	stmt_bind_str(st, kind);
	return value_row_read_all(c, st, out);
}

enum err value_row_with(struct call *c, struct machine_db *m, struct str kind, struct str text,
			struct value_row **out)
{
	AUTO_STMT *st = db_stmt(m->db, "SELECT key, value FROM known WHERE kind = ?"
				       " AND (key = ? OR value = ?) ORDER BY key");

	stmt_bind(st, PARAMS(BIND(kind), BIND(text), BIND(text)));
	return value_row_read_all(c, st, out);
}

enum err value_row_drop(struct call *c, struct machine_db *m, struct str kind, struct str key)
{
	return db_run(c, m->db, "DELETE FROM known WHERE kind = ? AND key = ?", BIND(kind),
		      BIND(key));
}
