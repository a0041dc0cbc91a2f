#include "beads/beads.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "beads/apply.h"
#include "beads/config.h"
#include "beads/record.h"
#include "beads/state.h"

enum { WAIT_MS = 30000 };

static struct str in_home(struct call *c, const struct beads *b, const char *name)
{
	return path_join(&c->mem, b->home, str_of(name));
}

/* Where to look from: where the user stands, or the folder that was named. */
static enum err start(struct call *c, struct str *dir)
{
	struct str named =
		c->project.p ? path_resolve(&c->mem, c->dir, c->project) : c->dir;

	if (str_is(path_name(named), ".beads")) /* other tools keep theirs in there */
		named = path_parent(named);
	*dir = path_real(&c->mem, named);
	if (dir->p && file_is_dir(&c->mem, *dir))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a directory",
		  STR_ARG(named));
	return call_step(c, "Give --dir (or BEADS_DIR) a folder of a Git repository.");
}

enum err beads_home(struct call *c, struct beads *out)
{
	struct str dir;
	enum err e;

	*out = (struct beads){ .lock = LOCK_NONE };
	if ((e = start(c, &dir)) || (e = place_repository(c, dir, &out->repo)))
		return e;
	if (!out->repo.common.p)
		return call_fail(c, ERR_NOT_A_REPOSITORY,
				 "'" STR_FMT "' is not inside a Git repository",
				 STR_ARG(dir));
	out->home = path_join(&c->mem, out->repo.common, STR("abacus"));
	return ERR_OK;
}

static bool exists(struct call *c, const struct beads *b)
{
	return journal_exists(c, b->home);
}

static enum err not_initialized(struct call *c, const struct beads *b)
{
	call_fail(c, ERR_NOT_INITIALIZED, "there are no beads in '" STR_FMT "' yet",
		  STR_ARG(b->repo.tree));
	return call_step(c, "Run 'bd init' to begin; it touches none of your files.");
}

/* --- the journal into the cache --- */

static enum err not_a_record(struct call *c, const struct beads *b,
			     const struct journal_record *r, struct str why)
{
	call_fail(c, ERR_JOURNAL_LOST,
		  "'" STR_FMT
		  "/journal.%lld' has a record at byte %lld that this program "
		  "cannot read: " STR_FMT,
		  STR_ARG(b->home), (long long)r->segment, (long long)r->offset,
		  STR_ARG(why));
	return call_step(c,
			 "Nothing was changed. Was it written by a later version? Keep "
			 "a copy of that folder.");
}

static void advance(struct beads *b, const struct state *change)
{
	struct stamp clock = { b->about.clock_ms, b->about.clock_n };

	if (change->prefix_mark.by.p)
		b->about.prefix = change->prefix;
	if (stamp_cmp(change->clock, clock) > 0) {
		b->about.clock_ms = change->clock.ms;
		b->about.clock_n = change->clock.n;
	}
}

static enum err apply_record(struct call *c, const struct journal_record *r, void *arg)
{
	struct beads *b = arg;
	struct state *change = state_new(&c->mem);
	struct receipt receipt;
	struct str why;
	enum err e;

	if (!record_decode(arena_copy(&c->mem, r->json), change, &receipt, &why))
		return not_a_record(c, b, r, why);
	if ((e = apply_change(c, &b->cache, change, &b->about.beads)))
		return e;
	advance(b, change);
	return receipt.id.p ? cache_put_receipt(c, &b->cache, &receipt) : ERR_OK;
}

/* Somebody died between the two, or the cache lost its last pages. */
static enum err catch_up(struct call *c, struct beads *b)
{
	enum err e = journal_each(c, b->home, &b->about.place, apply_record, b);

	return e ? e : cache_about_put(c, &b->cache, &b->about);
}

struct replay {
	struct beads *b;
	struct state *all;
	struct cache *cache;  /* for the receipts; or NULL */
	struct arena scratch; /* for one record at a time */
};

static enum err replay_record(struct call *c, const struct journal_record *r, void *arg)
{
	struct replay *replay = arg;
	struct state *change;
	struct receipt receipt;
	struct str why;

	arena_reset(&replay->scratch);
	change = state_new(&replay->scratch);
	if (!record_decode(r->json, change, &receipt, &why))
		return not_a_record(c, replay->b, r, why);
	state_add(replay->all, change);
	if (receipt.id.p && replay->cache)
		return cache_put_receipt(c, replay->cache, &receipt);
	return ERR_OK;
}

static enum err replay_all(struct call *c, struct beads *b, struct cache *cache,
			   struct state **out)
{
	struct replay replay = { .b = b, .all = state_new(&c->mem), .cache = cache };
	struct journal_place place = { 0 };
	enum err e = journal_each(c, b->home, &place, replay_record, &replay);

	arena_release(&replay.scratch);
	b->about.place = place;
	*out = replay.all;
	return e;
}

