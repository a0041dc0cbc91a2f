/*
 * Creates, opens and updates cache.db. A new cache is built in a separate file and renamed into
 * place. The table `about` has one row with the journal position that the cache reflects.
 */
#include "store/db/bead_cache.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/id.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "store/db/bead_query.h"
#include "store/db/bead_ready.h"
#include "store/db/bead_similar.h"
#include "store/db/bead_tally.h"
#include "store/db/db.h"

enum {
	VERSION = 10,
	WAIT_MS = 10000,
	PAGE = 4096, /* page size of the database file */
};

/*
 * SQLite parses the schema whenever the file is opened, which is a good part of the cost of a
 * command. So columns have neither types nor constraints: every value is bound with its type.
 */
static const char schema[] =
	"CREATE TABLE about (version, state);"
	"CREATE TABLE beads ("
	"    n INTEGER PRIMARY KEY, id UNIQUE, status, priority, type, assignee,"
	"    lease, deferred, created, created_n, updated, closed,"
	"    blockers, dependencies, dependents, children, parent, waits, epic, title, tags, hash,"
	"    line);" TALLY_SCHEMA SIMILAR_SCHEMA
	"CREATE TABLE labels (label, done, priority, created, created_n, id, n,"
	"    PRIMARY KEY (label, done, priority, created, created_n, id)) WITHOUT ROWID;"
	"CREATE TABLE edges (src, dst, kind, active, line, PRIMARY KEY (src, dst, kind))"
	"    WITHOUT ROWID;"
	"CREATE TABLE tombstones (id PRIMARY KEY, at, line) WITHOUT ROWID;"
	"CREATE TABLE created (request, id, PRIMARY KEY (request, id)) WITHOUT ROWID;"
	"CREATE TABLE receipts (actor, id, op, args, reply, at, PRIMARY KEY (actor, id))"
	"    WITHOUT ROWID;"
	"CREATE VIRTUAL TABLE search USING"
	"    fts5(title, body, content = '', columnsize = 0);";

/* The tables that SQLite creates for the full-text search. */
static const char search_tables[] =
	"CREATE TABLE 'search_data'(id INTEGER PRIMARY KEY, block BLOB);"
	"CREATE TABLE 'search_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;"
	"CREATE TABLE 'search_config'(k PRIMARY KEY, v) WITHOUT ROWID;";

/* Indexes for the usual lists, in their order, and for every order of 'bd list --sort'. */
static const char indexes[] =
	"CREATE INDEX todo ON beads (priority, created, created_n, id) WHERE status < 2;"
	"CREATE INDEX ready ON beads (priority, created, created_n, id, children)"
	"    WHERE " READY_OPEN_SQL ";"
	"CREATE INDEX blocked ON beads (priority, created, created_n, id)"
	"    WHERE " BLOCKED_SQL ";"
	"CREATE INDEX states ON beads (status, priority, created, created_n, id);"
	"CREATE INDEX types ON beads (type, priority, created, created_n, id, status);"
	"CREATE INDEX recent ON beads (updated, id, status);"
	"CREATE INDEX born ON beads (created, created_n, id, status);"
	"CREATE INDEX ended ON beads (status, closed, id);"
	"CREATE INDEX titles ON beads (title COLLATE NOCASE, id, status);"
	"CREATE INDEX assigned ON beads (assignee, priority, created, created_n, id)"
	"    WHERE assignee IS NOT NULL;"
	"CREATE INDEX timed ON beads (n) WHERE " READY_TIMED_SQL ";"
	"CREATE INDEX back ON edges (dst, src, kind);";

static enum err bead_cache_doubt(struct call *c, struct str path, const char *why)
{
	call_fail(c, ERR_DAMAGED, "'" STR_FMT "' %s", STR_ARG(path), why);
	return call_step(c, "Run the command again: this file is only a cache, and is rebuilt.");
}

/* The cache is never synced, so it is trusted only until the next boot. */
static struct str bead_cache_boot(struct call *c)
{
	char *name = arena_alloc(&c->mem, PLATFORM_BOOT);

