#include "store/text_db.h"

#include "base/system/file.h"
#include "base/system/path.h"
#include "store/db/row.h"

#define MEMORY ":memory:" /* SQLite's name of a database without a file */

enum {
	WAIT_MS = 10000,
	PER_MS = 4096, /* row numbers for each millisecond */
};

/* The number of a text begins with its time, so that the highest number is the newest text. */
static const char schema[] =
	"CREATE TABLE places (source TEXT PRIMARY KEY, place INTEGER, mark TEXT) WITHOUT ROWID;"
	"CREATE TABLE texts (n INTEGER PRIMARY KEY, source TEXT, key TEXT, bead TEXT);"
	"CREATE INDEX about ON texts (bead);"
	"CREATE TABLE tallies (bead TEXT PRIMARY KEY, unread INTEGER, unacked INTEGER, at INTEGER,"
	"    source TEXT, by TEXT, kind INTEGER) WITHOUT ROWID;"
	"CREATE VIRTUAL TABLE words USING"
	"    fts5(text, content = '', columnsize = 0);";

/* The tables that SQLite creates for the full-text search. */
static const char word_tables[] =
	"CREATE TABLE 'words_data'(id INTEGER PRIMARY KEY, block BLOB);"
	"CREATE TABLE 'words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;"
	"CREATE TABLE 'words_config'(k PRIMARY KEY, v) WITHOUT ROWID;";

void text_db_close(struct text_db *t)
{
	if (t->db)
		db_close(t->db);
	t->db = NULL;
}

/* --- how far each source was read --- */

static enum err text_db_place(struct call *c, struct text_db *t, const struct text_source *s,
			      int64_t *place, struct str *mark)
{
	AUTO_STMT *st = db_stmt(t->db, "SELECT place, mark FROM places WHERE source = ?");
	bool known;

	stmt_bind_str(st, s->name);
	known = stmt_row(st);
	*place = known ? stmt_int(st) : 0;
	*mark = known ? stmt_str(st, &c->mem) : STR_NONE;
	return stmt_end(c, st);
}

enum text_news { TEXT_NONE, TEXT_MORE, TEXT_REPLACED };

/* Does a source have texts that the index lacks, or was it replaced? */
static enum err text_db_news(struct call *c, struct text_db *t, const struct text_source *s,
			     enum text_news *out)
{
	struct str known, mark = STR_NONE;
	int64_t place, end;
	enum err e;

	if ((e = text_db_place(c, t, s, &place, &known)) || (e = s->end(c, s, &end)) ||
	    (place && place <= end && (e = s->mark(c, s, place, &mark))))
		return e;
	*out = place && !str_eq(mark, known) ? TEXT_REPLACED : place < end ? TEXT_MORE : TEXT_NONE;
	return ERR_OK;
}

/* Is there a source in the index that is none any more? */
static enum err text_db_any_gone(struct call *c, struct text_db *t,
				 const struct text_source *sources, size_t count, bool *out)
{
	AUTO_STMT *st = db_stmt(t->db, "SELECT source FROM places ORDER BY source");

	size_t i = 0;

	*out = false;
	while (!*out && stmt_row(st)) {
		struct str known = stmt_str(st, &c->mem);

		while (i < count && str_cmp(sources[i].name, known) < 0)
			i++;
		*out = i == count || !str_eq(sources[i].name, known);
	}
	return stmt_end(c, st);
}

static enum err text_db_all_news(struct call *c, struct text_db *t,
				 const struct text_source *sources, size_t count,
				 enum text_news *out)
{
	bool gone;
	enum err e = text_db_any_gone(c, t, sources, count, &gone);

	*out = gone ? TEXT_REPLACED : TEXT_NONE;
	for (size_t i = 0; !e && i < count && *out != TEXT_REPLACED; i++) {
		enum text_news one;

		e = text_db_news(c, t, &sources[i], &one);
		if (!e && one > *out)
			*out = one;
	}
	return e;
}

