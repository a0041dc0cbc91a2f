/*
 * Recovers the rows of a damaged database as far as SQLite can read them. Rows are copied by ranges
 * of row numbers; a range that cannot be read is halved until only the rows on damaged pages are
 * left.
 */
#include "store/db/db_salvage.h"

#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/system/file.h"
#include "base/text/json.h"

enum {
	WAIT_MS = 5000,
	TRIES_MOST = 20000, /* per table; then the rest of a range counts as lost */
};

struct db_salvage_salvage {
	struct call *c;
	struct db *db; /* the new database; the old one is attached as `old` */
	const char *table;
	struct str columns;
	struct json lost; /* an open JSON array */
	int64_t from, to; /* the last range of lost rows; 0: none */
	int64_t saved;
	int tries;
};

static void db_salvage_tell(struct db_salvage_salvage *s, struct str text)
{
	json_str(&s->lost, text);
}

static void tell_rows(struct db_salvage_salvage *s)
{
	struct arena *mem = &s->c->mem;

	if (s->from && s->from == s->to)
		db_salvage_tell(s,
				arena_fmt(mem, "row %lld of '%s'", (long long)s->from, s->table));
	else if (s->from)
		db_salvage_tell(s, arena_fmt(mem, "rows %lld to %lld of '%s'", (long long)s->from,
					     (long long)s->to, s->table));
	s->from = s->to = 0;
}

/* Adjacent rows are reported together. */
static void db_salvage_lose(struct db_salvage_salvage *s, int64_t from, int64_t to)
{
	if (s->from && from != s->to + 1)
		tell_rows(s);
	s->from = s->from ? s->from : from;
	s->to = to;
}

/* --- tables --- */

static enum err read_columns(struct db_salvage_salvage *s)
{
	struct buf b = { .mem = &s->c->mem };
	AUTO_STMT *st = db_stmt_once(s->db, arena_fmt(&s->c->mem,
						      "SELECT name FROM"
						      " pragma_table_info('%s')",
						      s->table));

	while (stmt_row(st)) {
		struct str name = stmt_str(st, &s->c->mem);

		buf_fmt(&b, "%s\"" STR_FMT "\"", b.n ? ", " : "", STR_ARG(name));
	}
	s->columns = buf_str(&b);
	return stmt_end(s->c, st);
}

/* True if all rows that match the condition were copied. */
static bool db_salvage_copy(struct db_salvage_salvage *s, struct str condition)
{
	struct str sql = arena_fmt(&s->c->mem,
				   "INSERT OR IGNORE INTO main.%s (" STR_FMT ") SELECT " STR_FMT
				   " FROM old.%s " STR_FMT,
				   s->table, STR_ARG(s->columns), STR_ARG(s->columns), s->table,
				   STR_ARG(condition));
	AUTO_STMT *st = db_stmt_once(s->db, sql);
	bool well = !stmt_run(s->c, st);

	call_forgive(s->c);
	s->tries++;
	if (well)
		s->saved += db_changes(s->db);
	return well;
}

static void copy_range(struct db_salvage_salvage *s, int64_t from, int64_t to)
{
	int64_t middle = from + (to - from) / 2;

	if (from > to ||
	    db_salvage_copy(s, arena_fmt(&s->c->mem, "WHERE rowid BETWEEN %lld AND %lld",
					 (long long)from, (long long)to)))
		return;
	if (from == to || s->tries > TRIES_MOST) {
		db_salvage_lose(s, from, to);
		return;
	}
	copy_range(s, from, middle);
	copy_range(s, middle + 1, to);
}

/* For a table without row numbers: copies as many rows as can be read from each end. */
static void copy_from_ends(struct db_salvage_salvage *s)
{
	static const char *const order[] = { "", "ORDER BY 1 DESC, 2 DESC " };
	struct arena *mem = &s->c->mem;

	db_salvage_tell(s, arena_fmt(mem, "some rows of '%s'", s->table));
	for (int i = 0; i < 2; i++)
		for (int64_t n = 1; n < 1 << 20; n *= 2)
			if (!db_salvage_copy(
				    s, arena_fmt(mem, "%sLIMIT %lld", order[i], (long long)n)))
				break;
}

