/*
 * A writer's changes. Each change is joined to the cache at once, inside a transaction, and all of
 * them become one record of the journal at the end. After a sync the journal also gets a record
 * that names the published commit, its base.
 */
#include "base/moment.h"
#include "base/system/file.h"
#include "beads/apply.h"
#include "beads/autosync.h"
#include "beads/beads_parts.h"
#include "beads/lost.h"
#include "beads/model/limits.h"
#include "beads/model/state.h"
#include "beads/undo/before.h"
#include "store/db/db.h"

/*
 * A bead whose last stamp is the latest possible one cannot be written again: a wrong clock, or an
 * attacker, has used up its stamps.
 */
static enum err beads_refuse_after_end(struct call *c, struct str id)
{
	call_fail(c, ERR_INVALID_INPUT,
		  "'" STR_FMT
		  "' has the highest possible stamp (%s), so nothing can be written after it",
		  STR_ARG(id), moment_format(&c->mem, MOMENT_LAST).p);
	return call_step(
		c, "Run 'bd repair --stamps --apply', which copies it to a new bead and deletes "
		   "this one.");
}

/* Checks the change alone; apply_write() checks the beads that it results in. */
static enum err beads_check_slot(struct call *c, const struct slot *slot)
{
	size_t labels = 0;

	if (!slot->bead)
		return ERR_OK;
	if (!stamp_valid(bead_top(slot->bead).at))
		return beads_refuse_after_end(c, slot->id);
	bead_labels(&c->mem, slot->bead, &labels);
	if (labels <= LIMIT_LABELS)
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT,
		  "'" STR_FMT "' would have %zu labels, and at most %d are "
		  "allowed",
		  STR_ARG(slot->id), labels, LIMIT_LABELS);
	return call_step(c, "Remove labels that are not needed.");
}

enum err beads_put(struct call *c, struct beads *b, struct state *change)
{
	enum err e;

	if (record_empty(change))
		return ERR_OK;
	for (size_t i = 0; i < change->slots.count; i++)
		if ((e = beads_check_slot(c, change->slots.entry[i].value)))
			return e;
	if ((e = before_note(c, b, change)) ||
	    (e = apply_write(c, &b->cache, change, b->repairs ? APPLY_REPAIR : APPLY_COMMAND,
			     &b->about.beads)))
		return e;
	beads_choose_prefix(c, b, change);
	state_add(b->change, change);
	return ERR_OK;
}

void beads_forget(struct beads *b)
{
	b->forgotten = true;
}

/* The text of this command's record, whose receipt and stamps are in the cache from now on. */
static enum err beads_make_record(struct call *c, struct beads *b, struct str *json)
{
	struct undo_note undo = { .actor = c->actor, .before = b->before, .final = b->repairs };
	struct record record = { .change = b->change,
				 .undo = b->before ? &undo : NULL,
				 .receipts = &b->receipt,
				 .receipt_count = b->receipt.id.p ? 1 : 0 };
	enum err e;

	b->receipt.at = beads_mark(c, b).at.ms; /* never goes back, unlike the wall clock */
	if ((e = beads_encode_record(c, &record, json)))
		return e;
	beads_advance(c, b, b->change);
	lost_note(c, b);
	return beads_put_receipts(c, &b->cache, &record);
}

/*
 * The records are in the journal before the cache is committed, so a crash between the two leaves
 * records that the next command joins. A failure before the append leaves nothing.
 */
static enum err beads_store_records(struct call *c, struct beads *b, const struct str *json,
				    size_t count, int *fd)
{
	enum err e = journal_append(c, b->home, &b->about.place, json, count, fd);
	bool cuts;

	if (e)
		return e;
	cuts = !b->imports && beads_cut_due_writer(b) && beads_cut_alone(c, b);
	if (cache_about_put(c, &b->cache, &b->about) || cache_commit(c, &b->cache)) {
		call_forgive(c); /* the record counts; the next command builds the cache */
		file_remove(c, b->cache.path);
	}
	if (cuts) /* a follower of the journal may have read the old segment until now */
		journal_drop(c, b->home, b->about.place.segment - 1);
	return call_forgive(c);
}

static void beads_end_writing(struct beads *b)
{
	lock_drop(&b->lock);
	b->writing = false;
}

/* Appends these records, commits the cache, releases the lock, and syncs the journal. */
static enum err beads_store(struct call *c, struct beads *b, const struct str *json, size_t count)
{
	AUTO_FD fd = -1;
	enum err e = beads_store_records(c, b, json, count, &fd);

	if (!e)
		call_stored(c, STORED_MAYBE); /* other processes may read them already */
	beads_end_writing(b);
	if (!e && !(e = journal_sync(c, b->home, fd)))
		call_stored(c, STORED_PART);
	return e;
}

enum err beads_settle(struct call *c, struct beads *b)
{
	enum err e;

	b->committing = true;
	if (b->group) /* its end syncs the journal in any case */
		return ERR_OK;
	e = cache_commit(c, &b->cache); /* opening it may have joined records */
	lock_drop(&b->lock);
	return e ? e : journal_sync_end(c, b->home, b->about.place);
}

enum err beads_commit(struct call *c, struct beads *b)
{
	struct str json;
	enum err e;

