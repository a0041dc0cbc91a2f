#include "store/db/bead_tally.h"

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
		       "INSERT INTO counts SELECT label, count(*) FROM labels GROUP BY 1");
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

enum err tally_move(struct call *c, struct cache *cache, const struct bead_row *old,
		    const struct bead_row *row)
{
	enum err e = ERR_OK;

	if (cache->counts_later || (old && row && cell_number(old) == cell_number(row)))
		return ERR_OK;
	if (old)
		e = tally_add(c, cache, cell_number(old), -1);
	return e || !row ? e : tally_add(c, cache, cell_number(row), 1);
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
	return !f->assignee.p && !f->unassigned && !f->label_count && !f->any_count &&
	       !f->id_count && !f->parent.p && !f->title_part.p && !f->description_part.p &&
	       !f->claimed && !f->expired && !f->words.p && !tally_bounded(f);
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
					   " WHERE cell >= '' AND beads ORDER BY cell");

	return tally_read(c, st, out);
}
