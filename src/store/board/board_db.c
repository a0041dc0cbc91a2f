#include "store/board/board_db.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/id.h"
#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "store/db/db_salvage.h"
#include "store/db/receipt_db.h"
#include "store/folder.h"
#include "store/home.h"
#include "store/owner.h"
#include "store/place.h"

enum {
	SCHEMA_VERSION = 1,
	WAIT_MS = 5000,
};

static const char schema[] = "CREATE TABLE schema_version (version INTEGER NOT NULL);"
			     "INSERT INTO schema_version (version) VALUES (1);"
			     "CREATE TABLE agents ("
			     "    id TEXT PRIMARY KEY,"
			     "    current_task TEXT NOT NULL DEFAULT '',"
			     "    progress INTEGER NOT NULL DEFAULT 0"
			     "        CHECK (progress >= 0 AND progress <= 100),"
			     "    status TEXT NOT NULL DEFAULT 'idle'"
			     "        CHECK (status IN ('idle', 'planning', 'coding', 'testing',"
			     "            'reviewing', 'blocked', 'offline')),"
			     "    blockers TEXT,"
			     "    last_seen TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,"
			     "    updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);"
			     "CREATE TABLE messages ("
			     "    id INTEGER PRIMARY KEY AUTOINCREMENT,"
			     "    from_agent TEXT NOT NULL,"
			     "    content TEXT NOT NULL,"
			     "    tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),"
			     "    priority TEXT NOT NULL DEFAULT 'normal'"
			     "        CHECK (priority IN ('low', 'normal', 'high', 'critical')),"
			     "    in_reply_to INTEGER REFERENCES messages(id),"
			     "    refs TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(refs)),"
			     "    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);"
			     "CREATE TABLE artifacts ("
			     "    id INTEGER PRIMARY KEY AUTOINCREMENT,"
			     "    path TEXT NOT NULL UNIQUE,"
			     "    produced_by TEXT NOT NULL,"
			     "    description TEXT NOT NULL DEFAULT '',"
			     "    version TEXT,"
			     "    refs TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(refs)),"
			     "    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);"
			     "CREATE INDEX idx_agents_status ON agents(status);"
			     "CREATE INDEX idx_agents_last_seen ON agents(last_seen);"
			     "CREATE INDEX idx_messages_created_at ON messages(created_at DESC);"
			     "CREATE INDEX idx_messages_from_agent ON messages(from_agent);"
			     "CREATE INDEX idx_messages_priority ON messages(priority)"
			     "    WHERE priority IN ('high', 'critical');"
			     "CREATE INDEX idx_messages_in_reply_to ON messages(in_reply_to)"
			     "    WHERE in_reply_to IS NOT NULL;"
			     "CREATE INDEX idx_artifacts_path ON artifacts(path);"
			     "CREATE INDEX idx_artifacts_produced_by ON artifacts(produced_by);";

/*
 * Our tables, separate from those of the specification, so that other programs find the tables they
 * know.
 */
static const char extras[] = "CREATE TABLE IF NOT EXISTS reads ("
			     "    agent TEXT NOT NULL,"
			     "    first INTEGER NOT NULL,"
			     "    last INTEGER NOT NULL,"
			     "    PRIMARY KEY (agent, first)) WITHOUT ROWID;"
			     "CREATE TABLE IF NOT EXISTS refs ("
			     "    ref TEXT NOT NULL,"
			     "    message INTEGER NOT NULL,"
			     "    PRIMARY KEY (ref, message)) WITHOUT ROWID;"
			     "INSERT OR IGNORE INTO refs VALUES ('', 0);";

/* The receipts table of earlier versions. */
static const char old_schema[] =
	"CREATE TABLE IF NOT EXISTS receipts ("
	"    agent TEXT NOT NULL,"
	"    request_id TEXT NOT NULL,"
	"    op TEXT NOT NULL,"
	"    args TEXT NOT NULL,"
	"    reply TEXT NOT NULL,"
	"    created_ms INTEGER NOT NULL,"
	"    PRIMARY KEY (agent, request_id)) WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS idx_receipts_created ON receipts(created_ms);";

