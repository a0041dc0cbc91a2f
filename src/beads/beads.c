#include "beads/beads.h"

#include <errno.h>
#include <unistd.h>

#include "base/id.h"
#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/apply.h"
#include "beads/beads_parts.h"
#include "beads/config.h"
#include "beads/git_process.h"
#include "beads/lost.h"
#include "beads/model/limits.h"
#include "beads/model/record.h"
#include "beads/model/snapshot.h"
#include "beads/model/state.h"
#include "beads/sync_state.h"
#include "store/folder.h"

enum { WAIT_MS = 30000 };

struct str beads_path(struct call *c, const struct beads *b, const char *name)
{
	return path_join(&c->mem, b->home, str_of(name));
}

/* Where to look from: where the user stands, or the folder that was named. */
static enum err beads_start(struct call *c, struct str *dir)
{
	struct str named = c->project.p ? path_resolve(&c->mem, c->dir, c->project) : c->dir;

	if (str_is(path_name(named), ".beads")) /* other tools keep theirs in there */
		named = path_parent(named);
	*dir = path_real(&c->mem, named);
	if (!dir->p && !file_missing())
		return file_fail(c, "look at", named);
	if (dir->p && file_is_dir(&c->mem, *dir))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a directory", STR_ARG(named));
	return call_step(c, "Give --dir (or BEADS_DIR) a folder of a Git repository.");
}

enum err beads_home(struct call *c, struct beads *out)
{
	struct str dir;
	enum err e;

	*out = (struct beads){ .lock = LOCK_NONE };
	if ((e = beads_start(c, &dir)) || (e = place_repository_real(c, dir, &out->repo)))
		return e;
	if (!out->repo.common.p)
		return call_fail(c, ERR_NOT_A_REPOSITORY,
				 "'" STR_FMT "' is not inside a Git repository", STR_ARG(dir));
	out->home = path_join(&c->mem, out->repo.common, STR("abacus"));
	if ((e = folder_check_git(c, out->repo.common)) ||
	    (e = folder_check(c, out->home, FOLDER_READ)))
		return e;
	c->home = out->home;
	return ERR_OK;
}

static bool beads_exists(struct call *c, const struct beads *b)
{
	return journal_exists(c, b->home);
}

static enum err beads_not_initialized(struct call *c, const struct beads *b)
{
	call_fail(c, ERR_NOT_INITIALIZED, "there are no beads in '" STR_FMT "' yet",
		  STR_ARG(b->repo.tree));
	return call_step(c, "Run 'bd init' to begin; it touches none of your files.");
}

/* --- the journal into the cache --- */

/* What ids begin with, and the mark of that choice. */
static void set_prefix(struct call *c, struct beads *b, struct str prefix, struct mark mark)
{
	struct json j = json_new(&c->mem);

	mark_encode(&j, mark);
	b->about.prefix = prefix;
	b->about.prefix_mark = json_text(&j);
}

int64_t beads_horizon(const struct call *c)
{
	return c->now_ms + STAMP_FOLLOWED_MS;
}

struct mark beads_prefix_mark(struct call *c, const struct beads *b)
{
	struct mark mark = { 0 };

	if (!b->about.prefix.p || !mark_decode(value_read(&c->mem, b->about.prefix_mark), &mark))
		return (struct mark){ 0 };
	return mark_within(mark, beads_horizon(c));
}

/* The later choice counts, wherever it was made. */
static void beads_choose_prefix(struct call *c, struct beads *b, const struct state *change)
{
	struct state *both = state_new(&c->mem);

	if (!change->prefix_mark.by.p)
		return;
	state_put_prefix(both, b->about.prefix, beads_prefix_mark(c, b));
	state_put_prefix(both, change->prefix, mark_within(change->prefix_mark, beads_horizon(c)));
	set_prefix(c, b, both->prefix, both->prefix_mark);
}

/* The last stamp of this replica; one that the clock does not reach any more is none. */
static struct stamp last_stamp(const struct call *c, const struct beads *b)
{
	struct stamp last = { b->about.clock_ms, b->about.clock_n };

