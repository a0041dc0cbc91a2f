#include "store/db.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "test.h"

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
	struct place *at = *state;

	assert_int_equal(
		db_exec(&at->c, at->db,
			"CREATE VIEW v AS SELECT 1 AS a; CREATE TABLE w (a);"
			"CREATE TRIGGER x AFTER INSERT ON w BEGIN SELECT 1; END"),
		ERR_OK);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(db_expect(&at->c, at->db, rows[i].table), rows[i].want);
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
		cmocka_unit_test_setup_teardown(a_query_that_takes_too_long_is_ended,
						enter, leave),
		cmocka_unit_test_setup_teardown(tables_are_expected_with_their_columns,
						enter, leave),
		cmocka_unit_test_setup_teardown(views_and_triggers_are_not_run, enter,
						leave),
	};

	return cmocka_run_group_tests_name("db", tests, NULL, NULL);
}