static const struct receipt_old old_receipts = {
	.table = "receipts",
	.newest = "SELECT agent, request_id, op, args, reply, created_ms FROM receipts"
		  " ORDER BY created_ms DESC, agent, request_id LIMIT " RECEIPT_MOVED,
	.remove = "DELETE FROM receipts WHERE (agent, request_id) IN"
		  " (SELECT agent, request_id FROM receipts"
		  " ORDER BY created_ms DESC, agent, request_id LIMIT " RECEIPT_MOVED ")",
	.find = "SELECT op, args, reply FROM receipts WHERE agent = ? AND request_id = ?",
	.drop = "DROP TABLE receipts",
};

/* The tables of a new board, and all tables that an existing board may have. */
static const char *const ours[] = { schema, extras, RECEIPT_TABLES, NULL };

/* The board is shared with other programs, which may have added their own tables. */
static const struct db_table tables[] = {
	{ "schema_version", false, { "version" } },
	{ "agents",
	  false,
	  { "id", "current_task", "progress", "status", "blockers", "last_seen", "updated_at" } },
	{ "messages",
	  false,
	  { "id", "from_agent", "content", "tags", "priority", "in_reply_to", "refs",
	    "created_at" } },
	{ "artifacts",
	  false,
	  { "id", "path", "produced_by", "description", "version", "refs", "created_at" } },
	{ "reads", true, { "agent", "first", "last" } },
	{ "receipts", true, { "agent", "request_id", "op", "args", "reply", "created_ms" } },
	RECEIPT_TABLE_ROWS,
	{ "refs", true, { "ref", "message" } },
	{ 0 },
};

static struct str board_db_folder(struct call *c, struct str root)
{
	return path_join(&c->mem, root, STR(".bb"));
}

static struct str board_db_database(struct call *c, struct str root)
{
	return path_join(&c->mem, root, STR(".bb/blackboard.db"));
}

static enum err board_db_check(struct call *c, struct str root, enum folder_use use)
{
	enum err e = folder_check(c, board_db_folder(c, root), use);

	return e ? e : folder_check_tracked(c, board_db_folder(c, root));
}

enum err board_check(struct call *c, struct str root)
{
	return board_db_check(c, root, FOLDER_READ);
}

static enum err board_db_not_initialized(struct call *c)
{
	return call_fail(c, ERR_NOT_INITIALIZED, "No blackboard found.");
}

/*
 * The folder may be destroyed and created again while this process waits for the lock, so the
 * attempt is repeated.
 */
static enum err board_db_take_lock(struct call *c, struct board *b)
{
	struct str path = path_join(&c->mem, b->root, STR(".bb/lock"));
	struct file_found found;
	enum err e = ERR_OK;

	for (int tries = 0; tries < 100; tries++) {
		if ((e = file_look(c, board_db_folder(c, b->root), &found)))
			return e;
		if (found.kind != FILE_FOLDER)
			return board_db_not_initialized(c);
		if (!(e = lock_take(c, path, WAIT_MS, &b->lock)) || e == ERR_DATABASE_BUSY ||
		    e == ERR_READ_ONLY || file_exists(&c->mem, path))
			break;
	}
	return home_explain(c, e, board_db_folder(c, b->root));
}

/*
 * Can this version read the board, and does it have our tables beside those of the specification?
 */
static enum err board_db_check_version(struct call *c, struct board *b)
{
	AUTO_STMT *st = NULL;
	int64_t version;
	enum err e = db_expect(c, b->db, tables, ours, old_schema);

	if (e == ERR_DAMAGED && !db_has_table(b->db, "schema_version"))
		return call_fail(c, ERR_DAMAGED, "'" STR_FMT "/.bb/blackboard.db' holds no board",
				 STR_ARG(b->root));
	if (e)
		return e;
	st = db_stmt(b->db, "SELECT version FROM schema_version");
	version = stmt_row(st) ? stmt_int(st) : 0;
	if ((e = stmt_end(c, st)))
		return e;
	b->tracked = db_has_table(b->db, "refs");
	if (version == SCHEMA_VERSION)
		return ERR_OK;
	call_fail(c, ERR_INTERNAL_ERROR,
		  "the board in '" STR_FMT "' has version %d; this program reads version %d",
		  STR_ARG(b->root), (int)version, SCHEMA_VERSION);
	return call_remedy(c, "Use a program of that version");
}

static struct str log_of(struct call *c, struct str path)
{
	return arena_fmt(&c->mem, STR_FMT "-wal", STR_ARG(path));
}

/*
 * An empty database with a log is damaged: SQLite would delete the log, and with it the remaining
 * data.
 */
