#include "store/commit_db.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "store/db/row.h"
#include "store/mend.h"

enum { WAIT_MS = 10000, TIPS_MOST = 2000 };

/* `files` are the numbers of the commit's files, each with a comma behind it. */
static const char schema[] =
	"CREATE TABLE about (version INTEGER, head TEXT);"
	"INSERT INTO about VALUES (1, NULL);"
	"CREATE TABLE tips (name TEXT PRIMARY KEY) WITHOUT ROWID;"
	"CREATE TABLE commits ("
	"    n INTEGER PRIMARY KEY, files TEXT NOT NULL);"
	"CREATE TABLE files (n INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);"
	"CREATE TABLE changed ("
	"    file INTEGER, n INTEGER, PRIMARY KEY (file, n)) WITHOUT ROWID;"
	"CREATE TABLE named ("
	"    bead TEXT, n INTEGER, name TEXT, author TEXT, summary TEXT, at INTEGER,"
	"    PRIMARY KEY (bead, n)) WITHOUT ROWID;";
static const char *const ours[] = { schema, NULL };

static const struct db_table tables[] = {
	{ "about", false, { "version", "head" } },
	{ "tips", false, { "name" } },
	{ "commits", false, { "n", "files" } },
	{ "files", false, { "n", "path" } },
	{ "changed", false, { "file", "n" } },
	{ "named", false, { "bead", "n", "name", "author", "summary", "at" } },
	{ 0 },
};

void commit_db_close(struct commit_db *d)
{
	if (d->db)
		db_close(d->db);
	d->db = NULL;
}

static enum err commit_db_try(struct call *c, struct str path, bool write, struct commit_db *out)
{
	enum err e = db_open_own(c, path, write, WAIT_MS, ours, &out->db);

	if (e || !out->db)
		return e;
	if ((e = write ? db_begin(c, out->db) : db_snapshot(c, out->db)) ||
	    (e = db_expect(c, out->db, tables, ours, NULL)))
		commit_db_close(out);
	return e;
}

static struct str commit_db_path(struct call *c, struct str home)
{
	return path_join(&c->mem, home, STR("history.db"));
}

enum err commit_db_mend(struct call *c, struct str home, struct mend *m)
{
	struct mend_finding found = { .file = commit_db_path(c, home),
				      .status = m->fix ? "fixed" : "error",
				      .message = STR("it is damaged; it is a copy of Git's "
						     "history, and is made anew when needed") };
	struct commit_db d;
	enum err e = commit_db_open(c, home, false, &d);

	if (e || !d.db)
		return e;
	e = db_check(c, d.db);
	commit_db_close(&d);
	if (e != ERR_DAMAGED)
		return e;
	call_forgive(c);
	if (m->fix && (e = file_remove(c, found.file)))
		return e;
	if (!m->fix)
		found.fix = STR("abacus doctor --fix");
	mend_tell(m, &found);
	return ERR_OK;
}

enum err commit_db_open(struct call *c, struct str home, bool write, struct commit_db *out)
{
	struct str path = commit_db_path(c, home);
	enum err e = commit_db_try(c, path, write, out);

	if (!e || e == ERR_DATABASE_BUSY)
		return e;
	if (!write)
		return call_forgive(c);
	call_forgive(c);
	if ((e = file_remove(c, path)))
		return e;
	return commit_db_try(c, path, write, out);
}

/* --- how far the history was read --- */

bool commit_db_has_tip(struct call *c, struct commit_db *d, struct str commit)
{
	AUTO_STMT *st = db_stmt(d->db, "SELECT 1 FROM tips WHERE name = ?");
	bool found;

	stmt_bind_str(st, commit);
	found = stmt_row(st);
	if (stmt_end(c, st))
		call_forgive(c);
	return found;
}

enum err commit_db_tips(struct call *c, struct commit_db *d, struct str **out, size_t *count,
			struct str *head)
{
	AUTO_STMT *st = db_stmt(d->db, "SELECT name FROM tips");
	AUTO_STMT *about = db_stmt(d->db, "SELECT head FROM about");
	struct str *list = NULL;
	size_t n = 0;
	enum err e;