	platform_boot(name);
	return str_trim(str_of(name));
}

/*
 * The state is one JSON object instead of a column per value: SQLite compiles a statement for it in
 * every command, at a cost that grows with the number of columns.
 */
static const struct {
	const char *name;
	size_t at;
} about_numbers[] = {
	{ "segment", offsetof(struct cache_about, place.segment) },
	{ "offset", offsetof(struct cache_about, place.offset) },
	{ "last", offsetof(struct cache_about, place.last) },
	{ "crc", offsetof(struct cache_about, place.crc) },
	{ "first", offsetof(struct cache_about, place.first) },
	{ "clock_ms", offsetof(struct cache_about, clock_ms) },
	{ "clock_n", offsetof(struct cache_about, clock_n) },
	{ "latest_ms", offsetof(struct cache_about, latest_ms) },
	{ "beads", offsetof(struct cache_about, beads) },
	{ "cut_segment", offsetof(struct cache_about, cut_segment) },
	{ "cut_offset", offsetof(struct cache_about, cut_offset) },
};

enum { ABOUT_NUMBERS = sizeof about_numbers / sizeof *about_numbers };

static bool about_decode(struct arena *mem, struct str text, struct cache_about *out,
			 struct str *boot)
{
	const struct value *state = text.p ? value_read(mem, text) : NULL;

	for (size_t i = 0; state && i < ABOUT_NUMBERS; i++) {
		int64_t *at = (int64_t *)(void *)((char *)out + about_numbers[i].at);

		if (!value_int(state, about_numbers[i].name, at))
			return false;
	}
	*boot = value_str(state, "boot");
	out->prefix = value_str(state, "prefix");
	out->prefix_mark = value_str(state, "prefix_mark");
	return state;
}

static struct str about_encode(struct arena *mem, const struct cache_about *about, struct str boot)
{
	struct json j = json_new(mem);

	json_object(&j);
	for (size_t i = 0; i < ABOUT_NUMBERS; i++)
		json_put_int(&j, about_numbers[i].name,
			     *(const int64_t *)(const void *)((const char *)about +
							      about_numbers[i].at));
	json_put_str(&j, "boot", boot);
	json_put_str(&j, "prefix", about->prefix);
	json_put_str(&j, "prefix_mark", about->prefix_mark);
	json_end(&j);
	return json_text(&j);
}

static enum err read_about(struct call *c, struct cache *cache, struct cache_about *out)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT version, state FROM about");
	int64_t version = stmt_row(st) ? stmt_int(st) : 0;
	struct str boot;
	enum err e = stmt_end(c, st);

	if (e == ERR_DATABASE_BUSY)
		return e;
	if (e || version != VERSION || !about_decode(&c->mem, stmt_str(st, &c->mem), out, &boot))
		return bead_cache_doubt(c, cache->path, "is not a cache of this version");
	if (!boot.n || !str_eq(boot, bead_cache_boot(c)))
		return bead_cache_doubt(c, cache->path, "was made before the system was started");
	return ERR_OK;
}

static enum err bead_cache_open_as(struct call *c, enum cache_mode mode, struct cache *out,
				   struct cache_about *about)
{
	static const enum db_mode modes[] = {
		[CACHE_READ] = DB_READ, [CACHE_WRITE] = DB_SCRATCH, [CACHE_STILL] = DB_STILL
	};
	enum err e;

	static const char *const ours[] = { schema, search_tables, indexes, NULL };

	out->still = mode == CACHE_STILL;
	if ((e = db_open(c, out->path, modes[mode], WAIT_MS, &out->db)) ||
	    (e = mode == CACHE_WRITE ? db_exec(c, out->db, "BEGIN IMMEDIATE") :
		 mode == CACHE_READ  ? db_snapshot(c, out->db) :
				       ERR_OK) ||
	    (e = db_expect_exact(c, out->db, ours)) || (e = read_about(c, out, about)))
		cache_close(out);
	if (e == ERR_UNSAFE_PATH) /* a new cache will replace the link */
		return bead_cache_doubt(c, out->path, "is a symbolic link");
	return e;
}