	return last.ms <= beads_horizon(c) ? last : (struct stamp){ 0 };
}

static void set_clock(struct beads *b, struct stamp clock)
{
	b->about.clock_ms = clock.ms;
	b->about.clock_n = clock.n;
}

static void beads_advance(struct call *c, struct beads *b, const struct state *change)
{
	struct stamp last = last_stamp(c, b), clock = state_clock(change, beads_horizon(c));

	int64_t latest = state_clock(change, INT64_MAX).ms;

	beads_choose_prefix(c, b, change);
	b->about.latest_ms = latest > b->about.latest_ms ? latest : b->about.latest_ms;
	set_clock(b, stamp_cmp(clock, last) > 0 ? clock : last);
}

enum err beads_put_receipts(struct call *c, struct cache *cache, const struct record *r)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < r->receipt_count; i++)
		e = cache_put_receipt(c, cache, &r->receipts[i]);
	return e;
}

/* What a record says, into the cache. */
static enum err beads_apply(struct call *c, struct beads *b, const struct record *r)
{
	enum err e = apply_change(c, &b->cache, r->change, &b->about.beads);

	if (e)
		return e;
	beads_advance(c, b, r->change);
	return beads_put_receipts(c, &b->cache, r);
}

static enum err apply_record(struct call *c, const struct journal_record *r, void *arg)
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

/* Somebody died between the two, or the cache lost its last pages. */
static enum err beads_catch_up(struct call *c, struct beads *b)
{
	enum err e = journal_each(c, b->home, &b->about.place, apply_record, b);

	return e ? e : cache_about_put(c, &b->cache, &b->about);
}

static void know_all(struct call *c, struct beads *b, const struct state *all)
{
	if (all->prefix_mark.by.p)
		set_prefix(c, b, all->prefix, all->prefix_mark);
	set_clock(b, state_clock(all, beads_horizon(c)));
	b->about.latest_ms = state_clock(all, INT64_MAX).ms;
	b->about.beads = (int64_t)all->slots.count;
}

static enum err beads_fill(struct call *c, struct beads *b)
{
	struct replay replay = { .b = b, .cache = &b->cache };
	struct state *all;
	enum err e;

	if ((e = replay_all(c, &replay)) || (e = replay_join(c, &replay, &all)) ||
	    (e = apply_all(c, &b->cache, all)))
		return e;
	know_all(c, b, all);
	return cache_about_put(c, &b->cache, &b->about);
}

/* Makes the cache anew; where nothing can be written, in memory, for this call. */
static enum err beads_rebuild(struct call *c, struct beads *b, bool writable)
{
	struct str path = beads_path(c, b, "cache.db");
	enum err e;

	c->code = ERR_OK;
	b->about = (struct cache_about){ 0 };
	e = writable ? cache_create(c, path, &b->cache) : cache_create_private(c, &b->cache);
	if (!e && !(e = beads_fill(c, b)))
		e = cache_install(c, &b->cache, path);
	if (e && b->cache.path.p && writable) {
		cache_close(&b->cache);
		unlink(arena_cstr(&c->mem, b->cache.path));
	}
	return e;
}

static enum err open_cache(struct call *c, struct beads *b, enum cache_mode mode)
{
	return cache_open(c, beads_path(c, b, "cache.db"), mode, &b->cache, &b->about);
}

static enum err beads_news(struct call *c, struct beads *b, enum journal_news *out)
{
	return journal_compare(c, b->home, b->about.place, out);
}

static bool beads_unusable(enum err e)
{
	return e == ERR_DAMAGED || e == ERR_INTERNAL_ERROR;
}

/*
 * With the lock. If it is the journal that is damaged, this says so. Somebody may remove the
 * cache at any moment; if they go on doing so, one in memory has to do.
 */
static enum err open_rebuilt(struct call *c, struct beads *b, enum cache_mode mode)
{
	enum err e = ERR_DAMAGED;

