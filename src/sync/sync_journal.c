/*
 * The journal's part in a sync. Sealing notes where the journal ends, so that commands can go on
 * writing during the sync; rebasing then makes a commit the new base, and the journal keeps only
 * the records after the sealed place.
 */
#include "base/text/value.h"
#include "beads/model/lines.h"
#include "beads/model/record.h"
#include "sync/commits.h"
#include "sync/sync_parts.h"

static enum err sync_journal_open_writer(struct sync *s)
{
	return s->wants->begin ? beads_open_new(s->c, HOME_ANY, &s->b) :
				 beads_open(s->c, BEADS_WRITE, &s->b);
}

enum err sync_seal(struct sync *s)
{
	struct call *c = s->c;
	enum err e = sync_journal_open_writer(s);

	if (e)
		return e;
	s->sealed = s->b.about.place;
	if (!(e = beads_pending(c, &s->b, &s->pending)))
		e = beads_settle(c, &s->b);
	beads_close(&s->b);
	s->base = s->pending.base;
	return e;
}

bool sync_still_sealed(const struct sync *s)
{
	return s->b.about.place.segment == s->sealed.segment &&
	       s->b.about.place.offset == s->sealed.offset;
}

/* Reads the bead, and its tombstone, from a commit. */
static void read_again(struct call *c, const struct snapshot *old, struct str id,
		       struct state *again)
{
	struct str why,
		tombstone = lines_find(&c->mem, FILE_TOMBSTONES, old->file[FILE_TOMBSTONES], id),
		line = lines_find(&c->mem, FILE_STATE, old->file[FILE_STATE], id);

	if (tombstone.n)
		state_read_tombstone(again, value_read(&c->mem, tombstone), &why);
	if (line.n)
		state_read_bead(again, value_read(&c->mem, line), &why);
}

/*
 * A bead may be gone from the new base although the journal has changes to it that the new base
 * lacks. Such a bead is written back whole from the old base, because the changes alone are not a
 * complete bead. Records that the new base contains, such as the deletion itself, do not count.
 */
static enum err keep_written(struct sync *s, const struct record *r, const struct news *news,
			     struct state *again)
{
	struct call *c = s->c;
	struct snapshot old = { 0 };
	struct state *since;
	struct pending now;
	enum err e;

	if (!news->gone.count)
		return ERR_OK;
	if ((e = beads_pending(c, &s->b, &now)) || (e = beads_since(c, &s->b, r, &since)) ||
	    (e = commit_read(c, s->repo, now.base, &old)))
		return e;
	for (size_t i = 0; i < news->gone.count; i++) {
		struct str id = news->gone.entry[i].key;
		const struct slot *slot = state_find(since, id);

		if (slot && slot->bead)
			read_again(c, &old, id, again);
	}
	return ERR_OK;
}

/*
 * Checks the records that were written after the journal was sealed. The caller has the writer's
 * lock, so no further record can come in between.
 */
static enum err check_late(struct sync *s, const struct record *r)
{
	struct call *c = s->c;
	struct snapshot files;
	struct state *since;
	enum err e;

	if (sync_still_sealed(s))
		return ERR_OK;
	if ((e = beads_since(c, &s->b, r, &since)) ||
	    (e = commit_read(c, s->repo, r->base, &files)))
		return e;
	return sync_fits_change(s, &files, NULL, since);
}

enum err sync_rebase(struct sync *s, struct str commit, struct journal_place upto,
		     const struct news *news)
{
	struct call *c = s->c;
	bool whole = news_too_many(news) || news->forgets;
	struct record r = { .change = whole ? state_new(&c->mem) : news->change,
			    .base = commit,
			    .segment = upto.segment,
			    .offset = upto.offset,
			    .whole = whole };
	size_t written = 0;
	enum err e;

	for (;;) {
		struct state *again = state_new(&c->mem);

		if ((e = sync_journal_open_writer(s)))
			return e;
		if ((e = check_late(s, &r)) || (e = keep_written(s, &r, news, again)) ||
		    again->slots.count == written)
			break;
		/* written before the new base, so that a crash between the two loses no bead */
		if ((e = beads_put(c, &s->b, again)) || (e = beads_commit(c, &s->b)))
			break;
		written = again->slots.count;
		beads_close(&s->b);
	}
	if (!e)
		e = beads_rebase(c, &s->b, &r);
	beads_close(&s->b);
	return e;
}

enum err sync_hold(struct sync *s)
{
	enum err e = sync_journal_open_writer(s);

	if (e || sync_still_sealed(s))
		return e;
	beads_close(&s->b);
	call_fail(s->c, ERR_SYNC_FAILED, "another command has written in the meantime");
	return call_step(s->c, "Run 'bd repair --apply' again.");
}

enum err sync_restart(struct sync *s, struct str commit, struct state *pending)
{
	struct record r = { .change = state_new(&s->c->mem), .base = commit, .whole = true };
	enum err e = beads_restart(s->c, &s->b, &r, pending);

	s->base = commit;
	s->sealed = s->b.about.place;
	return e;
}
