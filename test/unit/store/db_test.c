#include "store/db/db.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/path.h"
#include "store/db/db_schema.h"
#include "unit/test.h"

struct place {
	struct call c;
	char dir[sizeof "/tmp/db_test.XXXXXX"];
	struct db *db;
};

static int enter(void **state)
{
	struct place *at = calloc(1, sizeof *at);
	struct str path;

	memcpy(at->dir, "/tmp/db_test.XXXXXX", sizeof at->dir);
	*state = at;
	if (!mkdtemp(at->dir))
		return -1;
	path = path_join(&at->c.mem, str_of(at->dir), STR("x.db"));
	if (db_open(&at->c, path, DB_CREATE, 0, &at->db) ||
	    db_exec(&at->c, at->db, "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2)"))
		return -1;
	db_close(at->db);
	return db_open(&at->c, path, DB_WRITE, 0, &at->db) ? -1 : 0;
}

static int leave(void **state)
{
	struct place *at = *state;
	enum err e;

	db_close(at->db);
	at->c.code = ERR_OK;
	e = file_remove_tree(&at->c, str_of(at->dir));
	call_release(&at->c);
	free(at);
	return e ? -1 : 0;
}

#define ENDLESS                                                                   \
	"WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT " \
	"count(*) FROM x"

static void a_query_that_takes_too_long_is_ended(void **state)
{
	struct place *at = *state;

	db_limit_time(at->db, 20);
	assert_int_equal(db_exec(&at->c, at->db, ENDLESS), ERR_QUERY_TIMEOUT);

	AUTO_STMT *st = db_stmt(at->db, ENDLESS);

	assert_false(stmt_row(st));
	assert_int_equal(stmt_end(&at->c, st), ERR_QUERY_TIMEOUT);

	/* the next one has its own time */
	AUTO_STMT *next = db_stmt(at->db, "SELECT a FROM t");

	assert_true(stmt_row(next));
	assert_int_equal(stmt_int(next), 1);
}

static void tables_are_expected_with_their_columns(void **state)
{
	static const struct {
		struct db_table table[2];
		enum err want;
	} rows[] = {
		{ { { "t", false, { "a", "b" } } }, ERR_OK },
		{ { { "T", false, { "A" } } }, ERR_OK },
		{ { { "t", false, { "a", "c" } } }, ERR_DAMAGED },
		{ { { "t", true, { "c" } } }, ERR_DAMAGED },
		{ { { "u", false, { "a" } } }, ERR_DAMAGED },
		{ { { "u", true, { "a" } } }, ERR_OK },
		{ { { "v", true, { "a" } } }, ERR_DAMAGED },
		{ { { "w", false, { "a" } } }, ERR_DAMAGED },
	};
	static const char *const schema[] = { "CREATE TABLE t (a, b)", NULL };
	struct place *at = *state;

	assert_int_equal(db_exec(&at->c, at->db,
				 "CREATE VIEW v AS SELECT 1 AS a; CREATE TABLE w (a);"
				 "CREATE TRIGGER x AFTER INSERT ON w BEGIN SELECT 1; END"),
			 ERR_OK);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(db_expect(&at->c, at->db, rows[i].table, schema, NULL),
				 rows[i].want);
}

#define OURS                                                                      \
	"CREATE TABLE m (id INTEGER PRIMARY KEY, t TEXT NOT NULL DEFAULT 'it''s'" \
	" CHECK (json_valid(t)), p TEXT UNIQUE, r INTEGER REFERENCES m(id));"     \
	"CREATE INDEX i ON m(t DESC) WHERE p IN ('a', 'b');"                      \
	"CREATE TABLE IF NOT EXISTS n (x);"