/*
 * In CACHE_STILL mode, the row `about` describes the whole file only if no write was in progress
 * while it was read: the log must be empty before and after.
 */
enum err cache_open(struct call *c, struct str path, enum cache_mode mode, struct cache *out,
		    struct cache_about *about)
{
	off_t size;
	enum err e;

	if (mode == CACHE_STILL && db_keeps()) /* it is open already */
		mode = CACHE_READ;
	*out = (struct cache){ .path = path };
	out->file = file_number_size(&c->mem, path, &size);
	if (!out->file)
		return bead_cache_doubt(c, path, "is not there");
	if (size % PAGE) /* SQLite would pad the file with zeros */
		return bead_cache_doubt(c, path, "was cut");
	if (mode != CACHE_STILL)
		return bead_cache_open_as(c, mode, out, about);
	e = cache_quiet(c, path) ? bead_cache_open_as(c, CACHE_STILL, out, about) : ERR_DAMAGED;
	if (!e && cache_quiet(c, path))
		return ERR_OK;
	cache_close(out);
	call_forgive(c);
	return bead_cache_open_as(c, CACHE_READ, out, about);
}

/* Is the log empty, so that no write to the file is pending? */
bool cache_quiet(struct call *c, struct str path)
{
	return file_size(&c->mem, arena_join(&c->mem, path, STR("-wal"))) <= 0;
}

void cache_close(struct cache *cache)
{
	if (cache->db)
		db_rollback(cache->db);
	db_close(cache->db);
	cache->db = NULL;
}

bool cache_current(struct call *c, const struct cache *cache)
{
	return !cache->file || file_number(&c->mem, cache->path) == cache->file;
}

static enum err fill_new(struct call *c, struct cache *out)
{
	enum err e = db_exec(c, out->db, "PRAGMA synchronous = OFF; BEGIN IMMEDIATE");

	out->counts_later = true;
	return e ? e : db_exec(c, out->db, schema);
}

struct bead_cache_leftovers {
	struct call *c;
	struct str dir, head; /* of unfinished new caches */
};

static void bead_cache_remove_leftover(void *arg, struct str name)
{
	struct bead_cache_leftovers *l = arg;

	if (str_starts(name, l->head))
		unlink(arena_cstr(&l->c->mem, path_join(&l->c->mem, l->dir, name)));
}

enum err cache_create(struct call *c, struct str path, struct cache *out)
{
	struct bead_cache_leftovers left = {
		c, path_parent(path), arena_fmt(&c->mem, STR_FMT ".", STR_ARG(path_name(path)))
	};
	enum err e = file_each(c, left.dir, bead_cache_remove_leftover, &left);

	if (e)
		return e;

	*out = (struct cache){ .path = arena_fmt(&c->mem, STR_FMT ".%s", STR_ARG(path),
						 id_random(&c->mem, 8).p) };
	if ((e = file_create(c, out->path, 0600)) ||
	    (e = db_open(c, out->path, DB_CREATE, WAIT_MS, &out->db)) ||
	    (e = db_exec(c, out->db, "PRAGMA journal_mode = OFF")))
		return e;
	return fill_new(c, out);
}

enum err cache_create_private(struct call *c, struct cache *out)
{
	enum err e;

	*out = (struct cache){ .path = STR(":memory:") };
	e = db_open(c, out->path, DB_CREATE, WAIT_MS, &out->db);
	return e ? e : fill_new(c, out);
}

/* The old log is removed first: SQLite would apply it to the new file. */
enum err cache_install(struct call *c, struct cache *made, struct str path)
{
	static const char *const part[] = { "-wal", "-shm", "" };
	enum err e;

