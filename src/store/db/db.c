/*
 * Connections and transactions of SQLite. A long-running process keeps closed connections in a
 * small pool.
 */
#include "store/db/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/moment.h"
#include "base/system/fault.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "store/db/db_files.h"
#include "store/db/db_guard.h"
#include "store/db/db_parts.h"
#include "store/db/db_vfs.h"
#include "store/exposed.h"

enum {
	LOG_PAGES = 40,
	QUERY_MS = 30000,   /* timeout of a query */
	CHECK_AFTER = 4096, /* virtual machine steps between two checks of the clock */
};

/*
 * A command reads most pages once. Reading a page into memory that was used before takes a quarter
 * of the time that new memory takes, because each new page is a page fault.
 */
#define READER_CACHE "PRAGMA cache_size = 24"

/* Open connections that a long-running process may use again, most recently used first. */
enum { KEPT = 8 };
static struct db *kept[KEPT];
static bool keeping;

/*
 * The last connection of a short-lived process that only read. Usually the process ends next, and
 * the kernel closes the file for less than SQLite takes to free its memory.
 */
static struct db *idle;

static enum err db_fail_to_open(struct call *c, struct db *db, int reason)
{
	enum err e = db_guard_explain(c, db);

	if (e)
		return e;
	if (db->too_long || reason == EMFILE || reason == ENFILE) {
		errno = db->too_long ? ENAMETOOLONG : reason;
		return file_fail(c, "open", db->path);
	}
	call_fail(c, ERR_INTERNAL_ERROR, "cannot write '" STR_FMT "': %s", STR_ARG(db->path),
		  sqlite3_errmsg(db->raw));
	return call_remedy(c, "Check the permissions there");
}

/* Has a file of the database so little room below the limit of file sizes that a write fails? */
static bool db_is_at_limit(struct call *c, const struct db *db)
{
	enum { STEP = 32 * 1024 }; /* the most that SQLite adds to a file at once */
	static const char *const part[] = { "", "-wal", "-shm", "-journal" };
	struct rlimit most;

	if (getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur == RLIM_INFINITY)
		return false;
	for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
		off_t size = file_size(
			&c->mem, arena_fmt(&c->mem, STR_FMT "%s", STR_ARG(db->path), part[i]));

		if (size >= 0 && (rlim_t)size + STEP >= most.rlim_cur)
			return true;
	}
	return false;
}

/* The system's reason; 0: none is known. After a failed write, SQLite often has lost it. */
static int db_reason(struct call *c, const struct db *db, int rc)
{
	int kind = sqlite3_extended_errcode(db->raw);

	if ((rc & 0xff) == SQLITE_IOERR && kind != SQLITE_IOERR_READ &&
	    kind != SQLITE_IOERR_SHORT_READ && db_is_at_limit(c, db))
		return EFBIG;
	return (rc & 0xff) == SQLITE_IOERR || (rc & 0xff) == SQLITE_CANTOPEN ?
		       sqlite3_system_errno(db->raw) :
		       0;
}

enum err db_fail(struct call *c, struct db *db, int rc)
{
	int reason = db_reason(c, db, rc);

	db->spoilt = true;
	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return call_fail(c, ERR_DATABASE_BUSY,
				 "another process has locked '" STR_FMT "' for too long",
				 STR_ARG(db->path));
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return call_fail(c, ERR_DAMAGED, "'" STR_FMT "' is damaged: %s", STR_ARG(db->path),
				 sqlite3_errmsg(db->raw));
	case SQLITE_INTERRUPT:
		return call_fail(c, ERR_QUERY_TIMEOUT,
				 "a query of '" STR_FMT "' took longer than %d s",
				 STR_ARG(db->path), db->query_ms / 1000);
	case SQLITE_TOOBIG:
		return call_fail(
			c, ERR_DAMAGED, "'" STR_FMT "' holds a value that is larger than %d MiB",
			STR_ARG(db->path), sqlite3_limit(db->raw, SQLITE_LIMIT_LENGTH, -1) >> 20);
	case SQLITE_FULL:
		call_fail(c, ERR_INTERNAL_ERROR, "no space left to write '" STR_FMT "'",
			  STR_ARG(db->path));
		return call_remedy(c, "Free some space on that disk");
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return db_fail_to_open(c, db, reason);
	default:
		call_fail(c, ERR_INTERNAL_ERROR, "'" STR_FMT "': %s%s%s", STR_ARG(db->path),
			  sqlite3_errmsg(db->raw), reason ? ": " : "",
			  reason ? strerror(reason) : "");
		if (reason == EFBIG)
			call_remedy(c, "Allow larger files ('ulimit -f' shows the limit)");
		return c->code;
	}
}