static void a_definition_is_plain_or_ours(void **state)
{
	static const struct {
		const char *table, *sql;
		bool fine;
	} rows[] = {
		/* as ours, however it is written */
		{ "m",
		  "CREATE TABLE m(id integer primary key, t text not null DEFAULT "
		  "'it''s' check/* x */(JSON_VALID (t)), p text unique,\n"
		  "r INTEGER REFERENCES m ( id ) ) -- end",
		  true },
		{ "M", "CREATE TABLE \"M\" (id INTEGER PRIMARY KEY, more TEXT)", true },
		{ "n", "CREATE TABLE n (x, y DEFAULT -1.5, z VARCHAR(10) DEFAULT NULL)", true },
		{ "m", "CREATE INDEX i ON m (t DESC) WHERE p IN ('a','b')", true },
		{ "m", "CREATE INDEX j ON m (p COLLATE nocase ASC, \"t\")", true },
		{ "other", "CREATE TABLE other (a AS (b), b CHECK (slow(b)))", true },
		{ "other", "CREATE TABLE other (a REFERENCES m(id))", true },
		{ "other", "CREATE UNIQUE INDEX o ON other (f(a)) WHERE a", true },
		{ "n", "CREATE TABLE n (\"as\" TEXT, [check] TEXT, `on` TEXT)", true },
		{ "n", "CREATE TABLE n (x DEFAULT 'a as (b)' /* CHECK (x) */)", true },
		/* computed */
		{ "m", "CREATE TABLE m (id, t AS (upper(id)))", false },
		{ "m", "CREATE TABLE m (id, t TEXT GENERATED ALWAYS AS(id) STORED)", false },
		{ "m", "CREATE TABLE m (id, t TEXT CHECK (t > f(1)))", false },
		{ "m", "CREATE TABLE m (id, t CHECK (json_valid(t) OR f(1)))", false },
		{ "m", "CREATE TABLE m (id, CHECK (f(1)))", false },
		{ "m", "CREATE TABLE m (id, t DEFAULT (f(1)))", false },
		{ "m", "CREATE TABLE [m] (id, t DEFAULT (f(1)))", false },
		{ "m", "CREATE TABLE 'm' (id, t DEFAULT (f(1)))", false },
		{ "n", "CREATE TABLE n (x UNIQUE ON CONFLICT REPLACE)", false },
		{ "n", "CREATE TABLE n (x UNIQUE)", false },
		{ "n", "CREATE TABLE n (x REFERENCES m(id) ON DELETE CASCADE)", false },
		{ "n", "CREATE TABLE n (x, y 'quote'AS(x))", false },
		{ "n",
		  "CREATE TABLE n (x, y \xef\xbb\xbf"
		  "AS (x))",
		  false },
		{ "n", "CREATE TABLE n AS SELECT 1", false },
		{ "n", "CREATE VIRTUAL TABLE n USING fts5(x)", false },
		{ "n", "CREATE VIEW n AS SELECT 1 AS x", false },
		{ "m", "CREATE INDEX j ON m (f(t))", false },
		{ "m", "CREATE INDEX j ON m (t || p)", false },
		{ "m", "CREATE INDEX j ON m (t LIKE p)", false },
		{ "m", "CREATE INDEX j ON m (t, (p))", false },
		{ "m", "CREATE INDEX j ON 'm' (t, (p))", false },
		{ "m", "CREATE INDEX j ON m (t) WHERE p", false },
		{ "m", "CREATE UNIQUE INDEX j ON m (t)", false },
		{ "other", "CREATE TABLE other (a REFERENCES m ON DELETE CASCADE)", false },
		{ "other", "CREATE TABLE other (a AS (f(b)) REFERENCES 'm'(id), b)", false },
	};
	struct place *at = *state;
	struct str ours = schema_normalise(&at->c.mem, STR(OURS)), table;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct schema_row row = { str_of(rows[i].table), str_of(rows[i].table),
					  str_of(rows[i].sql) };
		const char *fault = schema_fault(&at->c.mem, ours, &row, &table);

		if (!fault != rows[i].fine)
			fail_msg("%s: %s", rows[i].sql, fault ? fault : "fine");
	}
}

static void a_schema_gives_its_definitions_in_their_order(void **state)
{
	static const struct {
		const char *sql;
		bool next;
	} rows[] = {
		{ "CREATE INDEX i ON m(t DESC)", false },
		{ "CREATE TABLE m (id)", true },
		{ "CREATE TABLE m (id)", false },
		{ "", false },
		{ "CREATE INDEX i ON m(t DESC) WHERE p", false },
		{ "CREATE INDEX i ON m(t DESC)", true },
		{ "CREATE TABLE IF NOT EXISTS n (x)", false },
		{ "CREATE TABLE n (x) ", false },
		{ "CREATE TABLE n (x", false },
		{ "CREATE TABLE n (x)", true },
		{ "CREATE VIRTUAL TABLE s USING f(a)", true },
		{ "", false },
	};
	struct str schema = STR("INSERT INTO x VALUES (1);CREATE TABLE m (id);"
				"INSERT INTO m VALUES (1);CREATE INDEX i ON m(t DESC);"
				"CREATE TABLE IF NOT EXISTS n (x);"
				"CREATE VIRTUAL TABLE s USING f(a);INSERT INTO s VALUES (2);");

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (schema_take(&schema, str_of(rows[i].sql)) != rows[i].next)
			fail_msg("%zu: %s", i, rows[i].sql);
	assert_int_equal(schema.n, 0);
}