	for (int tries = 0; beads_unusable(e) && tries < 3; tries++) {
		cache_close(&b->cache);
		c->code = ERR_OK;
		if (!(e = beads_rebuild(c, b, true)))
			e = open_cache(c, b, mode);
	}
	return beads_unusable(e) ? beads_rebuild(c, b, false) : e;
}

/*
 * With the lock. The cache knows whole records that the journal does not have any more. It is
 * only a guess, and is made anew; but the old file is kept.
 */
static void keep_longer_cache(struct call *c, struct beads *b)
{
	struct str kept = { 0 }, path = beads_path(c, b, "cache.db");
	struct journal_place known = b->about.place;

	cache_close(&b->cache);
	if (cache_set_aside(c, path, id_mint(&c->mem, "ahead", c->now_ms), &kept))
		c->code = ERR_OK; /* the new one takes its place anyway */
	call_warn(
		c,
		"'" STR_FMT
		"/journal.%lld' ends before byte %lld, up to which the cache knew it: records are "
		"missing at its end. The cache was made anew; the old one is kept as '" STR_FMT "'",
		STR_ARG(b->home), (long long)known.segment, (long long)known.offset, STR_ARG(kept));
}

/* With the lock: a cache that is open for writing, and knows all of the journal. */
static enum err open_caught_up(struct call *c, struct beads *b)
{
	enum journal_news what = JOURNAL_SAME;
	enum err e = open_cache(c, b, CACHE_WRITE);

	if (!e)
		e = beads_news(c, b, &what);
	if (!e && what == JOURNAL_MORE)
		e = beads_catch_up(c, b);
	if (!beads_unusable(e) && what < JOURNAL_AHEAD)
		return e;
	if (what == JOURNAL_SHORTER)
		keep_longer_cache(c, b);
	return open_rebuilt(c, b, CACHE_WRITE);
}

static enum err beads_take_lock(struct call *c, struct beads *b)
{
	return lock_take(c, beads_path(c, b, "lock"), WAIT_MS, &b->lock);
}

/* --- readers --- */

/* The cache has to be made or brought up to date first: that takes the lock. */
static enum err beads_mend(struct call *c, struct beads *b)
{
	enum err e;

	cache_close(&b->cache);
	c->code = ERR_OK;
	if (access(arena_cstr(&c->mem, b->home), W_OK))
		return beads_rebuild(c, b, false);
	if ((e = beads_take_lock(c, b)))
		return e;
	e = open_caught_up(c, b);
	if (!e && b->cache.file) {
		cache_commit(c, &b->cache); /* if it fails, the next look tells */
		cache_close(&b->cache);
		if (beads_unusable(e = open_cache(c, b, CACHE_READ)))
			e = open_rebuilt(c, b, CACHE_READ);
	}
	lock_drop(&b->lock);
	return e;
}

/*
 * The holder of the lock has written a record, and is about to put it into the cache: nobody was
 * told of it yet, so it need not be seen. More than one: the cache is old.
 */
static bool being_written(struct call *c, struct beads *b)
{
	enum err e;

	if (!journal_one_follows(c, b->home, b->about.place))
		return false;
	e = lock_take(c, beads_path(c, b, "lock"), 0, &b->lock);
	lock_drop(&b->lock);
	c->code = ERR_OK;
	return e == ERR_DATABASE_BUSY;
}

bool beads_being_written(struct call *c, struct beads *b, struct journal_place *known)
{
	enum journal_news what = JOURNAL_SAME;
	bool busy = !open_cache(c, b, CACHE_READ) && !beads_news(c, b, &what) &&
		    what == JOURNAL_MORE && being_written(c, b);

	*known = b->about.place;
	cache_close(&b->cache);
	c->code = ERR_OK;
	return busy;
}

/* Into a cache in memory, for this call. */
static enum err fill_private(struct call *c, struct beads *b, struct state *all)
{
	enum err e;

