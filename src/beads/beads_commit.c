/*
 * A writer's changes. Each change is joined to the cache at once, inside a transaction, and all of
 * them become one record of the journal at the end. After a sync the journal also gets a record
 * that names the published commit, its base.
 */
#include "base/moment.h"
#include "base/system/file.h"
#include "beads/apply.h"
#include "beads/beads_parts.h"
#include "beads/lost.h"
#include "beads/model/limits.h"
#include "beads/model/state.h"
#include "beads/undo/before.h"

/* A bead whose last stamp is the latest possible one cannot be written to again: a wrong clock, or
 * somebody on purpose, has used up its stamps. */
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

/*
 * The record is in the journal before the cache is committed, so a crash between the two leaves a
 * record that the next command joins. A failure before the append leaves nothing.
 */
static enum err beads_write_record(struct call *c, struct beads *b, int *fd)
{
	struct undo_note undo = { .actor = c->actor, .before = b->before, .final = b->repairs };
	struct record record = { .change = b->change,
				 .undo = b->before ? &undo : NULL,
				 .receipts = &b->receipt,
				 .receipt_count = b->receipt.id.p ? 1 : 0 };
	struct str json;
	bool cuts;
	enum err e;

	b->receipt.at = beads_mark(c, b).at.ms; /* never goes back, unlike the wall clock */
	if ((e = beads_encode_record(c, &record, &json)))
		return e;
	beads_advance(c, b, b->change);
	lost_note(c, b);
	if ((e = beads_put_receipts(c, &b->cache, &record)) ||
	    (e = journal_append(c, b->home, &b->about.place, json, fd)))
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

enum err beads_settle(struct call *c, struct beads *b)
{
	enum err e = cache_commit(c, &b->cache); /* opening it may have joined records */

	b->committing = true;
	lock_drop(&b->lock);
	return e ? e : journal_sync_end(c, b->home, b->about.place);
}

enum err beads_commit(struct call *c, struct beads *b)
{
	AUTO_FD fd = -1;
	enum err e;

	if (b->forgotten)
		return ERR_OK;
	b->committing = true;
	if (record_empty(b->change) && !b->receipt.id.p)
		return beads_settle(c, b);
	if (!(e = beads_write_record(c, b, &fd)))
		call_stored(c, STORED_MAYBE); /* other processes may read it already */
	beads_end_writing(b);
	if (!e && !(e = journal_sync(c, b->home, fd)))
		call_stored(c, STORED_PART);
	return e;
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
		e = journal_append(c, b->home, &b->about.place, json, fd);
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
