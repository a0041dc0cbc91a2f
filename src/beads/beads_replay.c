#include "beads/beads_parts.h"
#include "beads/model/snapshot.h"
#include "beads/model/state.h"

enum err beads_not_a_record(struct call *c, const struct beads *b, const struct journal_record *r,
			    struct str why)
{
	call_fail(
		c, ERR_JOURNAL_LOST,
		"'" STR_FMT
		"/journal.%lld' has a record at byte %lld that this program cannot read: " STR_FMT,
		STR_ARG(b->home), (long long)r->segment, (long long)r->offset, STR_ARG(why));
	return call_remedy(c,
			   "Look whether a later version wrote it, and keep a copy of that folder");
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