	if ((e = db_exec(c, made->db, indexes)) || (e = tally_fill(c, made)) ||
	    (e = similar_fill(c, made)) || (e = db_exec(c, made->db, "COMMIT")))
		return e;
	made->counts_later = false;
	if (str_is(made->path, ":memory:"))
		return db_snapshot(c, made->db);
	if ((e = db_exec(c, made->db, "PRAGMA journal_mode = WAL")))
		return e;
	db_close(made->db);
	made->db = NULL;
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		if ((e = file_remove(c, arena_fmt(&c->mem, STR_FMT "%s", STR_ARG(path), part[i]))))
			return e;
	if (rename(arena_cstr(&c->mem, made->path), arena_cstr(&c->mem, path)))
		return file_fail(c, "replace", path);
	return ERR_OK;
}

enum err cache_set_aside(struct call *c, struct str path, struct str suffix, struct str *kept)
{
	static const char *const part[] = { "-wal", "" };
	enum err e = file_remove(c, arena_fmt(&c->mem, STR_FMT "-shm", STR_ARG(path)));

	*kept = arena_fmt(&c->mem, STR_FMT "/cache_" STR_FMT ".db", STR_ARG(path_parent(path)),
			  STR_ARG(suffix));
	for (size_t i = 0; !e && i < sizeof part / sizeof *part; i++) {
		struct str from = arena_fmt(&c->mem, STR_FMT "%s", STR_ARG(path), part[i]),
			   to = arena_fmt(&c->mem, STR_FMT "%s", STR_ARG(*kept), part[i]);

		if (rename(from.p, to.p) && !file_missing())
			e = file_fail(c, "rename", from);
	}
	return e;
}

enum err cache_about_put(struct call *c, struct cache *cache, const struct cache_about *about)
{
	AUTO_STMT *st = db_stmt(cache->db, "INSERT OR REPLACE INTO about (rowid, version, state)"
					   " VALUES (1, ?, ?)");

	stmt_bind_int(st, VERSION);
	stmt_bind_str(st, about_encode(&c->mem, about, bead_cache_boot(c)));
	return stmt_run(c, st);
}

enum err cache_commit(struct call *c, struct cache *cache)
{
	return db_commit(c, cache->db);
}

enum err cache_find_row(struct call *c, struct cache *cache, struct str id, bool whole,
			struct bead_row **out)
{
	AUTO_STMT *st = db_stmt(
		cache->db, "SELECT" BEAD_COLUMNS_WITH(
				   "CASE WHEN ?2 THEN b.line END",
				   "CASE WHEN ?2 THEN b.hash END") " FROM beads b WHERE b.id = ?1");

	stmt_bind_str(st, id);
	stmt_bind_int(st, whole);
	*out = stmt_row(st) ? bead_row_read(c, st) : NULL;
	return stmt_end(c, st);
}

enum err cache_find_bead(struct call *c, struct cache *cache, struct str id, struct bead_row **out)
{
	return cache_find_row(c, cache, id, true, out);
}

enum err cache_find_tombstone(struct call *c, struct cache *cache, struct str id, struct str *line)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT line FROM tombstones WHERE id = ?");

	stmt_bind_str(st, id);
	*line = stmt_row(st) ? stmt_str(st, &c->mem) : STR_NONE;
	return stmt_end(c, st);
}

enum err cache_find_edge(struct call *c, struct cache *cache, struct str from, struct str to,
			 struct str kind, struct str *line)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT line FROM edges"
					   " WHERE src = ? AND dst = ? AND kind = ?");

	stmt_bind_str(st, from);
	stmt_bind_str(st, to);
	stmt_bind_str(st, kind);
	*line = stmt_row(st) ? stmt_str(st, &c->mem) : STR_NONE;
	return stmt_end(c, st);
}

static void bind_nonzero(struct stmt *st, int64_t v)
{
	if (v)
		stmt_bind_int(st, v);
	else
		stmt_skip(st, 1);
}