	if ((e = cache_create_private(c, &b->cache)) || (e = apply_all(c, &b->cache, all)) ||
	    (e = cache_install(c, &b->cache, b->cache.path)))
		return e;
	know_all(c, b, all);
	return ERR_OK;
}

/* What is published, and what precedes the damage in the journal. */
static enum err read_before_damage(struct call *c, struct beads *b, struct state **all)
{
	struct replay replay = { .b = b, .lenient = true };
	enum err e;

	b->about = (struct cache_about){ 0 };
	if ((e = replay_all(c, &replay)) || (e = replay_join(c, &replay, all)))
		return e;
	repair_complete(c, *all, NULL, NULL);
	return (*all)->prefix_mark.by.p ? ERR_OK : ERR_JOURNAL_LOST;
}

/* For a reader that has found the journal damaged. */
static enum err open_damaged(struct call *c, struct beads *b)
{
	struct call aside = *c;
	struct state *all;
	enum err e;

	cache_close(&b->cache);
	lock_drop(&b->lock);
	aside.code = ERR_OK;
	if (!(e = read_before_damage(&aside, b, &all)))
		e = fill_private(&aside, b, all);
	c->mem = aside.mem;
	if (e) /* nothing precedes it: that is what is wrong */
		return c->code;
	b->damaged = true;
	c->code = ERR_OK;
	call_warn(c,
		  STR_FMT
		  ". This answer has what is published and what precedes the damage; writes are "
		  "refused until 'bd repair --apply' has set the damaged file aside",
		  STR_ARG(c->message));
	return ERR_OK;
}

static enum err beads_open_reader(struct call *c, struct beads *b, enum beads_mode mode)
{
	enum journal_news what = JOURNAL_SAME;
	enum err e = open_cache(c, b, mode == BEADS_STILL ? CACHE_STILL : CACHE_READ);

	if (!e)
		e = beads_news(c, b, &what);
	if (!e && what == JOURNAL_MORE && b->cache.still) { /* as of one moment */
		cache_close(&b->cache);
		if (!(e = open_cache(c, b, CACHE_READ)))
			e = beads_news(c, b, &what);
	}
	if (beads_unusable(e) && !beads_exists(c, b))
		return beads_not_initialized(c, b);
	b->behind = !e && what == JOURNAL_MORE && being_written(c, b);
	if (beads_unusable(e) || (!e && what != JOURNAL_SAME && !b->behind))
		e = beads_mend(c, b);
	if (e == ERR_JOURNAL_LOST)
		e = open_damaged(c, b);
	return !e && !b->about.prefix.p ? beads_not_initialized(c, b) : e;
}

/*
 * A writer lets the journal grow before it touches the cache, and the cache's log is not empty
 * while it does: with neither seen before and after, the file was as it is. Who only catches up
 * writes to the cache alone, but then it was not the same as the journal to begin with.
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
	return config_duration(c, b->home, CONFIG_CLAIM_LEASE, &b->lease_ms);
}

static enum err beads_open_writer(struct call *c, struct beads *b)
{
	struct file_found home;
	enum err e = file_look(c, b->home, &home);

	if (e)
		return e;
	if (home.kind != FILE_FOLDER)
		return beads_not_initialized(c, b);
	if ((e = folder_check(c, b->home, FOLDER_WRITE)))
		return e;
	if ((e = beads_take_lock(c, b)))
		return e;
	if (!file_exists(&c->mem, beads_path(c, b, "cache.db")) && !beads_exists(c, b))
		return beads_not_initialized(c, b);
	if ((e = open_caught_up(c, b)))
		return e;
	if (!b->about.prefix.p)
		return beads_not_initialized(c, b);
	return begin_writing(c, b);
}

static enum err beads_open_as(struct call *c, enum beads_mode mode, struct beads *out)
{
	enum err e =
		mode == BEADS_WRITE ? beads_open_writer(c, out) : beads_open_reader(c, out, mode);

	if (e)
		beads_close(out);
	return e;
}

/*
 * A ref that somebody has fetched, or that was left when the folder was removed. Who died
 * adopting it may have left a journal with nothing in it.
 */