enum err beads_replay(struct call *c, struct beads *b, struct state **out)
{
	return replay_all(c, b, NULL, out);
}

static enum err fill(struct call *c, struct beads *b)
{
	struct state *all;
	enum err e = replay_all(c, b, &b->cache, &all);

	if (e || (e = apply_all(c, &b->cache, all)))
		return e;
	b->about.prefix = all->prefix;
	b->about.clock_ms = all->clock.ms;
	b->about.clock_n = all->clock.n;
	b->about.beads = (int64_t)all->slots.count;
	return cache_about_put(c, &b->cache, &b->about);
}

/* Makes the cache anew; where nothing can be written, in memory, for this call. */
static enum err rebuild(struct call *c, struct beads *b, bool writable)
{
	struct str path = in_home(c, b, "cache.db");
	enum err e;

	c->code = ERR_OK;
	b->about = (struct cache_about){ 0 };
	e = writable ? cache_create(c, path, &b->cache) :
		       cache_create_private(c, &b->cache);
	if (!e && !(e = fill(c, b)))
		e = cache_install(c, &b->cache, path);
	if (e && b->cache.path.p && writable) {
		cache_close(&b->cache);
		unlink(arena_cstr(&c->mem, b->cache.path));
	}
	return e;
}

static enum err open_cache(struct call *c, struct beads *b, enum cache_mode mode)
{
	return cache_open(c, in_home(c, b, "cache.db"), mode, &b->cache, &b->about);
}

static enum err news(struct call *c, struct beads *b, enum journal_news *out)
{
	return journal_compare(c, b->home, b->about.place, out);
}

static bool unusable(enum err e)
{
	return e == ERR_DAMAGED || e == ERR_INTERNAL_ERROR;
}

/*
 * With the lock. If it is the journal that is damaged, this says so. Somebody may
 * remove the cache at any moment; if they go on doing so, one in memory has to do.
 */
static enum err open_rebuilt(struct call *c, struct beads *b, enum cache_mode mode)
{
	enum err e = ERR_DAMAGED;

	for (int tries = 0; unusable(e) && tries < 3; tries++) {
		cache_close(&b->cache);
		c->code = ERR_OK;
		if (!(e = rebuild(c, b, true)))
			e = open_cache(c, b, mode);
	}
	return unusable(e) ? rebuild(c, b, false) : e;
}

/* With the lock: a cache that is open for writing, and knows all of the journal. */
static enum err open_caught_up(struct call *c, struct beads *b)
{
	enum journal_news what = JOURNAL_SAME;
	enum err e = open_cache(c, b, CACHE_WRITE);

	if (!e)
		e = news(c, b, &what);
	if (!e && what == JOURNAL_MORE)
		e = catch_up(c, b);
	if (!unusable(e) && what != JOURNAL_AHEAD)
		return e;
	return open_rebuilt(c, b, CACHE_WRITE);
}

static enum err take_lock(struct call *c, struct beads *b)
{
	return lock_take(c, in_home(c, b, "lock"), WAIT_MS, &b->lock);
}

/* --- readers --- */

/* The cache has to be made or brought up to date first: that takes the lock. */
static enum err mend(struct call *c, struct beads *b)
{
	enum err e;

	cache_close(&b->cache);
	c->code = ERR_OK;
	if (access(arena_cstr(&c->mem, b->home), W_OK))
		return rebuild(c, b, false);
	if ((e = take_lock(c, b)))
		return e;
	e = open_caught_up(c, b);
	if (!e && b->cache.file) {
		cache_commit(c, &b->cache); /* if it fails, the next look tells */
		cache_close(&b->cache);
		if (unusable(e = open_cache(c, b, CACHE_READ)))
			e = open_rebuilt(c, b, CACHE_READ);
	}
	lock_drop(&b->lock);
	return e;
}

/*
 * Whoever has the lock has written a record, and is about to put it into the cache:
 * nobody was told of it yet, so it need not be seen. More than one: the cache is old.
 */
static bool being_written(struct call *c, struct beads *b)
{
	enum err e;

	if (!journal_one_follows(c, b->home, b->about.place))
		return false;
	e = lock_take(c, in_home(c, b, "lock"), 0, &b->lock);
	lock_drop(&b->lock);
	c->code = ERR_OK;
	return e == ERR_DATABASE_BUSY;
}

static enum err open_reader(struct call *c, struct beads *b, enum beads_mode mode)
{
	enum journal_news what = JOURNAL_SAME;
	enum err e = open_cache(c, b, mode == BEADS_STILL ? CACHE_STILL : CACHE_READ);