/* Binds the columns that both statements below set, in the same order. */
static void bind_row(struct stmt *st, const struct bead_row *row)
{
	stmt_bind_int(st, row->status);
	stmt_bind_int(st, row->priority);
	stmt_bind_int(st, row->type);
	stmt_bind_str(st, row->assignee);
	bind_nonzero(st, row->lease);
	bind_nonzero(st, row->deferred);
	stmt_bind_int(st, row->created);
	stmt_bind_int(st, row->created_n);
	stmt_bind_int(st, row->updated);
	bind_nonzero(st, row->closed);
	stmt_bind_str(st, row->title);
	stmt_bind_str(st, row->tags);
	stmt_bind_str(st, row->hash);
	stmt_bind_str(st, row->line);
}

static void bind_counts(struct stmt *st, const struct bead_row *row)
{
	stmt_bind_int(st, row->blockers);
	stmt_bind_int(st, row->dependencies);
	stmt_bind_int(st, row->dependents);
	stmt_bind_int(st, row->children);
	stmt_bind_str(st, row->parent);
	stmt_bind_str(st, row->waits);
}

static enum err insert_row(struct call *c, struct cache *cache, const struct bead_row *row)
{
	AUTO_STMT *st =
		db_stmt(cache->db,
			"INSERT INTO beads (status, priority, type, assignee, lease,"
			" deferred, created, created_n, updated, closed, title, tags, hash, line,"
			" id, blockers, dependencies, dependents, children, parent, waits, epic)"
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
			" ?, ?, ?, ?)");

	bind_row(st, row);
	stmt_bind_str(st, row->id);
	bind_counts(st, row);
	stmt_bind_str(st, row->epic);
	return stmt_run(c, st);
}

static enum err update_row(struct call *c, struct cache *cache, const struct bead_row *row,
			   int64_t n)
{
	AUTO_STMT *st = db_stmt(cache->db, "UPDATE beads SET status = ?, priority = ?, type = ?,"
					   " assignee = ?, lease = ?, deferred = ?, created = ?,"
					   " created_n = ?, updated = ?, closed = ?, title = ?,"
					   " tags = ?, hash = ?, line = ? WHERE n = ?");

	bind_row(st, row);
	stmt_bind_int(st, n);
	return stmt_run(c, st);
}

/* A label's beads are in the order of lists, those that are closed apart. */
static void bind_label(struct stmt *st, struct str label, const struct bead_row *row)
{
	stmt_bind_str(st, label);
	stmt_bind_int(st, row->status == BEAD_CLOSED);
	stmt_bind_int(st, row->priority);
	stmt_bind_int(st, row->created);
	stmt_bind_int(st, row->created_n);
	stmt_bind_str(st, row->id);
}

static enum err put_labels(struct call *c, struct cache *cache, const struct bead_row *row,
			   int64_t n)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < row->label_count; i++) {
		AUTO_STMT *st =
			db_stmt(cache->db, "INSERT INTO labels VALUES (?, ?, ?, ?, ?, ?, ?)");

		bind_label(st, row->labels[i], row);
		stmt_bind_int(st, n);
		if (!(e = stmt_run(c, st)))
			e = tally_label(c, cache, row->labels[i], 1);
	}
	return e;
}

static enum err drop_labels(struct call *c, struct cache *cache, const struct bead_row *row)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < row->label_count; i++) {
		AUTO_STMT *st = db_stmt(cache->db, "DELETE FROM labels WHERE label = ? AND done = ?"
						   " AND priority = ? AND created = ?"
						   " AND created_n = ? AND id = ?");

		bind_label(st, row->labels[i], row);
		if (!(e = stmt_run(c, st)))
			e = tally_label(c, cache, row->labels[i], -1);
	}
	return e;
}

/* Would the rows of both have the same key in the table of labels? */
static bool same_labels(const struct bead_row *a, const struct bead_row *b)
{
	return str_eq(a->tags, b->tags) && a->priority == b->priority &&
	       (a->status == BEAD_CLOSED) == (b->status == BEAD_CLOSED) &&
	       a->created == b->created && a->created_n == b->created_n && str_eq(a->id, b->id);
}