/* The highest row number; false if the damage hides it. */
static bool find_last(struct db_salvage_salvage *s, int64_t *last)
{
	AUTO_STMT *st = db_stmt_once(
		s->db, arena_fmt(&s->c->mem, "SELECT max(rowid) FROM old.%s", s->table));
	bool well = stmt_row(st);

	*last = well ? stmt_int(st) : 0;
	well = !stmt_end(s->c, st) && well;
	call_forgive(s->c);
	return well;
}

static enum err copy_table(struct db_salvage_salvage *s, const struct db_table *t)
{
	int64_t last;
	enum err e;

	s->table = t->name;
	s->tries = 0;
	if ((e = read_columns(s)) || db_salvage_copy(s, STR("")))
		return e;
	if (find_last(s, &last))
		copy_range(s, 1, last);
	else if (db_salvage_copy(s, STR("WHERE rowid < 0"))) /* the table has row numbers */
		copy_range(s, 1, 1 << 20);
	else
		copy_from_ends(s);
	tell_rows(s);
	return ERR_OK;
}

/* --- databases --- */

static bool is_page_size(unsigned n)
{
	return n == 1 || (n >= 512 && !(n & (n - 1)));
}

/* Repairs the header fields that are the same in every database. */
static void mend_header(char *p, size_t n)
{
	static const char magic[16] = "SQLite format 3";
	unsigned char *u = (unsigned char *)p;

	if (n < 100)
		return;
	memcpy(p, magic, sizeof magic);
	if (!is_page_size((unsigned)u[16] << 8 | u[17])) {
		u[16] = 0x10; /* 4096 */
		u[17] = 0;
	}
	u[18] = u[19] = 1; /* not WAL: the log was already applied, or cannot be trusted */
	u[20] = 0;
	u[21] = 64;
	u[22] = u[23] = 32;
	memcpy(u + 44, "\0\0\0\4", 4);
	memcpy(u + 56, "\0\0\0\1", 4);
}

/* Makes a writable copy, with its log applied if SQLite can still do that. */
static enum err make_work(struct call *c, struct str path, struct str work)
{
	struct str text, log, logs = arena_fmt(&c->mem, STR_FMT "-wal", STR_ARG(path)),
			      log_of_work = arena_fmt(&c->mem, STR_FMT "-wal", STR_ARG(work));
	struct db *db = NULL;
	enum err e;

	if ((e = file_read_part(c, path, 0, 0, &text)) ||
	    (e = file_read_part(c, logs, 0, 0, &log)) ||
	    (e = file_own_replace(c, work, text.p ? text : STR(""), 0600)))
		return e;
	if (log.n && (e = file_own_replace(c, log_of_work, log, 0600)))
		return e;
	if (!db_open(c, work, DB_WRITE, WAIT_MS, &db)) {
		db_exec(c, db, "PRAGMA wal_checkpoint(TRUNCATE)");
		db_close(db);
	}
	call_forgive(c);
	if ((e = file_remove(c, log_of_work)) ||
	    (e = file_remove(c, arena_fmt(&c->mem, STR_FMT "-shm", STR_ARG(work)))) ||
	    (e = file_read_part(c, work, 0, 0, &text)))
		return e;
	mend_header((char *)text.p, text.n);
	return file_own_replace(c, work, text.p ? text : STR(""), 0600);
}

static enum err copy_all(struct db_salvage_salvage *s, struct str work, const struct db_plan *plan)
{
	struct call *c = s->c;
	bool attached;
	enum err e;

	for (int i = 0; plan->schema[i]; i++)
		if ((e = db_exec(c, s->db, plan->schema[i])))
			return e;
	for (const struct db_table *t = plan->tables; t->name; t++) /* its initial rows */
		if ((e = db_exec(c, s->db, arena_fmt(&c->mem, "DELETE FROM %s", t->name).p)))
			return e;
	if ((e = db_attach_old(c, s->db, work)) && e != ERR_DAMAGED)
		return e;
	attached = !e;
	call_forgive(c);
	if (!attached)
		db_salvage_tell(s, STR("everything: the list of its tables cannot be read"));
	for (const struct db_table *t = plan->tables; attached && t->name; t++)
		if ((e = copy_table(s, t)))
			return e;
	db_exec(c, s->db, "DETACH old");
	call_forgive(c);
	return plan->after ? db_exec(c, s->db, plan->after) : ERR_OK;
}