bool beads_ref_here(struct call *c, const struct beads *b)
{
	struct str ref;

	return !config_get(c, b->home, CONFIG_SYNC_REF, &ref) &&
	       (place_has_ref(c, &b->repo, ref) ||
		place_has_ref(c, &b->repo, STR("refs/heads/beads/store")));
}

/* A store that has synced before had a journal. */
static void warn_of_loss(struct call *c, const struct beads *b)
{
	if (sync_state_read(c, b->home).succeeded_ms)
		c->warning = arena_fmt(&c->mem,
				       "the journal in '" STR_FMT
				       "' is gone. The beads were read from the published commit; "
				       "changes that were not published are lost.",
				       STR_ARG(b->home));
}

static enum err beads_adopt(struct call *c, struct beads *b)
{
	struct git_process h = { .words = { "sync", arena_cstr(&c->mem, b->repo.common), "--begin",
					    "--no-pull", "--no-push" } };
	enum err e;

	c->code = ERR_OK;
	if (!(e = git_process_run(c, &h)))
		warn_of_loss(c, b);
	return e;
}

enum err beads_open(struct call *c, enum beads_mode mode, struct beads *out)
{
	enum err e = beads_home(c, out);

	if (e || (e = beads_open_as(c, mode, out)) != ERR_NOT_INITIALIZED)
		return e;
	if (!beads_ref_here(c, out))
		return beads_not_initialized(c, out);
	return (e = beads_adopt(c, out)) ? e : beads_open_as(c, mode, out);
}

/* In memory, for this call. */
static enum err fill_then(struct call *c, struct beads *b, const struct snapshot *files)
{
	struct state *all = state_new(&c->mem);
	enum err e = snapshot_read(c, files, all);

	return e ? e : fill_private(c, b, all);
}

enum err beads_open_at(struct call *c, const struct when *when, struct beads *out)
{
	struct snapshot files;
	struct str ref;
	enum err e;

	if ((e = beads_home(c, out)) || (e = config_get(c, out->home, CONFIG_SYNC_REF, &ref)) ||
	    (e = git_process_read_at(c, out->repo.common, ref, when->ms, when->spec, false,
				     &files)) ||
	    (e = fill_then(c, out, &files))) {
		beads_close(out);
		return e;
	}
	c->now_ms = when->ms ? when->ms : files.time_ms;
	return ERR_OK;
}

enum err beads_open_new(struct call *c, struct beads *out)
{
	enum err e;

	if ((e = beads_home(c, out)) || (e = file_make_dir(c, out->home, 0700)) ||
	    (e = beads_take_lock(c, out)) || (e = open_caught_up(c, out))) {
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
	return (struct mark){ stamp_next(last_stamp(c, b), c->now_ms), c->actor };
}

struct mark beads_mark_after(struct call *c, const struct beads *b, struct mark known)
{
	struct mark mark = beads_mark(c, b);

	if (known.by.p && stamp_cmp(known.at, mark.at) >= 0)
		mark.at = stamp_next(known.at, c->now_ms);
	return mark;
}

/* Somebody's clock, or somebody's will, has used up all stamps. */
static enum err at_the_end(struct call *c, struct str id)
{
	call_fail(c, ERR_INVALID_INPUT,
		  "'" STR_FMT
		  "' was last written at the end of time (%s): nothing can be written after that",
		  STR_ARG(id), moment_format(&c->mem, MOMENT_LAST).p);
	return call_step(
		c, "'bd repair --stamps --apply' copies it to a new bead, and deletes this one.");
}

/* What can be said of a change alone; apply_write() looks at what becomes of its beads. */
static enum err check_slot(struct call *c, const struct slot *slot)
{
	size_t labels = 0;