	while (stmt_row(st)) {
		list = arena_room(&c->mem, list, n, sizeof *list);
		list[n++] = stmt_str(st, &c->mem);
	}
	*out = list;
	*count = n;
	*head = stmt_row(about) ? stmt_str(about, &c->mem) : STR_NONE;
	return (e = stmt_end(c, st)) ? e : stmt_end(c, about);
}

enum err commit_db_clear(struct call *c, struct commit_db *d)
{
	return db_exec(c, d->db,
		       "DELETE FROM tips; DELETE FROM commits; DELETE FROM files;"
		       "DELETE FROM changed; DELETE FROM named; UPDATE about SET head = NULL");
}

/* Old tips are kept, because a branch that was removed may come back, unless there are too many. */
enum err commit_db_set_tips(struct call *c, struct commit_db *d, const struct str *tips,
			    size_t count, struct str head)
{
	struct str *old, old_head;
	size_t old_count;
	enum err e = commit_db_tips(c, d, &old, &old_count, &old_head);

	if (!e && old_count > TIPS_MOST)
		e = db_exec(c, d->db, "DELETE FROM tips");
	for (size_t i = 0; !e && i < count; i++)
		e = db_run(c, d->db, "INSERT OR IGNORE INTO tips VALUES (?)", BIND(tips[i]));
	return e ? e : db_run(c, d->db, "UPDATE about SET head = ?", BIND(head));
}

/* --- writing --- */

/* Rows of `changed`. They are sorted before they are inserted, which takes a fraction of the time
 * of inserting them at random places. */
struct commit_pair {
	int64_t file, n;
};

struct commit_writer {
	struct call *c;
	struct commit_db *d;
	struct map files; /* path: int64_t * */
	struct commit_pair *pair;
	size_t pairs;
	int64_t n;
};

struct commit_writer *commit_writer_new(struct call *c, struct commit_db *d)
{
	struct commit_writer *w = arena_new(&c->mem, struct commit_writer);

	*w = (struct commit_writer){ .c = c, .d = d, .files.mem = &c->mem };
	return w;
}

/* The number of a path; 0: it has none. */
static enum err commit_db_file(struct call *c, struct commit_db *d, struct str path, int64_t *n)
{
	return db_number(c, d->db, "SELECT n FROM files WHERE path = ?", PARAMS(BIND(path)), n);
}

static enum err commit_writer_file(struct commit_writer *w, struct str path, int64_t **out)
{
	void **known = map_find(&w->files, path);
	int64_t n;
	enum err e;

	if (known) {
		*out = *known;
		return ERR_OK;
	}
	if ((e = commit_db_file(w->c, w->d, path, &n)))
		return e;
	if (!n) {
		if ((e = db_run(w->c, w->d->db, "INSERT INTO files (path) VALUES (?)", BIND(path))))
			return e;
		n = db_last_id(w->d->db);
	}
	/* the second number is the last commit that changed it */
	*out = arena_array(&w->c->mem, 2, sizeof **out);
	(*out)[0] = n;
	*map_put(&w->files, arena_copy(&w->c->mem, path)) = *out;
	return ERR_OK;
}

/* Notes that the commit changed this path; once for each folder. */
static enum err commit_writer_change(struct commit_writer *w, struct str path, struct buf *list)
{
	int64_t *file;
	enum err e = commit_writer_file(w, path, &file);

	if (e || file[1] == w->n)
		return e;
	file[1] = w->n;
	w->pair = arena_room(&w->c->mem, w->pair, w->pairs, sizeof *w->pair);
	w->pair[w->pairs++] = (struct commit_pair){ file[0], w->n };
	if (list)
		buf_fmt(list, "%lld,", (long long)file[0]);
	return ERR_OK;
}

static enum err commit_writer_put_files(struct commit_writer *w, const struct commit_row *row,
					struct buf *list)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < row->file_count; i++) {
		struct str path = row->files[i];

		for (size_t k = path.n; !e && k-- > 0;)
			if (path.p[k] == '/')
				e = commit_writer_change(w, str_head(path, k + 1), NULL);
		if (!e)
			e = commit_writer_change(w, path, list);
	}
	return e;
}