	if (b->forgotten)
		return ERR_OK;
	b->committing = true;
	if (record_empty(b->change) && !b->receipt.id.p)
		return beads_settle(c, b);
	if ((e = beads_make_record(c, b, &json)))
		beads_end_writing(b);
	else if (b->group)
		beads_group_add(b, json);
	else
		e = beads_store(c, b, &json, 1);
	return e;
}

/* --- several commands at once --- */

/*
 * The records of a group are kept in memory until its end: the journal never has a record whose
 * command is still running, and a crash before the end leaves nothing. If a command fails after it
 * changed the cache, the whole transaction is rolled back; the next command joins the records from
 * the journal, as after a crash.
 */
enum { RECORDS_MOST = 256 * 1024 }; /* bytes of records; then the group ends */

static enum err group_open(struct call *c, struct write_group *g)
{
	enum err e;

	g->call = call_part(c);
	g->call.group = NULL;
	if ((e = beads_open(&g->call, BEADS_WRITE, &g->b))) {
		call_part_end(c, &g->call, e);
		*g = (struct write_group){ 0 };
		return e;
	}
	g->changes = db_total_changes(g->b.cache.db);
	g->open = true;
	if (g->call.warning.p)
		c->warning = arena_copy(&c->mem, g->call.warning);
	return ERR_OK;
}

enum err beads_group_join(struct call *c, struct beads *out)
{
	struct write_group *g = c->group;
	enum err e = g->open ? ERR_OK : group_open(c, g);

	*out = (struct beads){ .lock = LOCK_NONE };
	if (e)
		return e;
	*out = g->b;
	out->lock = (struct lock)LOCK_NONE;
	out->change = state_new(&c->mem);
	out->group = g;
	c->home = out->home;
	return ERR_OK;
}

void beads_group_add(struct beads *b, struct str json)
{
	struct write_group *g = b->group;

	g->record = arena_room(&g->call.mem, g->record, g->count, sizeof *g->record);
	g->record[g->count++] = json;
	g->b.about = b->about;
	g->b.about.prefix = arena_copy(&g->call.mem, b->about.prefix);
	g->b.about.prefix_mark = arena_copy(&g->call.mem, b->about.prefix_mark);
	g->changes = db_total_changes(b->cache.db);
}

void beads_group_leave(struct beads *b)
{
	struct write_group *g = b->group;

	g->spoilt = g->spoilt || db_total_changes(b->cache.db) != g->changes;
	b->group = NULL;
	b->writing = false;
}

bool beads_group_full(const struct write_group *g)
{
	size_t bytes = 0;

	for (size_t i = 0; i < g->count; i++)
		bytes += g->record[i].n;
	return !g->open || g->spoilt || bytes > RECORDS_MOST;
}

/* A command that failed left changes in the cache's transaction. */
static enum err group_store_spoilt(struct call *c, struct write_group *g)
{
	AUTO_FD fd = -1;
	enum err e = ERR_OK;

	cache_close(&g->b.cache);
	if (g->count)
		e = journal_append(c, g->b.home, &g->b.about.place, g->record, g->count, &fd);
	if (!e && g->count)
		call_stored(c, STORED_MAYBE);
	lock_drop(&g->b.lock);
	return e ? e : journal_sync_end(c, g->b.home, g->b.about.place);
}

enum err beads_group_end(struct write_group *g)
{
	struct call *c = &g->call;
	enum err e;

	if (!g->open)
		return c->code;
	g->open = false;
	e = g->spoilt ? group_store_spoilt(c, g) :
	    g->count  ? beads_store(c, &g->b, g->record, g->count) :
			beads_settle(c, &g->b);
	beads_close(&g->b);
	if (!e && g->count)
		autosync_start(c, &g->b);
	return e;
}

void beads_group_release(struct write_group *g)
{
	call_release(&g->call);
	*g = (struct write_group){ 0 };
}

/* --- after a sync --- */

static enum err beads_write_base(struct call *c, struct beads *b, struct record *r, bool cuts,
				 int *fd)
{
	struct str json;
	enum err e = r->whole ? ERR_OK : beads_apply(c, b, r);

	if (e)
		return e;
	if (cuts)
		e = beads_cut(c, b, r, NULL, fd);
	else if (!(e = beads_encode_record(c, r, &json)))
		e = journal_append(c, b->home, &b->about.place, &json, 1, fd);
	if (e)
		return e;
	if (r->whole || cache_about_put(c, &b->cache, &b->about) || cache_commit(c, &b->cache)) {
		call_forgive(c); /* as after a crash, the next command builds the cache */
		e = beads_drop_cache(c, b);
	}
	return e;
}

enum err beads_rebase(struct call *c, struct beads *b, struct record *r)
{
	AUTO_FD fd = -1;
	bool cuts = beads_cut_due_sync(b);
	enum err e;

	if (!(e = beads_write_base(c, b, r, cuts, &fd)))
		e = journal_sync(c, b->home, fd);
	if (!e && cuts) /* with the lock, so that no reader is in the old segments */
		e = journal_drop(c, b->home, b->about.place.segment);
	beads_end_writing(b);
	return e;
}

enum err beads_restart(struct call *c, struct beads *b, struct record *r, struct state *pending)
{
	AUTO_FD fd = -1;
	enum err e = beads_cut(c, b, r, pending, &fd);

	if (!e && !(e = beads_drop_cache(c, b)) && !(e = journal_sync(c, b->home, fd)))
		e = journal_drop(c, b->home, b->about.place.segment);
	beads_end_writing(b);
	return e;
}