static enum err board_db_look_at(struct call *c, struct str path, bool *there, bool *cut_off)
{
	struct file_found db, log = { 0 };
	enum err e = file_look(c, path, &db);

	*there = db.kind != FILE_NONE;
	if (!e && !db.size)
		e = file_look(c, log_of(c, path), &log);
	*cut_off = !db.size && log.size > 0;
	return e;
}

static struct str board_db_ignore_path(struct call *c, const struct board *b)
{
	return path_join(&c->mem, b->root, STR(".bb/.gitignore"));
}

/* Makes Git ignore the folder. A killed 'bb init' may have created only the database. */
static enum err board_db_ignore(struct call *c, const struct board *b)
{
	return file_provide(c, board_db_ignore_path(c, b), STR("*\n"), 0600);
}

static enum err board_db_begin(struct call *c, struct board *b)
{
	enum err e = board_db_ignore(c, b);

	if (e || (e = db_begin(c, b->db)))
		return e;
	b->writing = true;
	if (!b->tracked)
		e = db_exec(c, b->db, extras);
	b->tracked = true;
	return e ? e : receipt_db_upgrade(c, b->db, &old_receipts);
}

static enum err open_database(struct call *c, enum board_mode mode, struct board *b)
{
	struct str path = board_db_database(c, b->root);
	bool write = mode == BOARD_WRITE, there, cut_off;
	int64_t start = moment_ticks(), waited;
	enum err e = board_db_look_at(c, path, &there, &cut_off);

	if (e)
		return e;
	if (!there)
		return board_db_not_initialized(c);
	if (cut_off)
		return call_fail(c, ERR_DAMAGED,
				 "'" STR_FMT "' is empty, but there is a log beside it",
				 STR_ARG(path));
	if (write && ((e = board_db_take_lock(c, b)) ||
		      (e = board_db_look_at(c, path, &there, &cut_off)) || !there))
		return e ? e : board_db_not_initialized(c);
	waited = moment_ticks() - start;
	if ((e = db_open(c, path, write ? DB_WRITE : DB_READ,
			 waited < WAIT_MS ? (int)(WAIT_MS - waited) : 0, &b->db)) ||
	    (e = board_db_check_version(c, b)))
		return e;
	return write ? board_db_begin(c, b) : db_snapshot(c, b->db);
}

enum err board_open(struct call *c, enum board_mode mode, struct board *out)
{
	enum err e;

	*out = (struct board){ .lock = LOCK_NONE };
	if ((e = place_find(c, STR(".bb"), &out->root)))
		return e;
	if (!out->root.p)
		return board_db_not_initialized(c);
	if ((e = board_db_check(c, out->root, mode == BOARD_WRITE ? FOLDER_WRITE : FOLDER_READ)))
		return e;
	out->file = file_number(&c->mem, board_db_database(c, out->root));
	if ((e = open_database(c, mode, out))) {
		e = board_explain(c, out, e);
		board_close(out);
	}
	return e;
}

enum err board_explain(struct call *c, struct board *b, enum err e)
{
	bool trouble = e == ERR_INTERNAL_ERROR || e == ERR_DAMAGED;

	if (trouble && file_number(&c->mem, board_db_database(c, b->root)) != b->file)
		return board_db_not_initialized(c);
	return e;
}

enum err board_commit(struct call *c, struct board *b)
{
	b->writing = false;
	return db_commit(c, b->db);
}

void board_close(struct board *b)
{
	if (b->writing)
		db_rollback(b->db);
	db_close(b->db);
	lock_drop(&b->lock);
	b->db = NULL;
	b->writing = false;
}

enum state { MISSING, EMPTY, USABLE, DAMAGED };

static enum err board_db_look(struct call *c, struct board *b, enum state *state)
{
	bool empty;
	enum err e;

	if ((e = db_open(c, board_db_database(c, b->root), DB_WRITE, WAIT_MS, &b->db)) ||
	    (e = db_is_empty(c, b->db, &empty)) || /* db_check() executes the schema */
	    (!empty && (e = board_db_check_version(c, b))) || (e = db_check(c, b->db)))
		return e;
	*state = empty ? EMPTY : USABLE;
	return ERR_OK;
}

/*
 * The state of the existing database. Only damage is reported as DAMAGED; any other problem is an
 * error.
 */
static enum err board_db_inspect(struct call *c, struct board *b, enum state *state)
{
	bool there, cut_off;
	enum err e = board_db_look_at(c, board_db_database(c, b->root), &there, &cut_off);

