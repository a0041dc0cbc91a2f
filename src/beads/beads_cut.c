/*
 * Shortens the journal, once it has grown enough: by a writer, or by a sync. The new segment begins
 * with the unpublished changes, joined to one record, and a base record, which has what 'bd undo'
 * needs. Receipts move to receipts.db.
 */
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "beads/beads_parts.h"
#include "beads/model/state.h"
#include "beads/undo/undo_log.h"
#include "store/db/receipt_db.h"

enum err beads_encode_record(struct call *c, const struct record *r, struct str *json)
{
	struct arena scratch = { 0 };
	struct record again = { .change = state_new(&scratch) };
	struct str why;
	enum err e = ERR_OK;

	*json = record_encode(c, r);
	if (!record_decode(*json, &again, &why))
		e = call_fail(c, ERR_INVALID_INPUT, "this change could not be read back: " STR_FMT,
			      STR_ARG(why));
	arena_release(&scratch);
	return e;
}

/* --- receipts --- */

static enum err receipts_open(struct call *c, struct beads *b, bool write, struct receipt_db *out)
{
	struct str path = beads_path(c, b, "receipts.db"), aside;
	enum err e = receipt_db_open(c, path, write, out);

	if (e != ERR_DAMAGED)
		return e;
	aside = path_unused(&c->mem, path, "damaged");
	call_fail(c, ERR_JOURNAL_LOST, "'" STR_FMT "' is damaged", STR_ARG(path));
	return call_step(c,
			 "Move it away; earlier requests are then not recognised when they are "
			 "repeated. Run: mv " STR_FMT " " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, path)), STR_ARG(spawn_word(&c->mem, aside)));
}

static enum err beads_find_receipt(struct call *c, void *store, struct receipt *r)
{
	struct beads *b = store;
	struct receipt_db db;
	enum err e = cache_find_receipt(c, &b->cache, r);

	if (e || r->op.p || (e = receipts_open(c, b, false, &db)))
		return e;
	e = receipt_db_find(c, &db, r);
	receipt_db_close(&db);
	return e;
}

static enum err beads_put_receipt(struct call *c, void *store, const struct receipt *r)
{
	struct beads *b = store;

	(void)c;
	b->receipt = *r;
	return ERR_OK;
}

struct receipts beads_receipts(struct beads *b)
{
	return (struct receipts){ b, beads_find_receipt, beads_put_receipt };
}

/* --- cutting the journal --- */

/* The records of the old segments: what the new segment keeps, and the receipts. */
struct cutting {
	struct replay replay; /* with the new base */
	struct receipt_db receipts;
	struct undo_log undo;
};

static enum err cut_put_receipts(struct call *c, struct cutting *k, const struct record *r)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < r->receipt_count; i++)
		e = receipt_db_put(c, &k->receipts, &r->receipts[i]);
	return e;
}

static enum err cut_record(struct call *c, const struct journal_record *r, void *arg)
{
	struct cutting *k = arg;
	struct record record;
	enum err e;

	bool known = replay_has(&k->replay, r);

	undo_log_add(&k->undo, r->json);
	if (known && !str_has(r->json, STR("\"receipt")))
		return ERR_OK;
	if ((e = replay_decode(c, &k->replay, r, &record)) || (e = cut_put_receipts(c, k, &record)))
		return e;
	if (!known)
		replay_add(c, &k->replay, &record);
	return ERR_OK;
}

/* Receipts are committed to their database before the journal drops them. */
static enum err cut_records(struct call *c, struct beads *b, struct cutting *k)
{
	struct journal_place place = { 0 };
	enum err e = receipts_open(c, b, true, &k->receipts);

	if (e)
		return e;
	k->replay.since = state_new(&c->mem);
	if (!(e = journal_each(c, b->home, &place, cut_record, k)))
		e = receipt_db_commit(c, &k->receipts);
	receipt_db_close(&k->receipts);
	arena_release(&k->replay.scratch);
	arena_release(&k->undo.scratch);
	return e;
}

/*
 * The new segment ends with the base record. Until that is written, the segment replaces nothing.
 */
enum err beads_cut(struct call *c, struct beads *b, struct record *r, struct state *instead,
		   int *fd)
{
	struct cutting k = { .replay = { .b = b, .base = *r }, .undo = { .mem = &c->mem } };
	struct record rest = { 0 };
	struct str json[2];
	size_t count = 0;
	enum err e;

	if ((e = cut_records(c, b, &k)))
		return e;
	rest.change = instead ? instead : k.replay.since;
	rest.joined = k.replay.count;
	rest.since_ms = k.replay.oldest_ms;
	r->segment =
		b->about.place.segment + 1; /* the base has everything before the new segment */
	r->offset = 0;
	r->anew = !r->base.p;
	r->undos = undo_log_list(&k.undo, &r->undo_count);
	if (!record_empty(rest.change) && (e = beads_encode_record(c, &rest, &json[count++])))
		return e;
	if ((e = beads_encode_record(c, r, &json[count++])) ||
	    (e = journal_restart(c, b->home, &b->about.place, json, count, fd)))
		return e;
	b->about.cut_segment = b->about.place.segment;
	b->about.cut_offset = b->about.place.offset;
	return cache_drop_receipts(c, &b->cache);
}

/* Bytes added to the journal since the last cut. */
static int64_t cut_grown(const struct beads *b)
{
	enum { SEGMENT = 8 * 1024 * 1024 };
	const struct cache_about *at = &b->about;
	int64_t first = at->cut_segment ? at->cut_segment : 1; /* the journal was never cut */

	return (at->place.segment - first) * SEGMENT + at->place.offset - at->cut_offset;
}

bool beads_cut_due_writer(const struct beads *b)
{
	enum { CUT_BY_WRITER = 512 << 10 };
	int64_t grown = cut_grown(b);

	return grown > CUT_BY_WRITER && grown > 2 * b->about.cut_offset;
}

bool beads_cut_due_sync(const struct beads *b)
{
	enum { CUT_BY_SYNC = 256 << 10 };

	return cut_grown(b) + b->about.cut_offset > CUT_BY_SYNC;
}

/* The present base of the journal, as a record for a new segment. */
static enum err cut_read_base(struct call *c, struct beads *b, struct record *out)
{
	struct replay replay = { .b = b };
	struct journal_place place = { 0 };
	enum err e = journal_each(c, b->home, &place, replay_find_base, &replay);

	arena_release(&replay.scratch);
	*out = (struct record){ .change = state_new(&c->mem),
				.base = replay.base.base,
				.segment = replay.base.segment,
				.offset = replay.base.offset,
				.anew = replay.base.anew };
	return e;
}

/* A failure is ignored; the next command tries again. */
bool beads_cut_alone(struct call *c, struct beads *b)
{
	struct call before = call_save(c);
	struct record r;
	AUTO_FD fd = -1;
	enum err e;

	if (!(e = cut_read_base(c, b, &r)) && !(e = beads_cut(c, b, &r, NULL, &fd)))
		e = journal_sync(c, b->home, fd);
	call_restore(c, &before);
	return !e;
}
