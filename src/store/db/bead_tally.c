#include "store/db/bead_tally.h"

#include "base/buf.h"
#include "store/db/db.h"

/* A cell's number: type, priority, has open children, is blocked, status; lowest bits first. */
enum { TYPE_BITS = 3, PRIORITY_BITS = 3, FLAG_BITS = 1, STATUS_BITS = 2 };

struct tally_cell {
	unsigned type, priority, container, blocked, status;
};

static int64_t cell_number(const struct bead_row *row)
{
	int64_t n = row->status;

	n = n << FLAG_BITS | (row->blockers > 0);
	n = n << FLAG_BITS | (row->children > 0);
	n = n << PRIORITY_BITS | row->priority;
	return n << TYPE_BITS | row->type;
}

#define CELL_SQL \
	"(((status << 1 | (blockers > 0)) << 1 | (children > 0)) << 3 | priority) << 3 | type"

static unsigned cell_take(int64_t *number, int bits)
{
	unsigned value = (unsigned)(*number & ((1 << bits) - 1));

	*number >>= bits;
	return value;
}

static struct tally_cell cell_of(int64_t number)
{
	struct tally_cell cell;

	cell.type = cell_take(&number, TYPE_BITS);
	cell.priority = cell_take(&number, PRIORITY_BITS);
	cell.container = cell_take(&number, FLAG_BITS);
	cell.blocked = cell_take(&number, FLAG_BITS);
	cell.status = cell_take(&number, STATUS_BITS);
	return cell;
}

static bool set_has(unsigned set, unsigned value)
{
	return !set || set >> value & 1;
}

static bool cell_fits(struct tally_cell cell, const struct bead_filter *f)
{
	if ((f->ready || f->free) && (cell.status != BEAD_OPEN || cell.blocked))
		return false;
	if ((f->free && cell.container) ||
	    (f->blocked && (!cell.blocked || cell.status == BEAD_CLOSED)))
		return false;
	return set_has(f->statuses, cell.status) && set_has(f->types, cell.type) &&
	       set_has(f->priorities, cell.priority);
}

/* --- writing --- */

/* Does a bead count as a task? An epic that is in no other one does not. */
#define TASK_SQL "(epic IS NOT NULL OR type <> 3)"

static bool tally_is_task(const struct bead_row *row)
{
	return row->epic.p || row->type != BEAD_EPIC;
}

/* A row that counts nothing: it says that some task has a rank. */
enum { CELL_RANKED = -1 };

enum err tally_note_ranked(struct call *c, struct cache *cache)
{
	AUTO_STMT *st = db_stmt(cache->db, "INSERT OR IGNORE INTO counts VALUES (?, 1)");

	stmt_bind_int(st, CELL_RANKED);
	return stmt_run(c, st);
}

enum err tally_fill(struct call *c, struct cache *cache)
{
	return db_exec(c, cache->db,
		       "INSERT INTO counts SELECT " CELL_SQL ", count(*) FROM beads GROUP BY 1;"
		       "INSERT INTO counts SELECT label, count(*) FROM labels GROUP BY 1;"
		       "INSERT INTO counts SELECT CAST(char(1) || ifnull(epic, '') AS BLOB),"
		       " count(*) FROM beads WHERE " TASK_SQL " GROUP BY epic;"
		       "INSERT INTO counts SELECT CAST(char(2) || ifnull(epic, '') AS BLOB),"
		       " count(*) FROM beads WHERE status = 2 AND " TASK_SQL " GROUP BY epic");
}

static struct stmt *tally_adding(struct cache *cache)
{
	return db_stmt(cache->db, "INSERT INTO counts VALUES (?, ?)"
				  " ON CONFLICT DO UPDATE SET beads = beads + excluded.beads");
}

enum err tally_label(struct call *c, struct cache *cache, struct str label, int64_t beads)
{
	AUTO_STMT *st = cache->counts_later ? NULL : tally_adding(cache);

	if (!st)
		return ERR_OK;
	stmt_bind_str(st, label);
	stmt_bind_int(st, beads);
	return stmt_run(c, st);
}

static enum err tally_add(struct call *c, struct cache *cache, int64_t cell, int64_t beads)
{
	AUTO_STMT *st = tally_adding(cache);

	stmt_bind_int(st, cell);
	stmt_bind_int(st, beads);
	return stmt_run(c, st);
}

