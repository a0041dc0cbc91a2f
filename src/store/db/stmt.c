/*
 * Statements of SQLite. Those from literals are kept per connection, by the address of the literal;
 * those from generated text by their text, in a long-running process.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/system/fault.h"
#include "base/text/value.h"
#include "store/db/db_parts.h"

void stmt_free(struct stmt *st)
{
	if (!st)
		return;
	sqlite3_finalize(st->raw);
	free(st->made);
	free(st);
}

static struct stmt *stmt_prepare(struct db *db, const char *sql)
{
	struct stmt *st = &db->cache[db->cached++];

	assert(db->cached <= STMTS_MOST);
	db_begin_query(db);
	*st = (struct stmt){ .db = db, .sql = sql };
	st->failed = sqlite3_prepare_v2(db->raw, sql, -1, &st->raw, NULL);
	return st;
}

struct stmt *db_stmt(struct db *db, const char *sql)
{
	struct stmt *st = NULL;

	for (int i = 0; i < db->cached && !st; i++)
		if (db->cache[i].sql == sql)
			st = &db->cache[i];
	if (!st)
		st = stmt_prepare(db, sql);
	assert(!st->lent);
	st->lent = true;
	return st;
}

/* A returned statement with this text; or NULL. */
static struct stmt *stmt_find_made(struct db *db, struct str sql)
{
	for (int i = 0; i < MADE_KEPT && db->made[i]; i++) {
		struct stmt *st = db->made[i];

		if (!str_is(sql, st->made))
			continue;
		memmove(db->made + i, db->made + i + 1,
			(size_t)(MADE_KEPT - 1 - i) * sizeof *db->made);
		db->made[MADE_KEPT - 1] = NULL;
		return st;
	}
	return NULL;
}

struct stmt *db_stmt_once(struct db *db, struct str sql)
{
	struct stmt *st = stmt_find_made(db, sql);

	if (!st) {
		st = calloc(1, sizeof *st);
		if (!st || !(st->made = strndup(sql.p, sql.n)))
			abort();
		st->db = db;
		db_begin_query(db);
		st->failed = sqlite3_prepare_v2(db->raw, sql.p, (int)sql.n, &st->raw, NULL);
	}
	st->lent = true;
	return st;
}

/* A long-running process is likely to run the same query again. */
static void stmt_keep_made(struct stmt *st)
{
	struct stmt **made = st->db->made;

	stmt_free(made[MADE_KEPT - 1]);
	memmove(made + 1, made, (MADE_KEPT - 1) * sizeof *made);
	made[0] = st;
}

void stmt_done(struct stmt **st)
{
	struct stmt *s = *st;

	if (!s)
		return;
	if (s->made && (!db_keeps() || !s->raw)) {
		stmt_free(s);
		return;
	}
	if (s->raw) {
		sqlite3_reset(s->raw);
		sqlite3_clear_bindings(s->raw);
	}
	s->bound = s->column = 0;
	s->deadline = 0;
	s->failed = s->raw ? SQLITE_OK : SQLITE_ERROR;
	s->lent = false;
	if (s->made)
		stmt_keep_made(s);
}

static void stmt_note(struct stmt *st, int rc)
{
	if (!st->failed && rc != SQLITE_ROW && rc != SQLITE_DONE)
		st->failed = rc;
}

void stmt_bind_str(struct stmt *st, struct str s)
{
	stmt_note(st,
		  sqlite3_bind_text64(st->raw, ++st->bound, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8));
}

void stmt_bind_blob(struct stmt *st, struct str s)
{
	stmt_note(st, sqlite3_bind_blob64(st->raw, ++st->bound, s.p, s.n, SQLITE_STATIC));
}

void stmt_bind_int(struct stmt *st, int64_t v)
{
	stmt_note(st, sqlite3_bind_int64(st->raw, ++st->bound, v));
}

void stmt_skip(struct stmt *st, int count)
{
	st->bound += count;
}

void stmt_bind_opt(struct stmt *st, struct str s)
{
	if (s.p)
		stmt_bind_str(st, s);
	else
		stmt_skip(st, 1);
}

bool stmt_row(struct stmt *st)
{
	int rc;

	if (st->failed)
		return false;
	st->column = 0;
	fault_point();
	if (!st->deadline) {
		db_begin_query(st->db);
		st->deadline = st->db->deadline;
	}
	st->db->deadline = st->deadline;
	rc = sqlite3_step(st->raw);
	stmt_note(st, rc);
	return rc == SQLITE_ROW;
}

struct str stmt_str(struct stmt *st, struct arena *mem)
{
	const char *p = (const char *)sqlite3_column_text(st->raw, st->column);
	int n = sqlite3_column_bytes(st->raw, st->column++);

	return p ? arena_copy(mem, (struct str){ p, (size_t)n }) : STR_NONE;
}

struct str stmt_json(struct stmt *st, struct arena *mem, struct str otherwise)
{
	struct str text = stmt_str(st, mem);
	struct arena mark = arena_mark(mem);
	bool valid = str_is(text, "[]") || (text.p && value_read(mem, text));

	arena_rewind(mem, mark);
	return valid ? text : otherwise;
}

int stmt_word(struct stmt *st, struct arena *mem, const struct names *words, int otherwise)
{
	int value = names_value(words, stmt_str(st, mem));

	return value < 0 ? otherwise : value;
}

int64_t stmt_int(struct stmt *st)
{
	return sqlite3_column_int64(st->raw, st->column++);
}

int64_t stmt_int_or(struct stmt *st, int64_t absent)
{
	bool null = sqlite3_column_type(st->raw, st->column) == SQLITE_NULL;
	int64_t v = stmt_int(st);

	return null ? absent : v;
}

enum err stmt_end(struct call *c, struct stmt *st)
{
	return st->failed ? db_fail(c, st->db, st->failed) : ERR_OK;
}

enum err stmt_run(struct call *c, struct stmt *st)
{
	while (stmt_row(st))
		;
	return stmt_end(c, st);
}

struct str stmt_like(struct arena *mem, struct str text)
{
	struct buf b = { .mem = mem };

	if (!text.p)
		return text;
	buf_char(&b, '%');
	for (size_t i = 0; i < text.n; i++) {
		if (strchr("%_\\", text.p[i]))
			buf_char(&b, '\\');
		buf_char(&b, text.p[i]);
	}
	buf_char(&b, '%');
	return buf_str(&b);
}

struct str stmt_match(struct arena *mem, struct str words, const char *column)
{
	struct buf b = { .mem = mem };
	struct str word;

	if (!words.p)
		return STR_NONE;
	buf_put(&b, str_of(column));
	buf_char(&b, '(');
	while (str_next(&words, ' ', &word)) {
		if (!word.n)
			continue;
		buf_char(&b, '"');
		for (size_t i = 0; i < word.n; i++) {
			if (word.p[i] == '"')
				buf_char(&b, '"');
			buf_char(&b, word.p[i]);
		}
		buf_put(&b, STR("\"* "));
	}
	buf_char(&b, ')');
	return buf_str(&b);
}