static enum err text_db_read(struct call *c, struct text_db *t, const struct text_source *s)
{
	struct str mark;
	int64_t place, end;
	enum err e;

	if ((e = text_db_place(c, t, s, &place, &mark)) || (e = s->end(c, s, &end)) ||
	    end == place || (e = s->read(c, s, &place, t)) || (e = s->mark(c, s, place, &mark)))
		return e;
	return db_run(c, t->db, "INSERT OR REPLACE INTO places VALUES (?, ?, ?)", BIND(s->name),
		      BIND(place), BIND(mark));
}

static enum err text_db_fill(struct call *c, struct text_db *t, const struct text_source *sources,
			     size_t count)
{
	enum stored before = c->stored;
	enum text_news news;
	enum err e = text_db_all_news(c, t, sources, count, &news);

	if (!e && news == TEXT_REPLACED)
		e = db_exec(c, t->db,
			    "DELETE FROM places; DELETE FROM texts; DELETE FROM tallies;"
			    "INSERT INTO words(words) VALUES('delete-all')");
	for (size_t i = 0; !e && i < count; i++)
		e = text_db_read(c, t, &sources[i]);
	if (!e)
		e = db_commit(c, t->db);
	c->stored = before; /* a cache is no change to the stores */
	return e;
}

/* --- opening --- */

static enum err text_db_try(struct call *c, struct text_db *t, bool write)
{
	static const char *const made[] = { schema, NULL };
	static const char *const ours[] = { schema, word_tables, NULL };
	enum err e = db_open_own(c, t->path, write, WAIT_MS, made, &t->db);

	if (e || !t->db)
		return e;
	if (!(e = db_expect_exact(c, t->db, ours)))
		e = write ? db_begin(c, t->db) : db_snapshot(c, t->db);
	return e;
}

static enum err text_db_open_memory(struct call *c, struct text_db *t)
{
	enum err e;

	t->path = STR(MEMORY);
	if ((e = db_open(c, t->path, DB_CREATE, WAIT_MS, &t->db)) ||
	    (e = db_exec(c, t->db, schema)))
		return e;
	return db_begin(c, t->db);
}

/* Opens the file, if it exists and is current. */
static bool text_db_open_read(struct call *c, struct text_db *t, const struct text_source *sources,
			      size_t count)
{
	enum text_news news = TEXT_MORE;
	enum err e = text_db_try(c, t, false);

	if (!e && t->db)
		e = text_db_all_news(c, t, sources, count, &news);
	if (!e && news == TEXT_NONE)
		return true;
	text_db_close(t);
	call_forgive(c);
	return false;
}

/* Adds new texts to the file; if that fails, builds a new file, or an index in memory. */
enum err text_db_open(struct call *c, struct str folder, const struct text_source *sources,
		      size_t count, struct text_db *out)
{
	enum { USE_FILE, USE_NEW_FILE, USE_MEMORY, WAYS };
	enum err e = ERR_OK;

	*out = (struct text_db){ .path = path_join(&c->mem, folder, STR("texts.db")) };
	if (folder.p && text_db_open_read(c, out, sources, count))
		return ERR_OK;
	for (int way = folder.p ? USE_FILE : USE_MEMORY; way < WAYS; way++) {
		call_forgive(c);
		e = way == USE_NEW_FILE ? file_remove(c, out->path) : ERR_OK;
		if (!e)
			e = way == USE_MEMORY ? text_db_open_memory(c, out) :
						text_db_try(c, out, true);
		if (!e && !(e = text_db_fill(c, out, sources, count)))
			return ERR_OK;
		text_db_close(out);
	}
	return e;
}

/* --- texts --- */

enum err text_db_put(struct call *c, struct text_db *t, const struct text_new *text)
{
	int64_t first = (text->at_ms > 0 ? text->at_ms : 0) * PER_MS, n;
	enum err e = db_number(c, t->db, "SELECT max(n) + 1 FROM texts WHERE n BETWEEN ? AND ?",
			       PARAMS(BIND(first), BIND(first + PER_MS - 1)), &n);