static enum err tally_move_cell(struct call *c, struct cache *cache, const struct bead_row *old,
				const struct bead_row *row)
{
	enum err e = ERR_OK;

	if (old && row && cell_number(old) == cell_number(row))
		return ERR_OK;
	if (old)
		e = tally_add(c, cache, cell_number(old), -1);
	return e || !row ? e : tally_add(c, cache, cell_number(row), 1);
}

/* --- writing: the tasks of epics --- */

/* The first byte of a cell that is a blob. The id of the epic follows, or nothing. */
enum { CELL_TASKS = 1, CELL_CLOSED, CELL_LIST };

static struct str epic_cell(struct arena *mem, char kind, struct str epic)
{
	struct buf b = { .mem = mem };

	buf_char(&b, kind);
	buf_put(&b, epic);
	return buf_str(&b);
}

static void put_ordered(struct buf *b, int64_t number)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		buf_char(b, (char)(number >> shift & 255));
}

struct str tally_list(struct arena *mem, struct str epic, bool closed)
{
	struct buf b = { .mem = mem };

	buf_put(&b, epic_cell(mem, CELL_LIST, epic));
	buf_char(&b, '\0');
	buf_char(&b, closed && !epic.p);
	return buf_str(&b);
}

/* Where a task is in the list of its epic: the bytes are in the order of the keys of lists. */
static struct str place_cell(struct arena *mem, const struct bead_row *row)
{
	struct buf b = { .mem = mem };

	buf_put(&b, tally_list(mem, row->epic, row->status == BEAD_CLOSED));
	buf_char(&b, (char)row->priority);
	put_ordered(&b, row->created);
	put_ordered(&b, row->created_n);
	buf_put(&b, row->id);
	return buf_str(&b);
}

static enum err tally_add_blob(struct call *c, struct cache *cache, struct str cell, int64_t beads)
{
	AUTO_STMT *st = tally_adding(cache);

	stmt_bind_blob(st, cell);
	stmt_bind_int(st, beads);
	return stmt_run(c, st);
}

static enum err tally_add_task(struct call *c, struct cache *cache, const struct bead_row *row,
			       int64_t tasks, int64_t closed)
{
	enum err e = ERR_OK;

	if (tasks)
		e = tally_add_blob(c, cache, epic_cell(&c->mem, CELL_TASKS, row->epic), tasks);
	if (!e && closed)
		e = tally_add_blob(c, cache, epic_cell(&c->mem, CELL_CLOSED, row->epic), closed);
	return e;
}

static enum err tally_count_task(struct call *c, struct cache *cache, const struct bead_row *from,
				 const struct bead_row *to)
{
	int64_t was = from && from->status == BEAD_CLOSED, is = to && to->status == BEAD_CLOSED;
	enum err e = ERR_OK;

	if (from && to && str_eq(from->epic, to->epic))
		return tally_add_task(c, cache, to, 0, is - was);
	if (from)
		e = tally_add_task(c, cache, from, -1, -was);
	return e || !to ? e : tally_add_task(c, cache, to, 1, is);
}

/* Have both the same place in the same list? */
static bool tally_same_place(const struct bead_row *a, const struct bead_row *b)
{
	return a->priority == b->priority && a->created == b->created &&
	       a->created_n == b->created_n && str_eq(a->id, b->id) && str_eq(a->epic, b->epic) &&
	       (a->epic.p || (a->status == BEAD_CLOSED) == (b->status == BEAD_CLOSED));
}

static enum err tally_list_task(struct call *c, struct cache *cache, const struct bead_row *from,
				const struct bead_row *to)
{
	AUTO_STMT *drop = NULL;
	enum err e = ERR_OK;

	if (from && to && tally_same_place(from, to))
		return ERR_OK;
	if (from) {
		drop = db_stmt(cache->db, "DELETE FROM counts WHERE cell = ?");
		stmt_bind_blob(drop, place_cell(&c->mem, from));
		e = stmt_run(c, drop);
	}
	return e || !to ? e : tally_add_blob(c, cache, place_cell(&c->mem, to), to->n);
}

enum err tally_move(struct call *c, struct cache *cache, const struct bead_row *old,
		    const struct bead_row *row)
{
	const struct bead_row *from = old && tally_is_task(old) ? old : NULL;
	const struct bead_row *to = row && tally_is_task(row) ? row : NULL;
	enum err e = cache->counts_later ? ERR_OK : tally_move_cell(c, cache, old, row);

	if (!e && !cache->counts_later)
		e = tally_count_task(c, cache, from, to);
	return e ? e : tally_list_task(c, cache, from, to);
}