static int is_late(void *arg)
{
	struct db *db = arg;

	return db->query_ms && moment_ticks() > db->deadline;
}

void db_begin_query(struct db *db)
{
	if (db->query_ms)
		db->deadline = moment_ticks() + db->query_ms;
}

void db_limit_time(struct db *db, int ms)
{
	db->query_ms = ms;
}

/*
 * A database's schema is SQL of the program that created the database, and every query would run
 * it. We have no views or triggers, so these are disabled. None of our tables is wide, and no value
 * is longer than a file that we would read. While a file is being created it may have no journal,
 * which SQLITE_DBCONFIG_DEFENSIVE would forbid.
 */
static void db_harden(struct db *db)
{
	const struct {
		int option, on;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, db->mode != DB_CREATE },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
	};

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		sqlite3_db_config(db->raw, options[i].option, options[i].on, NULL);
	/*
	 * SQLite before 3.41 counts its own JSON functions as unsafe, and the specification of the
	 * board has json_valid() in its schema. Trusting the schema is harmless there: we register
	 * no functions that a schema could call.
	 */
	if (sqlite3_libversion_number() >= 3041000)
		sqlite3_db_config(db->raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(db->raw, SQLITE_LIMIT_LENGTH, FILE_MOST);
	sqlite3_limit(db->raw, SQLITE_LIMIT_COLUMN, 100);
	sqlite3_limit(db->raw, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_progress_handler(db->raw, CHECK_AFTER, is_late, db);
}

static int open_raw(struct db *db, int flags, struct str name)
{
	int rc;

	db_vfs_register(keeping);
	sqlite3_close(db->raw);
	db->raw = NULL;
	rc = sqlite3_open_v2(name.p, &db->raw, flags | SQLITE_OPEN_NOFOLLOW, NULL);
	if (!db->raw)
		abort();
	if (rc)
		return rc;
	sqlite3_extended_result_codes(db->raw, 1);
	sqlite3_busy_timeout(db->raw, db->wait_ms);
	sqlite3_db_config(db->raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_db_config(db->raw, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
	db_harden(db);
	db_begin_query(db);
	return SQLITE_OK;
}

/*
 * SQLite accepts paths of at most 512 bytes. For a longer path, the folder is opened and SQLite
 * gets a short alias path to it. The databases' own names are short.
 */
static struct str short_path(struct call *c, struct db *db)
{
	enum { ROOM = 32 }; /* for "-journal" and the like */

	if (db->real.n + ROOM <= (size_t)db_vfs_register(keeping)->mxPathname)
		return db->real;
	if (db->folder < 0)
		db->folder = open(arena_cstr(&c->mem, path_parent(db->real)),
				  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	db->too_long = db->folder < 0 || !platform_alias(db->folder, db->alias);
	if (db->too_long)
		return db->real;
	return path_join(&c->mem, str_of(db->alias), path_name(db->real));
}

/* The path as a URI, to pass parameters to SQLite. */
static struct str db_uri(struct arena *mem, struct str path, const char *query)
{
	struct buf b = { .mem = mem };

	buf_put(&b, STR("file:"));
	for (size_t i = 0; i < path.n; i++)
		if (strchr("?#%", path.p[i]))
			buf_fmt(&b, "%%%02x", (unsigned char)path.p[i]);
		else
			buf_char(&b, path.p[i]);
	buf_put(&b, str_of(query));
	return buf_str(&b);
}

/*
 * Reads the schema, which the pragma needs: only reading shows whether the database's log can be
 * used.
 */
static int db_probe(struct db *db)
{
	return sqlite3_exec(db->raw, READER_CACHE, NULL, NULL, NULL);
}

static bool db_forbidden(const struct db *db, int rc)
{
	return !db->refused && ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY);
}

static int db_open_as(struct call *c, struct db *db, const char *query)
{
	int rc = open_raw(db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
			  db_uri(&c->mem, short_path(c, db), query));

	if (!rc)
		rc = sqlite3_exec(db->raw, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
	return rc ? rc : db_probe(db);
}

/*
 * Reading in WAL mode also writes beside the file. If that is not permitted: without a log, the
 * file alone is complete; a log that no process has open can be read in private memory.
 */
static int open_read(struct call *c, struct db *db)
{
	struct str wal = arena_join(&c->mem, db->path, STR("-wal"));
	int rc = open_raw(db, SQLITE_OPEN_READWRITE, short_path(c, db));

	if (!rc)
		rc = db_probe(db);
	if (!db_forbidden(db, rc))
		return rc;
	rc = open_raw(db, SQLITE_OPEN_READONLY, short_path(c, db));
	if (!rc)
		rc = db_probe(db);
	if (!db_forbidden(db, rc))
		return rc;
	return db_open_as(c, db,
			  file_exists(&c->mem, wal) ? "?vfs=" DB_VFS_LOCKLESS : "?immutable=1");
}

static int count_log(void *arg, sqlite3 *raw, const char *name, int pages)
{
	struct db *db = arg;

	(void)raw, (void)name;
	db->log_pages = pages;
	return SQLITE_OK;
}

static int open_write(struct call *c, struct db *db, enum db_mode mode)
{
	int create = mode == DB_CREATE ? SQLITE_OPEN_CREATE : 0;
	int rc = open_raw(db, SQLITE_OPEN_READWRITE | create, short_path(c, db));

	if (rc)
		return rc;
	sqlite3_wal_hook(db->raw, count_log, db);
	db->scratch = mode == DB_SCRATCH;
	db->log_most = db->scratch ? 0 : LOG_PAGES;
	return sqlite3_exec(db->raw,
			    mode == DB_SCRATCH ? "PRAGMA synchronous = OFF" :
						 "PRAGMA synchronous = FULL;PRAGMA fullfsync = ON",
			    NULL, NULL, NULL);
}

/* Opens without lock, log and shared memory. */
static int open_still(struct call *c, struct db *db)
{
	int rc = open_raw(db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
			  db_uri(&c->mem, short_path(c, db), "?immutable=1"));

	return rc ? rc : db_probe(db);
}

static void db_end(struct db *db)
{
	for (int i = 0; i < db->cached; i++)
		sqlite3_finalize(db->cache[i].raw);
	for (int i = 0; i < MADE_KEPT; i++)
		stmt_free(db->made[i]);
	sqlite3_close(db->raw);
	db_guard_end(db);
	file_close(&db->folder);
	free(db->name);
	free(db);
}

static void db_end_idle(void)
{
	if (idle)
		db_end(idle);
	idle = NULL;
}

void db_keep(void)
{
	keeping = true;
}

bool db_keeps(void)
{
	return keeping;
}

/* An open connection whose file the path still names; or NULL. */
static struct db *find_kept(struct call *c, struct str path, enum db_mode mode)
{
	uint64_t file = file_number(&c->mem, path);

	for (int i = 0; i < KEPT; i++) {
		struct db *db = kept[i];

		if (!db || !str_is(path, db->name) || db->mode != mode)
			continue;
		kept[i] = NULL;
		if (db->file == file)
			return db;
		db_end(db);
	}
	return NULL;
}

/* Keeps the connection open for later calls. A statement that failed to compile prevents this. */
static bool db_keep_open(struct db *db)
{
	bool well = keeping && db->file && !db->spoilt;

	for (int i = 0; well && i < db->cached; i++)
		well = db->cache[i].raw;
	if (!well)
		return false;
	if (!sqlite3_get_autocommit(db->raw))
		db_rollback(db);
	if (kept[KEPT - 1])
		db_end(kept[KEPT - 1]);
	memmove(kept + 1, kept, sizeof kept - sizeof *kept);
	kept[0] = db;
	return true;
}

static int open_files(struct call *c, struct db *db)
{
	int rc = exposed_covers(c, db->path) ? db_guard_begin(db, short_path(c, db)) : SQLITE_OK;

	if (rc)
		return rc;
	return db->mode == DB_READ  ? open_read(c, db) :
	       db->mode == DB_STILL ? open_still(c, db) :
				      open_write(c, db, db->mode);
}

/*
 * SQLITE_OPEN_NOFOLLOW refuses links anywhere in the path, but links above the folder belong to the
 * user: they are resolved first.
 */
static struct str real_path(struct call *c, struct str path)
{
	struct str dir = path_real_beside(&c->mem, c->real, path_parent(path));

	return dir.p ? path_join(&c->mem, dir, path_name(path)) : arena_copy(&c->mem, path);
}

enum err db_open(struct call *c, struct str path, enum db_mode mode, int wait_ms, struct db **out)
{
	bool in_memory = str_is(path, ":memory:");
	struct db *db;
	enum err e;
	int rc;

	if (!in_memory && (e = db_files_check(c, path, mode == DB_STILL)))
		return e;

	if (keeping && (db = find_kept(c, path, mode))) {
		db->path = arena_copy(&c->mem, path);
		*out = db;
		return ERR_OK;
	}
	db_end_idle();
	db = calloc(1, sizeof *db);
	if (!db)
		abort();
	db->folder = -1;
	db->path = arena_copy(&c->mem, path);
	db->real = in_memory ? db->path : real_path(c, path);
	db->wait_ms = wait_ms;
	db->mode = mode;
	db->query_ms = mode == DB_CREATE ? 0 : QUERY_MS; /* a new database is trusted */
	if ((rc = open_files(c, db))) {
		e = db_fail(c, db, rc);
		db_end(db);
		return e;
	}
	if (keeping && mode != DB_CREATE && mode != DB_STILL && (db->name = strdup(db->path.p)))
		db->file = file_number(&c->mem, path);
	db->real = STR_NONE; /* its memory ends with the call */
	*out = db;
	return ERR_OK;
}

/* The bytes of a database in memory, as a file in WAL mode. */
static enum err db_serialize(struct call *c, struct db *db, struct str *out)
{
	sqlite3_int64 size = 0;
	unsigned char *bytes = sqlite3_serialize(db->raw, "main", &size, 0);

	if (!bytes)
		return db_fail(c, db, SQLITE_NOMEM);
	bytes[18] = bytes[19] = 2; /* the format versions for writing and reading: WAL */
	*out = arena_copy(&c->mem, (struct str){ (const char *)bytes, (size_t)size });
	sqlite3_free(bytes);
	return ERR_OK;
}

/* Whether SQLite could open a file of that path. */
static enum err db_check_path(struct call *c, struct str path)
{
	struct db probe = { .real = real_path(c, path), .folder = -1 };

	short_path(c, &probe);
	file_close(&probe.folder);
	errno = ENAMETOOLONG;
	return probe.too_long ? file_fail(c, "open", path) : ERR_OK;
}

enum err db_make(struct call *c, struct str path, const char *const *schema)
{
	enum stored before = c->stored;
	struct str content = STR_NONE;
	struct db *db = NULL;
	enum err e = db_check_path(c, path);

	if (!e && !(e = db_files_check(c, path, false)))
		e = db_open(c, STR(":memory:"), DB_CREATE, 0, &db);
	for (; !e && *schema; schema++)
		e = db_exec(c, db, *schema);
	if (!e)
		e = db_serialize(c, db, &content);
	db_close(db);
	if (!e && !(e = file_remove_leftovers(c, path)) && !(e = db_files_set_logs_aside(c, path)))
		e = file_own_replace(c, path, content, 0600);
	c->stored = before; /* creating an empty database is not a stored change */
	return e;
}

enum err db_open_own(struct call *c, struct str path, bool write, int wait_ms,
		     const char *const *schema, struct db **out)
{
	struct file_found found;
	enum err e = file_look(c, path, &found);

	*out = NULL;
	if (e || (!write && found.kind == FILE_NONE))
		return e;
	if (write && found.size <= 0 && (e = db_make(c, path, schema)))
		return e;
	return db_open(c, path, write ? DB_WRITE : DB_READ, wait_ms, out);
}

void db_close(struct db *db)
{
	if (!db || db_keep_open(db))
		return;
	if (keeping || (db->mode != DB_READ && db->mode != DB_STILL)) {
		db_end(db);
		return;
	}
	db_rollback(db);
	db_end_idle();
	idle = db;
}

enum err db_exec(struct call *c, struct db *db, const char *sql)
{
	int rc;

	fault_point();
	db_begin_query(db);
	rc = sqlite3_exec(db->raw, sql, NULL, NULL, NULL);
	return rc ? db_fail(c, db, rc) : ERR_OK;
}

enum err db_snapshot(struct call *c, struct db *db)
{
	return db_exec(c, db, "BEGIN");
}

enum err db_begin(struct call *c, struct db *db)
{
	return db_exec(c, db, "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
}

/*
 * The first process that opens a database reads its whole log, and here almost every process is the
 * first one, so the log is kept short. It must be truncated, not only copied back, because the
 * record of what was copied back is lost when the last process closes. If other processes are
 * reading the log, it stays, and a later commit tries again.
 */
static void shorten_log(struct db *db)
{
	sqlite3_busy_timeout(db->raw, 0);
	sqlite3_wal_checkpoint_v2(db->raw, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(db->raw, db->wait_ms);
}

/*
 * If the disk is full, the last frame of the log is incomplete and does not count as a commit.
 * After any other I/O error (above all in a sync) the frame may be in the file, and the next
 * process that opens the database finds it.
 */
static enum stored after_commit(int rc)
{
	if (!rc)
		return STORED_PART;
	return (rc & 0xff) == SQLITE_IOERR ? STORED_MAYBE : STORED_NOTHING;
}

enum err db_commit(struct call *c, struct db *db)
{
	int rc;

	fault_point();
	rc = sqlite3_exec(db->raw, "COMMIT", NULL, NULL, NULL);
	if (!db->scratch)
		call_stored(c, after_commit(rc));
	if (rc) {
		enum err e = db_fail(c, db, rc);

		db_rollback(db);
		return e;
	}
	if (db->log_pages > db->log_most)
		shorten_log(db);
	return ERR_OK;
}

void db_rollback(struct db *db)
{
	sqlite3_exec(db->raw, "ROLLBACK", NULL, NULL, NULL);
}

bool db_begin_lazy(struct db *db)
{
	int rc;

	db_begin_query(db);
	if (!sqlite3_get_autocommit(db->raw))
		sqlite3_exec(db->raw, "COMMIT", NULL, NULL, NULL);
	sqlite3_busy_timeout(db->raw, 0);
	sqlite3_wal_autocheckpoint(db->raw, 0);
	rc = sqlite3_exec(db->raw, "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE", NULL, NULL,
			  NULL);
	sqlite3_busy_timeout(db->raw, db->wait_ms);
	return rc == SQLITE_OK;
}

int64_t db_last_id(struct db *db)
{
	return sqlite3_last_insert_rowid(db->raw);
}

int64_t db_changes(struct db *db)
{
	return sqlite3_changes(db->raw);
}

int64_t db_total_changes(struct db *db)
{
	return sqlite3_total_changes(db->raw);
}

bool db_has_table(struct db *db, const char *name)
{
	return sqlite3_table_column_metadata(db->raw, NULL, name, NULL, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

enum err db_is_empty(struct call *c, struct db *db, bool *empty)
{
	AUTO_STMT *st = db_stmt(db, "SELECT 1 FROM sqlite_schema");

	*empty = !stmt_row(st);
	return stmt_end(c, st);
}

enum err db_attach_old(struct call *c, struct db *db, struct str path)
{
	AUTO_STMT *st = db_stmt(db, "ATTACH ? AS old");
	enum err e;

	if ((e = db_files_check(c, path, false)))
		return e;
	sqlite3_limit(db->raw, SQLITE_LIMIT_ATTACHED, 1);
	stmt_bind_str(st, path);
	e = stmt_run(c, st);
	return e ? e : db_exec(c, db, "SELECT count(*) FROM old.sqlite_schema");
}

enum err db_check(struct call *c, struct db *db)
{
	AUTO_STMT *st = db_stmt(db, "PRAGMA quick_check(1)");
	struct str said = STR(""), last = STR("");
	enum err e;

	if (stmt_row(st))
		said = stmt_str(st, &c->mem);
	if ((e = stmt_end(c, st)) || str_is(said, "ok"))
		return e;
	while (str_next(&said, '\n', &last)) /* the first line is a headline */
		;
	return call_fail(c, ERR_DAMAGED, "'" STR_FMT "' is damaged: " STR_FMT, STR_ARG(db->path),
			 STR_ARG(last));
}