static enum err bead_cache_put_labels(struct call *c, struct cache *cache,
				      const struct bead_row *row, const struct bead_row *old,
				      int64_t n)
{
	enum err e = ERR_OK;

	if (old && same_labels(row, old))
		return ERR_OK;
	if (old)
		e = drop_labels(c, cache, old);
	return e ? e : put_labels(c, cache, row, n);
}

static enum err index_text(struct call *c, struct cache *cache, const struct bead_row *row,
			   int64_t n)
{
	AUTO_STMT *st =
		db_stmt(cache->db, "INSERT INTO search (rowid, title, body) VALUES (?, ?, ?)");

	stmt_bind_int(st, n);
	stmt_bind_str(st, row->title);
	stmt_bind_str(st, row->text);
	return stmt_run(c, st);
}

/* The full-text index stores no text, so the old text must be given to remove it. */
static enum err unindex_text(struct call *c, struct cache *cache, const struct bead_row *old)
{
	AUTO_STMT *st = db_stmt(cache->db, "INSERT INTO search (search, rowid, title,"
					   " body) VALUES ('delete', ?, ?, ?)");

	stmt_bind_int(st, old->n);
	stmt_bind_str(st, old->title);
	stmt_bind_str(st, old->text);
	return stmt_run(c, st);
}

static enum err put_created(struct call *c, struct cache *cache, const struct bead_row *row)
{
	AUTO_STMT *st = db_stmt(cache->db, "INSERT OR IGNORE INTO created VALUES (?, ?)");

	stmt_bind_str(st, row->request);
	stmt_bind_str(st, row->id);
	return stmt_run(c, st);
}

enum err cache_find_created(struct call *c, struct cache *cache, struct str request,
			    struct str **ids, size_t *count)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT id FROM created WHERE request = ?");

	stmt_bind_str(st, request);
	return stmt_all(c, st, ids, count);
}

/* The columns that are derived from the edges stay as they are when a row is updated. */
static enum err tally_move_row(struct call *c, struct cache *cache, const struct bead_row *old,
			       const struct bead_row *row, int64_t n)
{
	struct bead_row now = *row;

	now.n = n;
	if (old) {
		now.blockers = old->blockers;
		now.children = old->children;
		now.epic = old->epic;
	}
	return tally_move(c, cache, old, &now);
}

enum err cache_put_bead(struct call *c, struct cache *cache, const struct bead_row *row,
			const struct bead_row *old)
{
	bool same = old && str_eq(row->title, old->title) && str_eq(row->text, old->text);
	enum err e = old ? update_row(c, cache, row, old->n) : insert_row(c, cache, row);
	int64_t n = old ? old->n : db_last_id(cache->db);

	if (!e)
		e = tally_move_row(c, cache, old, row, n);
	if (!e && row->ranked)
		e = tally_note_ranked(c, cache);
	if (!e && !old && row->request.p)
		e = put_created(c, cache, row);
	if (!e && old && !same)
		e = unindex_text(c, cache, old);
	if (!e && !same)
		e = index_text(c, cache, row, n);
	if (!e)
		e = similar_update(c, cache, n, old, row);
	return e ? e : bead_cache_put_labels(c, cache, row, old, n);
}

enum err cache_drop_bead(struct call *c, struct cache *cache, const struct bead_row *old)
{
	AUTO_STMT *st = db_stmt(cache->db, "DELETE FROM beads WHERE n = ?");
	enum err e = unindex_text(c, cache, old);

	if (!e)
		e = tally_move(c, cache, old, NULL);
	if (!e)
		e = similar_update(c, cache, old->n, old, NULL);
	if (!e)
		e = drop_labels(c, cache, old);
	if (e)
		return e;
	stmt_bind_int(st, old->n);
	return stmt_run(c, st);
}

enum err cache_put_tombstone(struct call *c, struct cache *cache, struct str id, int64_t at,
			     struct str line)
{
	AUTO_STMT *drop = NULL, *st = NULL;

	if (!line.p) {
		drop = db_stmt(cache->db, "DELETE FROM tombstones WHERE id = ?");
		stmt_bind_str(drop, id);
		return stmt_run(c, drop);
	}
	st = db_stmt(cache->db, "INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?)");
	stmt_bind_str(st, id);
	stmt_bind_int(st, at);
	stmt_bind_str(st, line);
	return stmt_run(c, st);
}