static enum err db_salvage_replace(struct call *c, struct str made, struct str path)
{
	static const char *const part[] = { "-wal", "-shm" };
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < 2; i++)
		e = file_remove(c, arena_fmt(&c->mem, STR_FMT "%s", STR_ARG(path), part[i]));
	if (!e && rename(arena_cstr(&c->mem, made), arena_cstr(&c->mem, path)))
		e = file_fail(c, "replace", path);
	return e ? e : file_sync_dir(c, path);
}

/* The new database is complete and durable before it replaces the old one. */
static enum err db_salvage_build(struct call *c, struct db_salvage_salvage *s, struct str path,
				 struct str made, const struct db_plan *plan)
{
	struct str work = arena_fmt(&c->mem, STR_FMT ".work", STR_ARG(path)), content;
	enum err e;

	if ((e = file_remove(c, made)) || (e = file_remove(c, work)) ||
	    (e = make_work(c, path, work)) || (e = file_create(c, made, 0600)))
		return e;
	if (!(e = db_open(c, made, DB_CREATE, WAIT_MS, &s->db)) &&
	    !(e = db_exec(c, s->db, "PRAGMA journal_mode = DELETE; PRAGMA foreign_keys = OFF")))
		e = copy_all(s, work, plan);
	db_close(s->db);
	unlink(arena_cstr(&c->mem, work));
	if (!e)
		e = file_read_part(c, made, 0, 0, &content);
	return e ? e : file_own_replace(c, made, content, 0600); /* synced */
}

static enum err db_salvage_salvage(struct call *c, struct mend *m, struct str path,
				   const struct db_plan *plan)
{
	struct db_salvage_salvage s = { .c = c, .lost.out.mem = &c->mem };
	struct str why = c->message, kept, log,
		   made = arena_fmt(&c->mem, STR_FMT ".salvaged", STR_ARG(path));
	enum err e;

	call_forgive(c);
	json_array(&s.lost);
	if ((e = db_salvage_build(c, &s, path, made, plan)) || (e = mend_keep(c, path, &kept)) ||
	    (e = mend_keep(c, arena_fmt(&c->mem, STR_FMT "-wal", STR_ARG(path)), &log)) ||
	    (e = db_salvage_replace(c, made, path))) {
		unlink(arena_cstr(&c->mem, made));
		return e;
	}
	json_end(&s.lost);
	mend_tell(m, &(struct mend_finding){ .file = path,
					     .status = "fixed",
					     .message = arena_fmt(&c->mem,
								  STR_FMT "; %lld rows were saved",
								  STR_ARG(why), (long long)s.saved),
					     .kept = kept,
					     .lost = json_text(&s.lost) });
	return ERR_OK;
}

/* SQLite would treat a damaged format version as a read-only database. */
static enum err db_salvage_check_header(struct call *c, struct str path)
{
	struct str head;
	enum err e = file_read_part(c, path, 0, 20, &head);

	if (e || head.n < 20 ||
	    ((unsigned char)head.p[18] - 1u < 2 && (unsigned char)head.p[19] - 1u < 2))
		return e;
	return call_fail(c, ERR_DAMAGED, "'" STR_FMT "' is damaged: its header is wrong",
			 STR_ARG(path));
}

enum err db_mend(struct call *c, struct mend *m, struct str path, const struct db_plan *plan,
		 db_store_check *check)
{
	struct db *db = NULL;
	struct file_found found;
	enum err e = file_look(c, path, &found);

	if (e || found.kind == FILE_NONE)
		return e;
	if (!found.size)
		e = call_fail(c, ERR_DAMAGED, "'" STR_FMT "' is empty", STR_ARG(path));
	else if (!(e = db_open(c, path, DB_READ, WAIT_MS, &db)) && !(e = db_check(c, db)) &&
		 !(e = db_salvage_check_header(c, path)))
		e = check ? check(c, db, path) : ERR_OK;
	db_close(db);
	if (!e)
		mend_tell(m, &(struct mend_finding){ .file = path,
						     .status = "ok",
						     .message = STR("the database is intact") });
	if (e != ERR_DAMAGED)
		return e;
	if (m->fix)
		return db_salvage_salvage(c, m, path, plan);
	mend_tell(m, &(struct mend_finding){ .file = path,
					     .status = "error",
					     .message = c->message,
					     .fix = STR("abacus doctor --fix") });
	return call_forgive(c);
}