	*state = MISSING;
	if (!e && cut_off)
		e = ERR_DAMAGED;
	else if (!e && there)
		e = board_db_look(c, b, state);
	if (e == ERR_DAMAGED) {
		*state = DAMAGED;
		e = call_forgive(c);
	}
	db_close(b->db);
	b->db = NULL;
	return e;
}

/* Finds a log without its database, which a killed process has set aside. */
struct board_log_search {
	struct call *c;
	struct str path;
	struct str found; /* the name under which the database belongs; absent: no such log */
};

static void board_log_see(void *arg, struct str name)
{
	struct board_log_search *s = arg;
	struct arena *mem = &s->c->mem;
	struct str head = arena_fmt(mem, STR_FMT ".damaged_", STR_ARG(path_name(s->path)));
	struct str file = path_join(mem, path_parent(s->path), name);

	if (!str_starts(name, head) || !str_ends(name, STR("-wal")))
		return;
	file = arena_copy(mem, str_head(file, file.n - 4));
	if (!file_exists(mem, file))
		s->found = file;
}

/*
 * The database and its log are useless without each other, so both are moved. The log is moved
 * first, because SQLite would delete a log beside a new database.
 */
static enum err set_aside(struct call *c, struct str path, struct str *aside)
{
	static const char *const part[] = { "-wal", "-shm", "-journal", "" };

	struct board_log_search left = { .c = c, .path = path };
	enum err e = file_each(c, path_parent(path), board_log_see, &left);

	if (e)
		return e;
	*aside = left.found.p && file_size(&c->mem, log_of(c, path)) < 0 ? left.found :
									   mend_name(c, path);
	for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
		struct str from = arena_fmt(&c->mem, STR_FMT "%s", STR_ARG(path), part[i]);
		struct str to = arena_fmt(&c->mem, STR_FMT "%s", STR_ARG(*aside), part[i]);

		if (rename(from.p, to.p) == 0)
			call_stored(c, STORED_PART);
		else if (!file_missing())
			return file_fail(c, "keep aside", from);
	}
	return ERR_OK;
}

/* A log without a database is set aside as well: SQLite would delete it. */
static enum err clear_place(struct call *c, struct str path, enum state state, struct str *aside)
{
	struct file_found log;
	enum err e;

	if (state == USABLE || (e = file_look(c, log_of(c, path), &log)))
		return c->code;
	return state == DAMAGED || log.kind != FILE_NONE ? set_aside(c, path, aside) : ERR_OK;
}

static enum err board_db_make(struct call *c, struct board *b, enum board_made *made,
			      struct str *aside)
{
	struct str ignore = board_db_ignore_path(c, b);
	bool before = file_exists(&c->mem, ignore);
	enum state state;
	enum err e = board_db_inspect(c, b, &state);

	*made = state == USABLE            ? BOARD_THERE :
		before || state != MISSING ? BOARD_REPLACED :
					     BOARD_MADE;
	if (!e)
		e = file_remove_leftovers(c, ignore);
	if (!e)
		e = clear_place(c, board_db_database(c, b->root), state, aside);
	if (!e && state != USABLE)
		e = db_make(c, board_db_database(c, b->root), ours);
	/* after the database: if the database is missing, this file shows that there was a board */
	return e ? e : board_db_ignore(c, b);
}

/* --- removal of boards --- */

/* Long enough that no other folder has such a name by chance. */
static const char board_gone[] = ".bb.destroyed-";
enum { GONE_DIGITS = 16 };

struct board_sweep {
	struct call *c;
	struct str root;
};

static bool board_sweep_named(struct str name)
{
	struct str digits = str_skip(name, sizeof board_gone - 1);

	if (!str_starts(name, str_of(board_gone)) || digits.n != GONE_DIGITS)
		return false;
	for (size_t i = 0; i < digits.n; i++)
		if (!strchr("0123456789abcdef", digits.p[i]))
			return false;
	return true;
}

/*
 * A folder with that name may also come from the repository or from another user, so its owner and
 * Git's index are checked.
 */
static void board_sweep_one(void *arg, struct str name)
{
	struct board_sweep *s = arg;
	struct call *c = s->c;
	struct str path = path_join(&c->mem, s->root, name);
	struct stat st;

	if (!board_sweep_named(name) || lstat(arena_cstr(&c->mem, path), &st) ||
	    !S_ISDIR(st.st_mode) || !owner_is_user(st.st_uid) || folder_check_tracked(c, path))
		return;
	file_remove_tree(c, path);
}