enum err cache_put_edge(struct call *c, struct cache *cache, const struct edge_row *row)
{
	AUTO_STMT *st = db_stmt(cache->db, "INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?)");

	stmt_bind_str(st, row->from);
	stmt_bind_str(st, row->to);
	stmt_bind_str(st, row->kind);
	stmt_bind_int(st, row->active);
	stmt_bind_str(st, row->line);
	return stmt_run(c, st);
}

/* The columns of a row that decide which cell of the tally counts it, and its epic. */
static enum err cache_find_cell(struct call *c, struct cache *cache, struct str id,
				struct bead_row *out, bool *found)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT status, priority, type, blockers, children, epic"
					   " FROM beads WHERE id = ?");

	stmt_bind_str(st, id);
	if ((*found = stmt_row(st))) {
		*out = (struct bead_row){ .id = id };
		out->status = (int)stmt_int(st);
		out->priority = stmt_int(st);
		out->type = (int)stmt_int(st);
		out->blockers = stmt_int(st);
		out->children = stmt_int(st);
		out->epic = stmt_str(st, &c->mem);
	}
	return stmt_end(c, st);
}

static enum err cache_move_epic(struct call *c, struct cache *cache, const struct bead_row *old,
				struct str epic, bool *moved)
{
	AUTO_STMT *st = db_stmt(cache->db, "UPDATE beads SET epic = ? WHERE id = ?");
	struct bead_row now = *old;
	enum err e;

	now.epic = epic;
	*moved = old->type != BEAD_EPIC;
	stmt_bind_str(st, epic);
	stmt_bind_str(st, old->id);
	e = stmt_run(c, st);
	return e ? e : tally_move(c, cache, old, &now);
}

enum err cache_put_epic(struct call *c, struct cache *cache, struct str id, struct str parent,
			struct str epic, bool *moved)
{
	struct bead_row *old;
	enum err e = cache_find_row(c, cache, id, false, &old);

	*moved = false;
	if (e || !old || !str_eq(old->parent, parent) || str_eq(old->epic, epic))
		return e;
	return cache_move_epic(c, cache, old, epic, moved);
}

static enum err tally_move_counts(struct call *c, struct cache *cache, const struct bead_row *row,
				  bool *moved)
{
	struct bead_row old, now, *whole;
	bool found;
	enum err e = cache_find_cell(c, cache, row->id, &old, &found);

	if (e || !found)
		return e;
	now = old;
	now.blockers = row->blockers;
	now.children = row->children;
	if ((e = tally_move(c, cache, &old, &now)) || str_eq(old.epic, row->epic))
		return e;
	if ((e = cache_find_row(c, cache, row->id, false, &whole)))
		return e;
	whole->blockers = row->blockers;
	whole->children = row->children;
	return cache_move_epic(c, cache, whole, row->epic, moved);
}

enum err cache_put_counts(struct call *c, struct cache *cache, const struct bead_row *row,
			  bool *moved)
{
	enum err e;

	*moved = false;
	if ((e = tally_move_counts(c, cache, row, moved)))
		return e;

	AUTO_STMT *st = db_stmt(cache->db, "UPDATE beads SET blockers = ?, dependencies = ?,"
					   " dependents = ?, children = ?, parent = ?, waits = ?"
					   " WHERE id = ?");

	bind_counts(st, row);
	stmt_bind_str(st, row->id);
	return stmt_run(c, st);
}

enum err cache_drop_edge(struct call *c, struct cache *cache, const struct edge_row *row)
{
	AUTO_STMT *st = db_stmt(cache->db, "DELETE FROM edges"
					   " WHERE src = ? AND dst = ? AND kind = ?");

	stmt_bind_str(st, row->from);
	stmt_bind_str(st, row->to);
	stmt_bind_str(st, row->kind);
	return stmt_run(c, st);
}