/* --- reading --- */

enum err tally_read(struct call *c, struct stmt *st, struct tally **out)
{
	*out = NULL;
	while (stmt_row(st)) {
		struct tally *t = arena_new(&c->mem, struct tally);

		t->key = stmt_str(st, &c->mem);
		t->count = stmt_int(st);
		*out = t;
		out = &t->next;
	}
	return stmt_end(c, st);
}

enum err tally_ranked(struct call *c, struct cache *cache, bool *out)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT 1 FROM counts WHERE cell = ?");

	stmt_bind_int(st, CELL_RANKED);
	*out = stmt_row(st);
	return stmt_end(c, st);
}

static bool tally_bounded(const struct bead_filter *f)
{
	return f->created_after.given || f->created_before.given || f->updated_after.given ||
	       f->updated_before.given || f->closed_after.given || f->closed_before.given;
}

bool tally_can(const struct bead_filter *f)
{
	return !f->no_epic && !f->assignee.p && !f->unassigned && !f->label_count &&
	       !f->any_count && !f->id_count && !f->parent.p && !f->title_part.p &&
	       !f->description_part.p && !f->claimed && !f->expired && !f->words.p &&
	       !tally_bounded(f);
}

static struct stmt *tally_cells(struct cache *cache)
{
	return db_stmt(cache->db, "SELECT cell, beads FROM counts WHERE cell >= 0 AND cell < ''");
}

enum err tally_count(struct call *c, struct cache *cache, const struct bead_filter *f, int64_t *out)
{
	AUTO_STMT *st = tally_cells(cache);

	*out = 0;
	while (stmt_row(st)) {
		struct tally_cell cell = cell_of(stmt_int(st));

		if (cell_fits(cell, f))
			*out += stmt_int(st);
	}
	return stmt_end(c, st);
}

enum err tally_held(struct call *c, struct cache *cache, bool *out)
{
	AUTO_STMT *st = tally_cells(cache);

	*out = false;
	while (stmt_row(st)) {
		struct tally_cell cell = cell_of(stmt_int(st));

		*out = *out ||
		       (cell.status == BEAD_IN_PROGRESS && !cell.blocked && stmt_int(st) > 0);
	}
	return stmt_end(c, st);
}

enum err tally_group(struct call *c, struct cache *cache, const struct bead_filter *f,
		     enum group group, struct tally **out)
{
	enum { VALUES = 8 };
	AUTO_STMT *st = tally_cells(cache);
	int64_t count[VALUES] = { 0 };

	while (stmt_row(st)) {
		struct tally_cell cell = cell_of(stmt_int(st));

		if (cell_fits(cell, f))
			count[group == GROUP_STATUS ? cell.status :
			      group == GROUP_TYPE   ? cell.type :
						      cell.priority] += stmt_int(st);
	}
	*out = NULL;
	for (int i = 0; i < VALUES; i++) {
		if (!count[i])
			continue;
		*out = arena_new(&c->mem, struct tally);
		**out = (struct tally){ .key = arena_fmt(&c->mem, "%d", i), .count = count[i] };
		out = &(*out)->next;
	}
	return stmt_end(c, st);
}

enum err tally_labels(struct call *c, struct cache *cache, struct tally **out)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT cell, beads FROM counts"
					   " WHERE cell >= '' AND cell < x'' AND beads"
					   " ORDER BY cell");

	return tally_read(c, st, out);
}

/* The rows with the numbers of tasks come first, and then those with the numbers of closed ones. */
enum err tally_epics(struct call *c, struct cache *cache, struct map *out)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT cell, beads FROM counts WHERE cell >= x''"
					   " AND cell < " TALLY_LISTS_SQL " AND beads");

	while (stmt_row(st)) {
		struct str cell = stmt_str(st, &c->mem);
		void **at = map_put(out, str_skip(cell, 1));
		struct epic_tally *tally = *at;

		if (!tally)
			*at = tally = arena_new(&c->mem, struct epic_tally);
		*(*cell.p == CELL_TASKS ? &tally->tasks : &tally->closed) = stmt_int(st);
	}
	return stmt_end(c, st);
}