	if (!e)
		e = news(c, b, &what);
	if (!e && what == JOURNAL_MORE && b->cache.still) { /* as of one moment */
		cache_close(&b->cache);
		if (!(e = open_cache(c, b, CACHE_READ)))
			e = news(c, b, &what);
	}
	if (unusable(e) && !exists(c, b))
		return not_initialized(c, b);
	if (unusable(e) || (!e && what != JOURNAL_SAME &&
			    !(what == JOURNAL_MORE && being_written(c, b))))
		e = mend(c, b);
	return !e && !b->about.prefix.p ? not_initialized(c, b) : e;
}

/*
 * A writer lets the journal grow before it touches the cache, and the cache's log
 * is not empty while it does: with neither seen before and after, the file was as
 * it is. Who only catches up writes to the cache alone, but then it was not the
 * same as the journal to begin with.
 */
bool beads_undisturbed(struct call *c, const struct beads *b)
{
	enum journal_news what;

	if (!cache_current(c, &b->cache))
		return false;
	return !b->cache.still || (!journal_compare(c, b->home, b->about.place, &what) &&
				   what == JOURNAL_SAME && cache_quiet(c, b->cache.path));
}

/* --- writers --- */

static enum err begin_writing(struct call *c, struct beads *b)
{
	b->change = state_new(&c->mem);
	b->writing = true;
	return config_lease(c, b->home, &b->lease_ms);
}

static enum err open_writer(struct call *c, struct beads *b)
{
	enum err e;

	if (!file_is_dir(&c->mem, b->home))
		return not_initialized(c, b);
	if ((e = take_lock(c, b)))
		return e;
	if (!file_exists(&c->mem, in_home(c, b, "cache.db")) && !exists(c, b))
		return not_initialized(c, b);
	if ((e = open_caught_up(c, b)))
		return e;
	if (!b->about.prefix.p)
		return not_initialized(c, b);
	return begin_writing(c, b);
}

enum err beads_open(struct call *c, enum beads_mode mode, struct beads *out)
{
	enum err e = beads_home(c, out);

	if (!e)
		e = mode == BEADS_WRITE ? open_writer(c, out) : open_reader(c, out, mode);
	if (e)
		beads_close(out);
	return e;
}

enum err beads_open_new(struct call *c, struct beads *out)
{
	enum err e;

	if ((e = beads_home(c, out)) || (e = file_make_dir(c, out->home, 0700)) ||
	    (e = take_lock(c, out)) || (e = open_caught_up(c, out))) {
		beads_close(out);
		return e;
	}
	if ((e = begin_writing(c, out)))
		beads_close(out);
	return e;
}

void beads_close(struct beads *b)
{
	cache_close(&b->cache);
	lock_drop(&b->lock);
	b->writing = false;
}

struct mark beads_mark(struct call *c, const struct beads *b)
{
	struct stamp last = { b->about.clock_ms, b->about.clock_n };

	return (struct mark){ stamp_next(last, c->now_ms), c->actor };
}

enum err beads_put(struct call *c, struct beads *b, struct state *change)
{
	enum err e;

	if (record_empty(change))
		return ERR_OK;
	if ((e = apply_change(c, &b->cache, change, &b->about.beads)))
		return e;
	if (change->prefix_mark.by.p)
		b->about.prefix = change->prefix;
	state_add(b->change, change);
	return ERR_OK;
}

void beads_forget(struct beads *b)
{
	b->forgotten = true;
}

/*
 * The record is in the journal before the cache says so: a crash between the two
 * leaves a record to catch up with. What fails before the end is taken back.
 */
static enum err write_record(struct call *c, struct beads *b, int *fd)
{
	bool receipt = b->receipt.id.p;
	struct receipt again;
	struct str why;
	struct str json = record_encode(c, b->change, receipt ? &b->receipt : NULL);
	enum err e;

	if (!record_decode(json, state_new(&c->mem), &again, &why))
		return call_fail(c, ERR_INVALID_INPUT,
				 "this change could not be read back: " STR_FMT,
				 STR_ARG(why));
	advance(b, b->change);
	if ((receipt && (e = cache_put_receipt(c, &b->cache, &b->receipt))) ||
	    (e = journal_append(c, b->home, &b->about.place, json, fd)))
		return e;
	if (cache_about_put(c, &b->cache, &b->about) || cache_commit(c, &b->cache)) {
		c->code =
			ERR_OK; /* the record counts; whoever comes next makes a cache */
		file_remove(c, b->cache.path);
	}
	c->code = ERR_OK;
	return ERR_OK;
}

enum err beads_settle(struct call *c, struct beads *b)
{
	enum err e = cache_commit(c, &b->cache); /* it may have caught up */

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
	e = write_record(c, b, &fd);
	lock_drop(&b->lock);
	b->writing = false;
	return e ? e : journal_sync(c, b->home, fd);
}

enum err beads_distrust(struct call *c, struct beads *b)
{
	struct str path = in_home(c, b, "cache.db");
	enum err e = take_lock(c, b);

	if (!e && cache_current(c, &b->cache))
		e = file_remove(c, path);
	lock_drop(&b->lock);
	return e;
}