enum err cache_edges_of(struct call *c, struct cache *cache, struct str id, struct edge_row **out)
{
	/* Both halves are merged in the order of their indexes; UNION alone would fill a table. */
	AUTO_STMT *st = db_stmt(cache->db, "SELECT src, dst, kind, active, line FROM edges"
					   " WHERE src = ?1 UNION ALL"
					   " SELECT src, dst, kind, active, line FROM edges"
					   " WHERE dst = ?1 AND src <> ?1 ORDER BY 1, 2, 3");

	*out = NULL;
	stmt_bind_str(st, id);
	while (stmt_row(st)) {
		struct edge_row *row = arena_new(&c->mem, struct edge_row);

		row->from = stmt_str(st, &c->mem);
		row->to = stmt_str(st, &c->mem);
		row->kind = stmt_str(st, &c->mem);
		row->active = stmt_int(st);
		row->line = stmt_str(st, &c->mem);
		*out = row;
		out = &row->next;
	}
	return stmt_end(c, st);
}

enum err cache_find_receipt(struct call *c, struct cache *cache, struct receipt *r)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT op, args, reply FROM receipts"
					   " WHERE actor = ? AND id = ?");

	return receipt_row_find(c, st, r);
}

enum err cache_put_receipt(struct call *c, struct cache *cache, const struct receipt *r)
{
	AUTO_STMT *st = db_stmt(cache->db, "INSERT OR REPLACE INTO receipts"
					   " VALUES (?, ?, ?, ?, ?, ?)");

	return receipt_row_put(c, st, r);
}

enum err cache_drop_receipts(struct call *c, struct cache *cache)
{
	AUTO_STMT *st = db_stmt(cache->db, "DELETE FROM receipts");

	return stmt_run(c, st);
}

static const char *const everything[] = {
	"SELECT id, status, priority, type, assignee, lease, deferred, created, created_n,"
	" updated, closed, blockers, dependencies, dependents, children, parent, waits, epic, title,"
	" tags, line FROM beads"
	" ORDER BY id",
	("SELECT b.id, l.label, l.done, l.priority, l.created, l.created_n, l.id"
	 " FROM labels l JOIN beads b ON b.n = l.n ORDER BY 1, 2"),
	"SELECT src, dst, kind, active, line FROM edges ORDER BY 1, 2, 3",
	"SELECT id, at, line FROM tombstones ORDER BY id",
	"SELECT cell, beads FROM counts WHERE cell >= 0 AND cell < " TALLY_LISTS_SQL
	" AND beads ORDER BY cell",
	"SELECT cell, b.id FROM counts JOIN beads b ON b.n = beads WHERE cell >= " TALLY_LISTS_SQL
	" ORDER BY cell",
	"SELECT b.id, p.pair FROM pairs p JOIN beads b ON b.n = p.n ORDER BY 1, 2",
};
static const int widths[] = { 21, 7, 5, 3, 2, 2, 2 };

static enum err same_rows(struct call *c, struct stmt *a, struct stmt *b, int width, bool *same)
{
	struct arena mem = { 0 };
	bool more_a, more_b;
	enum err e;

	do {
		more_a = stmt_row(a);
		more_b = stmt_row(b);
		*same = more_a == more_b;
		for (int i = 0; *same && more_a && i < width; i++)
			*same = str_eq(stmt_str(a, &mem), stmt_str(b, &mem));
		arena_reset(&mem);
	} while (*same && more_a);
	arena_release(&mem);
	e = stmt_end(c, a);
	return e ? e : stmt_end(c, b);
}

enum err cache_same(struct call *c, struct cache *a, struct cache *b, bool *same)
{
	enum err e = ERR_OK;

	*same = true;
	for (size_t i = 0; !e && *same && i < sizeof widths / sizeof *widths; i++) {
		AUTO_STMT *x = db_stmt(a->db, everything[i]);
		AUTO_STMT *y = db_stmt(b->db, everything[i]);

		e = same_rows(c, x, y, widths[i], same);
	}
	return e;
}
