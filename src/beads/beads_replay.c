/*
 * The state of a store without the cache: the published commit that the journal builds on, joined
 * with the records after it.
 */
#include "beads/beads_parts.h"
#include "beads/config.h"
#include "beads/git_process.h"
#include "beads/model/lines.h"
#include "beads/model/merge.h"
#include "beads/model/snapshot.h"
#include "beads/model/state.h"
#include "beads/repair/validate.h"

enum err beads_not_a_record(struct call *c, const struct beads *b, const struct journal_record *r,
			    struct str why)
{
	call_fail(
		c, ERR_JOURNAL_LOST,
		"'" STR_FMT
		"/journal.%lld' has a record at byte %lld that this program cannot read: " STR_FMT,
		STR_ARG(b->home), (long long)r->segment, (long long)r->offset, STR_ARG(why));
	return call_remedy(c, "Check whether a newer version wrote it, and keep a copy of that "
			      "folder");
}

enum err replay_decode(struct call *c, struct replay *replay, const struct journal_record *r,
		       struct record *out)
{
	struct str why;

	arena_reset(&replay->scratch);
	*out = (struct record){ .change = state_new(&replay->scratch) };
	if (!record_decode(r->json, out, &why))
		return beads_not_a_record(c, replay->b, r, why);
	out->change->prefix_mark = mark_within(out->change->prefix_mark, beads_horizon(c));
	return ERR_OK;
}

enum err replay_find_base(struct call *c, const struct journal_record *r, void *arg)
{
	struct replay *replay = arg;
	struct record record;
	enum err e;

	if (!replay->oldest)
		replay->oldest = r->segment;
	if (!record_is_base(r->json))
		return ERR_OK;
	if ((e = replay_decode(c, replay, r, &record)))
		return e;
	if (!replay->cut.segment && record.segment == r->segment && !record.offset)
		replay->cut = (struct journal_place){ .segment = r->segment,
						      .offset = r->offset + (int64_t)r->json.n };
	record.base = arena_copy(&c->mem, record.base);
	record.change = NULL;
	record.receipt_count = 0;
	replay->base = record;
	return ERR_OK;
}

bool replay_has(const struct replay *replay, const struct journal_record *r)
{
	const struct record *base = &replay->base;

	return (base->base.p || base->anew) &&
	       (record_is_base(r->json) || r->segment < base->segment ||
		(r->segment == base->segment && r->offset < base->offset));
}

void replay_add(struct call *c, struct replay *replay, const struct record *r)
{
	replay->count += r->joined ? r->joined : 1;
	if (!replay->oldest_ms) /* the record of a first prefix has no time */
		replay->oldest_ms =
			r->joined ? r->since_ms : state_clock(r->change, beads_horizon(c)).ms;
	state_add(replay->since, r->change);
}

static enum err replay_record(struct call *c, const struct journal_record *r, void *arg)
{
	struct replay *replay = arg;
	struct record record;
	bool known = replay_has(replay, r);
	enum err e;

	if (known && !replay->cache)
		return ERR_OK;
	if ((e = replay_decode(c, replay, r, &record)))
		return e;
	if (!known)
		replay_add(c, replay, &record);
	return replay->cache ? beads_put_receipts(c, replay->cache, &record) : ERR_OK;
}

static enum err replay_each(struct call *c, struct replay *replay, struct journal_place *place,
			    journal_visit *visit)
{
	enum err e = journal_each(c, replay->b->home, place, visit, replay);

	if (e != ERR_JOURNAL_LOST || !replay->lenient)
		return e;
	return call_forgive(c);
}

/* Two passes, because records that the base has must not be joined again: the base may have
 * forgotten deletions that are in them. */
enum err replay_all(struct call *c, struct replay *replay)
{
	struct journal_place place = { 0 }, again = { 0 };
	struct beads *b = replay->b;
	enum err e;

	replay->since = state_new(&c->mem);
	e = replay_each(c, replay, &place, replay_find_base);
	/* a missing segment may only have had records that are in the base */
	if (!e && !replay->lenient && replay->oldest > 1 && replay->base.segment < replay->oldest)
		e = journal_missing(c, b->home, replay->oldest - 1);
	if (!e)
		e = replay_each(c, replay, &again, replay_record);
	arena_release(&replay->scratch);
	b->about.place = again;
	b->about.cut_segment = replay->cut.segment ? replay->cut.segment : replay->oldest;
	b->about.cut_offset = replay->cut.offset;
	return e;
}

/* --- the base commit --- */

/*
 * Finds the published commit that the journal builds on. The last base record of the journal names
 * it. A journal whose end was lost has an older base record or none, but the ref still has what
 * was published. So the commit of the ref is used if it is a descendant of the base.
 */

/* The files that the journal knows: its base commit joined with its records. */
static enum err base_read_known(struct call *c, const struct replay *replay, struct snapshot *out)
{
	struct merge m = { .c = c, .sides = 1, .change = replay->since };
	enum err e;

	if (!replay->base.base.p) {
		*out = snapshot_encode(&c->mem, replay->since);
		return ERR_OK;
	}
	if ((e = git_process_read(c, replay->b->repo.common, replay->base.base, &m.side[0])) ||
	    (e = merge_run(&m)))
		return e;
	*out = merge_files(&m);
	return ERR_OK;
}

struct base_unknown {
	const struct snapshot *known;
	struct arena scratch;
	bool found;
};