void board_sweep(struct call *c, struct str root)
{
	struct board_sweep s = { .c = c, .root = root };
	struct call before = call_save(c);

	file_each(c, root, board_sweep_one, &s);
	call_restore(c, &before); /* errors are ignored: the next sweep tries again */
}

enum err board_make(struct call *c, struct str root, enum board_made *made, struct str *aside)
{
	struct board b = { .root = root, .lock = LOCK_NONE };
	enum err e = board_db_check(c, root, FOLDER_WRITE);

	if (e)
		return e;
	board_sweep(c, root);
	do { /* repeated if the board is destroyed in between */
		if ((e = file_make_dir(c, board_db_folder(c, root), 0700)))
			return home_explain(c, e, board_db_folder(c, root));
	} while ((e = board_db_take_lock(c, &b)) == ERR_NOT_INITIALIZED);
	if (!e) {
		call_forgive(c);
		e = board_db_make(c, &b, made, aside);
	}
	board_close(&b);
	return e;
}

static enum err check_board(struct call *c, struct db *db, struct str path)
{
	struct board b = { .root = path_parent(path_parent(path)), .db = db };

	return board_db_check_version(c, &b);
}

enum err board_mend(struct call *c, struct mend *m)
{
	static const struct db_plan plan = {
		.schema = { schema, extras, old_schema, RECEIPT_TABLES },
		.tables = tables,
		.after = RECEIPT_TABLES_MEND "DELETE FROM schema_version;"
					     "INSERT INTO schema_version VALUES (1);"
					     "INSERT OR IGNORE INTO refs VALUES ('', 0);"
					     "UPDATE messages SET in_reply_to = NULL"
					     " WHERE in_reply_to NOT IN (SELECT id FROM messages)",
	};
	struct board b = { .lock = LOCK_NONE };
	bool there, cut_off;
	enum err e = place_find(c, STR(".bb"), &b.root);

	if (e || !b.root.p)
		return e;
	if ((e = board_db_check(c, b.root, m->fix ? FOLDER_WRITE : FOLDER_READ)) ||
	    (m->fix && (e = board_db_take_lock(c, &b))))
		return e;
	if (!(e = board_db_look_at(c, board_db_database(c, b.root), &there, &cut_off)) && there)
		e = db_mend(c, m, board_db_database(c, b.root), &plan, check_board);
	lock_drop(&b.lock);
	return e;
}

/*
 * The folder is renamed first, so that a process that waits for the lock finds the whole board or
 * none.
 */
enum err board_destroy(struct call *c, struct str root)
{
	struct board b = { .root = root, .lock = LOCK_NONE };
	struct str gone = path_join(
		&c->mem, root,
		arena_fmt(&c->mem, "%s%s", board_gone, id_random(&c->mem, GONE_DIGITS).p));
	enum err e = board_db_take_lock(c, &b);

	if (!e && rename(arena_cstr(&c->mem, board_db_folder(c, root)), gone.p))
		e = file_fail(c, "remove", board_db_folder(c, root));
	if (!e) {
		call_stored(c, STORED_PART);
		/* once the rename is durable, the board cannot come back after a power failure */
		if (!(e = file_sync_dir(c, gone)))
			e = file_remove_tree(c, gone);
	}
	board_close(&b);
	return e;
}

static enum err board_find_receipt(struct call *c, void *store, struct receipt *r)
{
	struct board *b = store;

	return receipt_db_find_inside(c, b->db, &old_receipts, r);
}

static enum err board_put_receipt(struct call *c, void *store, const struct receipt *r)
{
	struct board *b = store;

	return receipt_db_put(c, &(struct receipt_db){ .db = b->db, .inside = true }, r);
}

struct receipts board_receipts(struct board *b)
{
	return (struct receipts){ b, board_find_receipt, board_put_receipt };
}

enum err board_count(struct call *c, struct board *b, struct board_counts *out)
{
	AUTO_STMT *st = db_stmt(b->db, "SELECT (SELECT count(*) FROM agents),"
				       " (SELECT count(*) FROM messages),"
				       " (SELECT count(*) FROM artifacts)");

	if (stmt_row(st)) {
		out->agents = stmt_int(st);
		out->messages = stmt_int(st);
		out->artifacts = stmt_int(st);
	}
	return stmt_end(c, st);
}