static enum err commit_writer_put_name(struct commit_writer *w, const struct commit_row *row,
				       struct str bead)
{
	return db_run(w->c, w->d->db, "INSERT OR IGNORE INTO named VALUES (?, ?, ?, ?, ?, ?)",
		      BIND(bead), BIND(w->n), BIND(row->name), BIND(row->author),
		      BIND(row->summary), BIND(row->time_ms));
}

enum err commit_writer_put(struct commit_writer *w, const struct commit_row *row)
{
	struct arena mem = { 0 };
	struct buf list = { .mem = &mem };
	enum err e = ERR_OK;

	if (!w->n)
		e = db_number(w->c, w->d->db, "SELECT max(n) FROM commits", NULL, &w->n);
	if (!e) {
		w->n++;
		e = commit_writer_put_files(w, row, &list);
	}
	for (size_t i = 0; !e && i < row->bead_count; i++)
		e = commit_writer_put_name(w, row, row->beads[i]);
	if (!e)
		e = db_run(w->c, w->d->db, "INSERT INTO commits VALUES (?, ?)", BIND(w->n),
			   BIND(buf_str(&list)));
	arena_release(&mem);
	return e;
}

static int commit_pair_cmp(const void *a, const void *b)
{
	const struct commit_pair *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->n < y->n ? -1 : x->n > y->n;
}

enum err commit_writer_end(struct commit_writer *w)
{
	enum err e = ERR_OK;

	if (w->pairs)
		qsort(w->pair, w->pairs, sizeof *w->pair, commit_pair_cmp);
	for (size_t i = 0; !e && i < w->pairs; i++) {
		AUTO_STMT *st = db_stmt(w->d->db, "INSERT OR IGNORE INTO changed VALUES (?, ?)");

		stmt_bind_int(st, w->pair[i].file);
		stmt_bind_int(st, w->pair[i].n);
		e = stmt_run(w->c, st);
	}
	return e ? e : db_commit(w->c, w->d->db);
}

/* --- reading --- */

enum err commit_db_named(struct call *c, struct commit_db *d, struct str bead, size_t most,
			 struct commit_named **out)
{
	AUTO_STMT *st = db_stmt(d->db, "SELECT name, author, summary, at FROM named"
				       " WHERE bead = ? ORDER BY n DESC LIMIT ?");

	*out = NULL;
	stmt_bind_str(st, bead);
	stmt_bind_int(st, (int64_t)most);
	while (stmt_row(st)) {
		struct commit_named *one = arena_new(&c->mem, struct commit_named);

		one->name = stmt_str(st, &c->mem);
		one->author = stmt_str(st, &c->mem);
		one->summary = stmt_str(st, &c->mem);
		one->time_ms = stmt_int(st);
		*out = one;
		out = &one->next;
	}
	return stmt_end(c, st);
}

/*
 * Counts how often each file occurs in lists of files: a hash table by the number of the file, in
 * which files that share a slot are chained.
 */
enum { TALLY_SLOTS = 512 };
struct commit_tally {
	struct commit_file *file;
	size_t *next; /* by index: the next file of the slot, plus one; 0: none */
	size_t count;
	size_t slot[TALLY_SLOTS]; /* index plus one; 0: none */
};

static void commit_tally_one(struct call *c, struct commit_tally *t, int64_t n, int64_t weight)
{
	size_t *slot = &t->slot[(size_t)n % TALLY_SLOTS], i = *slot;

	while (i && t->file[i - 1].file != n)
		i = t->next[i - 1];
	if (!i) {
		t->file = arena_room(&c->mem, t->file, t->count, sizeof *t->file);
		t->next = arena_room(&c->mem, t->next, t->count, sizeof *t->next);
		t->file[t->count] = (struct commit_file){ .file = n };
		t->next[t->count] = *slot;
		*slot = i = ++t->count;
	}
	t->file[i - 1].commits++;
	t->file[i - 1].weight += weight;
}