static enum err base_compare(void *arg, const struct line_pair *pair)
{
	struct base_unknown *u = arg;
	struct str gone = u->known->file[FILE_TOMBSTONES];

	arena_reset(&u->scratch);
	u->found = !pair->a.p && !lines_find(&u->scratch, FILE_TOMBSTONES, gone, pair->key).n;
	return u->found ? ERR_DAMAGED : ERR_OK; /* one such bead is enough */
}

/* A bead that the journal does not know is news. Looking for one first avoids a costly join where
 * there are very many. */
static bool base_has_unknown_bead(const struct snapshot *known, const struct snapshot *commit)
{
	struct base_unknown u = { .known = known };
	struct arena mem = { 0 };
	struct str why;
	size_t number;

	lines_diff(&mem, FILE_STATE, known->file[FILE_STATE], commit->file[FILE_STATE],
		   base_compare, &u, &number, &why);
	arena_release(&mem);
	arena_release(&u.scratch);
	return u.found;
}

/* Does the commit have anything that the journal lacks? */
static enum err base_has_news(struct call *c, const struct replay *replay,
			      const struct snapshot *commit, bool *news)
{
	struct merge m = { .c = c, .side[1] = *commit, .sides = 2 };
	enum err e = base_read_known(c, replay, &m.side[0]);

	*news = !e && base_has_unknown_bead(&m.side[0], commit);
	if (e || *news)
		return e;
	e = merge_run(&m);
	*news = m.count;
	return e;
}

static void base_warn(struct call *c, struct str ref, struct str commit)
{
	c->warning = arena_fmt(&c->mem,
			       "the journal does not reach commit %.10s of '" STR_FMT
			       "': its last records are missing, or the ref was moved. The "
			       "published beads are shown; unpublished changes may be lost. Run "
			       "'bd sync' to continue from that commit.",
			       commit.p, STR_ARG(ref));
}

/* Reads the commit of the ref, and whether it has news. It counts if it is valid and a descendant
 * of the base. */
static enum err base_read_tip(struct call *c, const struct replay *replay, struct str ref,
			      struct snapshot *out, bool *news)
{
	struct str base = replay->base.base;
	enum err e = git_process_read_latest(c, replay->b->repo.common, base, ref, out);

	*news = false;
	if (e || str_eq(out->commit, base))
		return e;
	if ((e = validate_usable(c, out, state_new(&c->mem))))
		return e;
	return base_has_news(c, replay, out, news);
}

/* The files of the base commit, or of the commit of the ref if the end of the journal is lost;
 * then a warning says that changes may be lost. `commit` is absent if nothing was published. */
static enum err base_read(struct call *c, const struct replay *replay, struct snapshot *out)
{
	const struct beads *b = replay->b;
	struct str ref, base = replay->base.base;
	bool news;
	enum err e = config_get(c, b->home, CONFIG_SYNC_REF, &ref);

	*out = (struct snapshot){ 0 };
	/* a journal without records belongs to a new store, or is damaged */
	if (e || (!base.p &&
		  ((!replay->oldest && !replay->lenient) || !place_has_ref(c, &b->repo, ref))))
		return e;
	e = base_read_tip(c, replay, ref, out, &news);
	if (!e && news && !replay->lenient)
		base_warn(c, ref, out->commit);
	if (!base.p || (!e && (news || str_eq(out->commit, base))))
		return e;
	/* the ref has nothing new, or 'bd doctor' reports what is wrong with it */
	call_forgive(c);
	return git_process_read(c, b->repo.common, base, out);
}

/* --- both, joined --- */

enum err beads_join_files(struct call *c, const struct snapshot *base, const struct state *since,
			  struct state *out)
{
	enum err e = base->commit.p ? snapshot_read(c, base, out) : ERR_OK;

	if (!e)
		state_add(out, since);
	return e;
}

enum err replay_join(struct call *c, struct replay *replay, struct state **out)
{
	struct snapshot files;
	enum err e;

	*out = replay->since;
	if ((e = base_read(c, replay, &files)) || !files.commit.p)
		return e;
	*out = state_new(&c->mem);
	return beads_join_files(c, &files, replay->since, *out);
}

enum err beads_replay(struct call *c, struct beads *b, const struct snapshot *tip,
		      struct snapshot *base, struct state **since)
{
	struct replay replay = { .b = b };
	enum err e = replay_all(c, &replay);

	*since = replay.since;
	*base = (struct snapshot){ 0 };
	if (e)
		return e;
	if (!tip || !tip->commit.p || !str_eq(tip->commit, replay.base.base))
		return base_read(c, &replay, base);
	*base = *tip;
	return ERR_OK;
}

enum err beads_pending(struct call *c, struct beads *b, struct pending *out)
{
	struct cache_about known = b->about;
	struct replay replay = { .b = b, .lenient = b->damaged };
	enum err e = replay_all(c, &replay);

	*out = (struct pending){ .base = replay.base.base,
				 .segment = replay.base.segment,
				 .offset = replay.base.offset,
				 .change = replay.since,
				 .records = replay.count,
				 .oldest_ms = replay.oldest_ms };
	if (b->cache.db)
		b->about = known;
	return e;
}

enum err beads_since(struct call *c, struct beads *b, const struct record *base, struct state **out)
{
	struct replay replay = { .b = b, .base = *base, .since = state_new(&c->mem) };
	struct journal_place place = { 0 };
	enum err e = journal_each(c, b->home, &place, replay_record, &replay);

	arena_release(&replay.scratch);
	*out = replay.since;
	return e;
}