	n = n ? n : first;
	if (e || n == first + PER_MS) /* no number is left: the text is left out */
		return e;
	if ((e = db_run(c, t->db, "INSERT INTO texts VALUES (?, ?, ?, ?)", BIND(n),
			BIND(text->source), BIND(text->key), BIND(text->bead))))
		return e;
	return db_run(c, t->db, "INSERT INTO words(rowid, text) VALUES (?, ?)", BIND(n),
		      BIND(text->text));
}

enum err text_db_count(struct call *c, struct text_db *t, struct str source, struct str bead,
		       const struct text_tally *change)
{
	return db_run(c, t->db,
		      "INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
		      " unread = unread + excluded.unread, unacked = unacked + excluded.unacked,"
		      " by = iif((excluded.at, excluded.source) >= (at, source), excluded.by, by),"
		      " kind = iif((excluded.at, excluded.source) >= (at, source), excluded.kind,"
		      " kind),"
		      " source = iif((excluded.at, excluded.source) >= (at, source),"
		      " excluded.source, source), at = max(at, excluded.at)",
		      BIND(bead), BIND(change->unread), BIND(change->unacked), BIND(change->at_ms),
		      BIND(source), BIND(change->by), BIND(change->kind));
}

/* Removes a file that caused an error: the next command rebuilds it. */
static enum err text_db_fail(struct call *c, struct text_db *t, enum err e)
{
	if (!str_is(t->path, MEMORY) && e != ERR_DATABASE_BUSY && !file_remove(c, t->path))
		call_step(c, "Run the command again: this file is only a cache, and is rebuilt.");
	return e;
}

/* Visits the rows of a statement. */
static enum err text_db_visit(struct call *c, struct text_db *t, struct stmt *st, text_visit *visit,
			      void *arg)
{
	bool more = true;
	enum err e;

	while (more && stmt_row(st)) {
		struct str source = stmt_str(st, &c->mem), key = stmt_str(st, &c->mem);

		more = visit(c, source, key, arg);
	}
	e = stmt_end(c, st);
	return e ? text_db_fail(c, t, e) : ERR_OK;
}

enum err text_db_find(struct call *c, struct text_db *t, struct str words, text_visit *visit,
		      void *arg)
{
	AUTO_STMT *st = db_stmt(t->db, "SELECT source, key FROM words w CROSS JOIN texts t"
				       " ON t.n = w.rowid WHERE w.words MATCH ?"
				       " ORDER BY w.rowid DESC");

	stmt_bind_str(st, stmt_match(&c->mem, words, ""));
	return text_db_visit(c, t, st, visit, arg);
}

enum err text_db_about(struct call *c, struct text_db *t, struct str bead, struct str or_bead,
		       text_visit *visit, void *arg)
{
	AUTO_STMT *st = db_stmt(t->db, "SELECT source, key FROM texts WHERE bead IN (?, ?)"
				       " ORDER BY n");

	stmt_bind(st, PARAMS(BIND(bead), BIND(or_bead)));
	return text_db_visit(c, t, st, visit, arg);
}

enum err text_db_tally(struct call *c, struct text_db *t, struct str bead, struct text_tally *out)
{
	AUTO_STMT *st = db_stmt(t->db, "SELECT unread, unacked, at, by, kind FROM tallies"
				       " WHERE bead = ?");
	enum err e;

	*out = (struct text_tally){ 0 };
	stmt_bind_str(st, bead);
	if (stmt_row(st)) {
		out->unread = stmt_int(st);
		out->unacked = stmt_int(st);
		out->at_ms = stmt_int(st);
		out->by = stmt_str(st, &c->mem);
		out->kind = stmt_int(st);
	}
	e = stmt_end(c, st);
	return e ? text_db_fail(c, t, e) : ERR_OK;
}