/* Returns the weight of the commit. */
static int64_t commit_tally_add(struct call *c, struct commit_tally *t, struct str list)
{
	int64_t n = 0, files = 0, weight;

	for (size_t i = 0; i < list.n; i++)
		files += list.p[i] < '0' || list.p[i] > '9';
	weight = COMMIT_WEIGHT / (files > 2 ? files - 1 : 1);

	for (size_t i = 0; i < list.n; i++) {
		if (list.p[i] >= '0' && list.p[i] <= '9') {
			n = n * 10 + (list.p[i] - '0');
			continue;
		}
		commit_tally_one(c, t, n, weight);
		n = 0;
	}
	return weight;
}

/* What happened once may be chance. */
static void commit_tally_drop_single(struct commit_tally *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		if (t->file[i].commits > 1)
			t->file[n++] = t->file[i];
	t->count = n;
}

static enum err commit_tally_name(struct call *c, struct commit_db *d, struct commit_tally *t)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < t->count; i++) {
		AUTO_STMT *st = db_stmt(d->db, "SELECT path FROM files WHERE n = ?");

		stmt_bind_int(st, t->file[i].file);
		t->file[i].path = stmt_row(st) ? stmt_str(st, &c->mem) : STR("");
		e = stmt_end(c, st);
	}
	return e;
}

static int commit_file_cmp(const void *a, const void *b)
{
	return str_cmp(((const struct commit_file *)a)->path,
		       ((const struct commit_file *)b)->path);
}

enum err commit_db_touched(struct call *c, struct commit_db *d, struct str bead,
			   struct commit_file **out, size_t *count)
{
	AUTO_STMT *st = db_stmt(d->db, "SELECT files FROM named JOIN commits USING (n)"
				       " WHERE bead = ?");
	struct commit_tally tally = { 0 };
	enum err e;

	stmt_bind_str(st, bead);
	while (stmt_row(st))
		commit_tally_add(c, &tally, stmt_str(st, &c->mem));
	if ((e = stmt_end(c, st)) || (e = commit_tally_name(c, d, &tally)))
		return e;
	if (tally.count)
		qsort(tally.file, tally.count, sizeof *tally.file, commit_file_cmp);
	*out = tally.file;
	*count = tally.count;
	return ERR_OK;
}

/* The number of a scope: of the file of that name, or of the folder. */
static enum err commit_db_scope(struct call *c, struct commit_db *d, struct str scope, int64_t *n)
{
	enum err e = commit_db_file(c, d, scope, n);

	if (e || *n)
		return e;
	return commit_db_file(c, d, arena_fmt(&c->mem, STR_FMT "/", STR_ARG(scope)), n);
}

bool commit_db_knows(struct call *c, struct commit_db *d, struct str path)
{
	int64_t n = 0;

	if (commit_db_scope(c, d, path, &n))
		call_forgive(c);
	return n;
}

static int commit_file_by_number(const void *a, const void *b)
{
	const struct commit_file *x = a, *y = b;

	return x->file < y->file ? -1 : x->file > y->file;
}

enum err commit_db_together(struct call *c, struct commit_db *d, struct str scope, int64_t most,
			    struct commit_file **out, size_t *count, int64_t *weight)
{
	AUTO_STMT *st = db_stmt(d->db, "SELECT files FROM changed CROSS JOIN commits USING (n)"
				       " WHERE file = ? ORDER BY changed.n DESC LIMIT ?");
	struct commit_tally tally = { 0 };
	int64_t file;
	enum err e = commit_db_scope(c, d, scope, &file);

	*out = NULL;
	*count = 0;
	*weight = 0;
	if (e || !file)
		return e;
	stmt_bind_int(st, file);
	stmt_bind_int(st, most);
	while (stmt_row(st))
		*weight += commit_tally_add(c, &tally, stmt_str(st, &c->mem));
	commit_tally_drop_single(&tally);
	if ((e = stmt_end(c, st)) || (e = commit_tally_name(c, d, &tally)))
		return e;
	if (tally.count)
		qsort(tally.file, tally.count, sizeof *tally.file, commit_file_by_number);
	*out = tally.file;
	*count = tally.count;
	return ERR_OK;
}