	if (!slot->bead)
		return ERR_OK;
	if (!stamp_valid(bead_top(slot->bead).at))
		return at_the_end(c, slot->id);
	bead_labels(&c->mem, slot->bead, &labels);
	if (labels <= LIMIT_LABELS)
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' would have %zu labels; it may have %d",
		  STR_ARG(slot->id), labels, LIMIT_LABELS);
	return call_step(c, "Leave out labels that nobody searches for.");
}

enum err beads_put(struct call *c, struct beads *b, struct state *change)
{
	enum err e;

	if (record_empty(change))
		return ERR_OK;
	for (size_t i = 0; i < change->slots.count; i++)
		if ((e = check_slot(c, change->slots.entry[i].value)))
			return e;
	if ((e = apply_write(c, &b->cache, change, b->repairs ? APPLY_REPAIR : APPLY_COMMAND,
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
 * The record is in the journal before the cache says so: a crash between the two leaves a record
 * to catch up with. What fails before the end is taken back.
 */
static enum err write_record(struct call *c, struct beads *b, int *fd)
{
	struct record record = { .change = b->change,
				 .receipts = &b->receipt,
				 .receipt_count = b->receipt.id.p ? 1 : 0 };
	struct str json;
	bool cuts;
	enum err e;

	b->receipt.at = beads_mark(c, b).at.ms; /* by the clock that only goes on */
	if ((e = beads_encode_record(c, &record, &json)))
		return e;
	beads_advance(c, b, b->change);
	lost_note(c, b);
	if ((e = beads_put_receipts(c, &b->cache, &record)) ||
	    (e = journal_append(c, b->home, &b->about.place, json, fd)))
		return e;
	cuts = beads_cut_due(b, CUT_BY_WRITER) && beads_cut_alone(c, b);
	if (cache_about_put(c, &b->cache, &b->about) || cache_commit(c, &b->cache)) {
		c->code = ERR_OK; /* the record counts; the next command makes a cache */
		file_remove(c, b->cache.path);
	}
	if (cuts) /* the old segment stays until then: a follower may not have read it to its end */
		journal_drop(c, b->home, b->about.place.segment - 1);
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
	if (!(e = write_record(c, b, &fd)))
		call_stored(c, STORED_MAYBE); /* others may see it from here on */
	lock_drop(&b->lock);
	b->writing = false;
	if (!e && !(e = journal_sync(c, b->home, fd)))
		call_stored(c, STORED_PART);
	return e;
}

/* --- after a sync --- */

static enum err note_base(struct call *c, struct beads *b, struct record *r, bool cuts, int *fd)
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
		c->code = ERR_OK; /* as after a crash: the next one makes a cache */
		cache_close(&b->cache);
		e = file_remove(c, beads_path(c, b, "cache.db"));
	}
	return e;
}

enum err beads_rebase(struct call *c, struct beads *b, struct record *r)
{
	AUTO_FD fd = -1;
	bool cuts = beads_cut_due(b, CUT_BY_SYNC);
	enum err e;

	if (!(e = note_base(c, b, r, cuts, &fd)))
		e = journal_sync(c, b->home, fd);
	if (!e && cuts) /* with the lock: nobody is reading what goes */
		e = journal_drop(c, b->home, b->about.place.segment);
	lock_drop(&b->lock);
	b->writing = false;
	return e;
}

enum err beads_restart(struct call *c, struct beads *b, struct record *r, struct state *pending)
{
	AUTO_FD fd = -1;
	enum err e = beads_cut(c, b, r, pending, &fd);

	if (!e) {
		cache_close(&b->cache); /* it is made anew */
		e = file_remove(c, beads_path(c, b, "cache.db"));
	}
	if (!e && !(e = journal_sync(c, b->home, fd)))
		e = journal_drop(c, b->home, b->about.place.segment);
	lock_drop(&b->lock);
	b->writing = false;
	return e;
}

enum err beads_distrust(struct call *c, struct beads *b)
{
	struct str path = beads_path(c, b, "cache.db");
	enum err e = beads_take_lock(c, b);

	if (!e && cache_current(c, &b->cache))
		e = file_remove(c, path);
	lock_drop(&b->lock);
	return e;
}