/* What a row of the schema says it is counts beside its statement. */
static void our_definitions_in_rows_of_another_kind_are_refused(void **state)
{
	static const struct {
		const char *change;
		enum err want;
	} rows[] = {
		{ "SELECT 1", ERR_OK },
		{ "CREATE TABLE other (x)", ERR_OK },
		{ "DROP TABLE u", ERR_OK },
		{ "UPDATE sqlite_schema SET type = 'view' WHERE name = 't'", ERR_DAMAGED },
		{ "UPDATE sqlite_schema SET rootpage = 0 WHERE name = 't'", ERR_DAMAGED },
		{ "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END", ERR_DAMAGED },
		{ "DROP TABLE t", ERR_DAMAGED },
	};
	static const char *const schema[] = { "CREATE TABLE t (a UNIQUE);",
					      "CREATE TABLE u (i INTEGER PRIMARY KEY "
					      "AUTOINCREMENT);",
					      NULL };
	static const struct db_table tables[] = { { "t", false, { "a" } },
						  { "u", true, { "i" } },
						  { 0 } };
	struct place *at = *state;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct str path = arena_fmt(&at->c.mem, "%s/%zu.db", at->dir, i);
		struct db *db;
		enum err e;

		assert_int_equal(db_open(&at->c, path, DB_CREATE, 0, &db), ERR_OK);
		for (const char *const *part = schema; *part; part++)
			assert_int_equal(db_exec(&at->c, db, *part), ERR_OK);
		assert_int_equal(db_exec(&at->c, db, "PRAGMA writable_schema = ON"), ERR_OK);
		if (db_exec(&at->c, db, rows[i].change))
			fail_msg("%s: %s", rows[i].change, at->c.message.p);
		db_close(db);
		e = db_open(&at->c, path, DB_WRITE, 0, &db);
		if (!e) { /* SQLite itself refuses some of them */
			e = db_expect(&at->c, db, tables, schema, NULL);
			db_close(db);
		}
		if (e != rows[i].want)
			fail_msg("%s: %s", rows[i].change, at->c.message.p);
	}
}

/* Of many pieces that come, grow, shrink and go, each keeps its bytes. */
static void memory_of_sqlite_keeps_its_content(void **state)
{
	enum { PIECES = 64, STEPS = 20000, LARGEST = 3000 };
	struct {
		unsigned char *p;
		size_t n;
	} piece[PIECES] = { 0 };
	unsigned random = 1;

	(void)state;
	for (size_t step = 0; step < STEPS; step++) {
		size_t i = (random = random * 1103515245 + 12345) >> 16 & (PIECES - 1),
		       n = ((random = random * 1103515245 + 12345) >> 8) % LARGEST;

		for (size_t k = 0; k < piece[i].n; k++)
			assert_int_equal(piece[i].p[k], (unsigned char)(i + k));
		piece[i].p = sqlite3_realloc64(piece[i].p, n); /* of 0 bytes: it goes */
		assert_true(!n == !piece[i].p && (uintptr_t)piece[i].p % 8 == 0);
		assert_true(!n || sqlite3_msize(piece[i].p) >= n);
		for (size_t k = piece[i].n; k < n; k++)
			piece[i].p[k] = (unsigned char)(i + k);
		piece[i].n = n;
	}
	for (size_t i = 0; i < PIECES; i++)
		sqlite3_free(piece[i].p);
}

static void views_and_triggers_are_not_run(void **state)
{
	struct place *at = *state;

	assert_int_equal(db_exec(&at->c, at->db,
				 "CREATE VIEW v AS SELECT 1 AS a;"
				 "CREATE TRIGGER x AFTER INSERT ON t"
				 " BEGIN DELETE FROM t; END;"
				 "INSERT INTO t VALUES (3, 4)"),
			 ERR_OK);
	assert_int_equal(db_exec(&at->c, at->db, "SELECT a FROM v"), ERR_INTERNAL_ERROR);

	AUTO_STMT *st = db_stmt(at->db, "SELECT count(*) FROM t");

	assert_true(stmt_row(st));
	assert_int_equal(stmt_int(st), 2);
}

int db_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_query_that_takes_too_long_is_ended, enter, leave),
		cmocka_unit_test_setup_teardown(tables_are_expected_with_their_columns, enter,
						leave),
		cmocka_unit_test_setup_teardown(a_definition_is_plain_or_ours, enter, leave),
		cmocka_unit_test(a_schema_gives_its_definitions_in_their_order),
		cmocka_unit_test_setup_teardown(our_definitions_in_rows_of_another_kind_are_refused,
						enter, leave),
		cmocka_unit_test_setup_teardown(memory_of_sqlite_keeps_its_content, enter, leave),
		cmocka_unit_test_setup_teardown(views_and_triggers_are_not_run, enter, leave),
	};

	return cmocka_run_group_tests_name("db", tests, NULL, NULL);
}
