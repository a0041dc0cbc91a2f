/*
 * The cache, brought up to date with the journal. Usually it lacks nothing; after a crash it lacks
 * the last records, which are joined to it; a cache that cannot be used is built again from the
 * published commit and the whole journal.
 */
#include <unistd.h>

#include "base/id.h"
#include "base/system/file.h"
#include "beads/apply.h"
#include "beads/beads_parts.h"
#include "beads/model/state.h"

enum err beads_put_receipts(struct call *c, struct cache *cache, const struct record *r)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < r->receipt_count; i++)
		e = cache_put_receipt(c, cache, &r->receipts[i]);
	return e;
}

enum err beads_apply(struct call *c, struct beads *b, const struct record *r)
{
	enum err e = apply_change(c, &b->cache, r->change, &b->about.beads);

	if (e)
		return e;
	beads_advance(c, b, r->change);
	return beads_put_receipts(c, &b->cache, r);
}

static enum err beads_apply_record(struct call *c, const struct journal_record *r, void *arg)
{
	struct beads *b = arg;
	struct record record = { .change = state_new(&c->mem) };
	struct str why;

	if (!record_decode(arena_copy(&c->mem, r->json), &record, &why))
		return beads_not_a_record(c, b, r, why);
	if (record.whole)
		return call_fail(c, ERR_DAMAGED, "the cache is too old to catch up");
	return beads_apply(c, b, &record);
}

/* Joins the records that the cache lacks: a process died after it had written them to the journal,
 * or the last pages of the cache were lost. */
static enum err beads_catch_up(struct call *c, struct beads *b)
{
	enum err e = journal_each(c, b->home, &b->about.place, beads_apply_record, b);

	return e ? e : cache_about_put(c, &b->cache, &b->about);
}

static enum err beads_fill(struct call *c, struct beads *b)
{
	struct replay replay = { .b = b, .cache = &b->cache };
	struct state *all;
	enum err e;

	if ((e = replay_all(c, &replay)) || (e = replay_join(c, &replay, &all)) ||
	    (e = apply_all(c, &b->cache, all)))
		return e;
	beads_learn(c, b, all);
	return cache_about_put(c, &b->cache, &b->about);
}

/* The state of all beads is several times as large as the cache, and not needed once it is filled:
 * if the disk is full, a second cache is made in memory. */
static enum err beads_fill_in_part(struct call *c, struct beads *b)
{
	struct call part = call_part(c);
	enum err e = beads_fill(&part, b);

	b->about.prefix = arena_copy(&c->mem, b->about.prefix);
	b->about.prefix_mark = arena_copy(&c->mem, b->about.prefix_mark);
	return call_part_end(c, &part, e);
}

enum err beads_rebuild(struct call *c, struct beads *b, bool writable)
{
	struct str path = beads_path(c, b, "cache.db");
	enum err e;

	call_forgive(c);
	b->about = (struct cache_about){ 0 };
	e = writable ? cache_create(c, path, &b->cache) : cache_create_private(c, &b->cache);
	if (!e && !(e = beads_fill_in_part(c, b)))
		e = cache_install(c, &b->cache, path);
	if (e && b->cache.path.p && writable) {
		cache_close(&b->cache);
		unlink(arena_cstr(&c->mem, b->cache.path));
	}
	return e;
}

enum err beads_fill_private(struct call *c, struct beads *b, struct state *all)
{
	enum err e;

	if ((e = cache_create_private(c, &b->cache)) || (e = apply_all(c, &b->cache, all)) ||
	    (e = cache_install(c, &b->cache, b->cache.path)))
		return e;
	beads_learn(c, b, all);
	return ERR_OK;
}

enum err beads_open_cache(struct call *c, struct beads *b, enum cache_mode mode)
{
	return cache_open(c, beads_path(c, b, "cache.db"), mode, &b->cache, &b->about);
}

enum err beads_compare(struct call *c, struct beads *b, enum journal_news *out)
{
	return journal_compare(c, b->home, b->about.place, out);
}

bool beads_unusable(enum err e)
{
	return e == ERR_DAMAGED || e == ERR_INTERNAL_ERROR;
}

/* The user may remove the cache at any moment. If it is gone three times in a row, this command
 * uses a cache in memory. */
enum err beads_open_rebuilt(struct call *c, struct beads *b, enum cache_mode mode)
{
	enum err e = ERR_DAMAGED;

	for (int tries = 0; beads_unusable(e) && tries < 3; tries++) {
		cache_close(&b->cache);
		call_forgive(c);
		if (!(e = beads_rebuild(c, b, true)))
			e = beads_open_cache(c, b, mode);
	}
	return beads_unusable(e) ? beads_rebuild(c, b, false) : e;
}

/* The cache has records that are missing at the end of the journal. The journal decides, so the
 * cache is built again; its file is kept, because it may be the only copy of those records. */
static void beads_set_longer_cache_aside(struct call *c, struct beads *b)
{
	struct str kept = { 0 }, path = beads_path(c, b, "cache.db");
	struct journal_place known = b->about.place;

	cache_close(&b->cache);
	if (cache_set_aside(c, path, id_mint(&c->mem, "ahead", c->now_ms), &kept))
		call_forgive(c); /* the new cache replaces the file anyway */
	call_warn(c,
		  "'" STR_FMT
		  "/journal.%lld' ends before byte %lld, although the cache has records up to "
		  "there: its last records are missing. The cache was rebuilt; the old one is kept "
		  "as '" STR_FMT "'",
		  STR_ARG(b->home), (long long)known.segment, (long long)known.offset,
		  STR_ARG(kept));
}

enum err beads_open_caught_up(struct call *c, struct beads *b)
{
	enum journal_news what = JOURNAL_SAME;
	enum err e = beads_open_cache(c, b, CACHE_WRITE);

	if (!e)
		e = beads_compare(c, b, &what);
	if (!e && what == JOURNAL_MORE)
		e = beads_catch_up(c, b);
	if (!beads_unusable(e) && what < JOURNAL_AHEAD)
		return e;
	if (what == JOURNAL_SHORTER)
		beads_set_longer_cache_aside(c, b);
	return beads_open_rebuilt(c, b, CACHE_WRITE);
}

enum err beads_drop_cache(struct call *c, struct beads *b)
{
	cache_close(&b->cache);
	return file_remove(c, beads_path(c, b, "cache.db"));
}

enum err beads_distrust(struct call *c, struct beads *b)
{
	enum err e = beads_moved(c, b) ? ERR_OK : beads_take_lock(c, b);

	if (b->lock.fd >= 0 && cache_current(c, &b->cache))
		e = file_remove(c, beads_path(c, b, "cache.db"));
	lock_drop(&b->lock);
	return e;
}
