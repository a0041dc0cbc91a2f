/*
 * Opens the beads of a repository. A reader takes no lock, unless the cache has to be brought up
 * to date first. A writer waits for the lock. Where there is no journal yet but a published ref,
 * either begins with the commit of that ref.
 */
#include "beads/beads.h"

#include <unistd.h>

#include "base/system/file.h"
#include "base/system/path.h"
#include "beads/beads_parts.h"
#include "beads/config.h"
#include "beads/exchange/mention.h"
#include "beads/git_process.h"
#include "beads/model/snapshot.h"
#include "beads/model/state.h"
#include "beads/sync_state.h"
#include "store/folder.h"
#include "store/home.h"

enum { WAIT_MS = 30000 };

struct str beads_path(struct call *c, const struct beads *b, const char *name)
{
	return path_join(&c->mem, b->home, str_of(name));
}

/* The folder in which the search for a repository starts: the one that the user named, or the
 * working directory. */
static enum err beads_find_start(struct call *c, struct str *dir)
{
	struct str named = c->project.p ? path_resolve(&c->mem, c->dir, c->project) : c->dir;

	if (str_is(path_name(named), ".beads")) /* where other tools keep their files */
		named = path_parent(named);
	if (str_eq(named, c->real)) { /* the current folder */
		*dir = named;
		return ERR_OK;
	}
	*dir = path_real_beside(&c->mem, c->real, named);
	if (!dir->p && !file_missing())
		return file_fail(c, "look at", named);
	if (dir->p && file_is_dir(&c->mem, *dir))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a directory", STR_ARG(named));
	return call_step(c, "Set --dir (or BEADS_DIR) to a folder of a Git repository.");
}

enum err beads_locate(struct call *c, struct beads *out)
{
	struct str dir;
	enum err e;

	*out = (struct beads){ .lock = LOCK_NONE };
	if ((e = beads_find_start(c, &dir)) || (e = place_repository_real(c, dir, &out->repo)))
		return e;
	if (!out->repo.common.p)
		return call_fail(c, ERR_NOT_A_REPOSITORY,
				 "'" STR_FMT "' is not inside a Git repository", STR_ARG(dir));
	out->home = home_find(c, out->repo.common);
	return ERR_OK;
}

enum err beads_home(struct call *c, struct beads *out)
{
	enum err e = beads_locate(c, out);

	if (e || (e = folder_check_git(c, out->repo.common)) || (e = home_check(c, out->home)))
		return e;
	c->home = out->home;
	return ERR_OK;
}

bool beads_moved(struct call *c, const struct beads *b)
{
	return b->home.p && home_moved(c, b->repo.common, b->home);
}

static bool beads_exists(struct call *c, const struct beads *b)
{
	return journal_exists(c, b->home);
}

static enum err beads_not_initialized(struct call *c, const struct beads *b)
{
	struct str other = mention_find(c, b);

	call_fail(c, ERR_NOT_INITIALIZED, "there are no beads in '" STR_FMT "' yet",
		  STR_ARG(b->repo.tree));
	if (other.p)
		return call_step(
			c,
			"Run 'bd init' to set them up, then 'bd import', which imports the "
			"issues of '" STR_FMT "'.",
			STR_ARG(other));
	return call_step(c, "Run 'bd init' to set them up; no file of yours is changed.");
}

enum err beads_take_lock(struct call *c, struct beads *b)
{
	enum err e = lock_take(c, beads_path(c, b, "lock"), WAIT_MS, &b->lock);

	return home_explain(c, e, b->home);
}

/* --- readers --- */

/* The cache is missing or stale. Bringing it up to date needs the lock, and a folder that can be
 * written to. */
static enum err beads_mend(struct call *c, struct beads *b)
{
	enum err e;

	cache_close(&b->cache);
	call_forgive(c);
	if (access(arena_cstr(&c->mem, b->home), W_OK))
		return beads_rebuild(c, b, false);
	if ((e = beads_take_lock(c, b)) == ERR_READ_ONLY) /* in a sandbox, access() may be wrong */
		return beads_rebuild(c, b, false);
	if (e)
		return e;
	e = beads_open_caught_up(c, b);
	if (!e && b->cache.file) {
		cache_commit(c,
			     &b->cache); /* a failure is reported when the cache is opened again */
		cache_close(&b->cache);
		if (beads_unusable(e = beads_open_cache(c, b, CACHE_READ)))
			e = beads_open_rebuilt(c, b, CACHE_READ);
	}
	lock_drop(&b->lock);
	return e;
}

static bool beads_locked(struct call *c, struct beads *b)
{
	enum err e = lock_take(c, beads_path(c, b, "lock"), 0, &b->lock);

	lock_drop(&b->lock);
	call_forgive(c);
	return e == ERR_DATABASE_BUSY;
}

/*
 * Has the holder of the lock written a record that it has not joined to the cache yet? That record
 * is not acknowledged, so a reader may ignore it. If more than one record follows, the cache is
 * stale instead.
 */
static bool beads_record_pending(struct call *c, struct beads *b)
{
	return journal_one_follows(c, b->home, b->about.place) && beads_locked(c, b);
}

bool beads_being_written(struct call *c, struct beads *b, struct journal_place *known)
{
	enum journal_news what = JOURNAL_SAME;
	bool busy = !beads_open_cache(c, b, CACHE_READ) && !beads_compare(c, b, &what) &&
		    what == JOURNAL_MORE && beads_locked(c, b);

	*known = b->about.place;
	cache_close(&b->cache);
	call_forgive(c);
	return busy;
}

/* The published commit, and the records before the damage in the journal. */
static enum err beads_read_before_damage(struct call *c, struct beads *b, struct state **all)
{
	struct replay replay = { .b = b, .lenient = true };
	enum err e;

	b->about = (struct cache_about){ 0 };
	if ((e = replay_all(c, &replay)) || (e = replay_join(c, &replay, all)))
		return e;
	repair_complete(c, *all, NULL, NULL);
	return (*all)->prefix_mark.by.p ? ERR_OK : ERR_JOURNAL_LOST;
}

/* The journal is damaged: the reader gets what can be read, with a warning. */
static enum err beads_open_damaged(struct call *c, struct beads *b)
{
	struct call before = call_save(c);
	struct state *all;
	enum err e;

	cache_close(&b->cache);
	lock_drop(&b->lock);
	if (!(e = beads_read_before_damage(c, b, &all)))
		e = beads_fill_private(c, b, all);
	call_restore(c, &before);
	if (e) /* nothing can be read: the damage is the error to report */
		return c->code;
	b->damaged = true;
	call_warn(c,
		  STR_FMT
		  ". This reply contains the published beads and the changes before the damage; "
		  "writes are refused until 'bd repair --apply' has set the damaged file aside",
		  STR_ARG(c->message));
	return call_forgive(c);
}

static enum err beads_open_reader(struct call *c, struct beads *b, enum beads_mode mode)
{
	enum journal_news what = JOURNAL_SAME;
	enum err e = beads_open_cache(c, b, mode == BEADS_STILL ? CACHE_STILL : CACHE_READ);

	if (!e)
		e = beads_compare(c, b, &what);
	if (!e && what == JOURNAL_MORE && b->cache.still) { /* read again, in a transaction */
		cache_close(&b->cache);
		if (!(e = beads_open_cache(c, b, CACHE_READ)))
			e = beads_compare(c, b, &what);
	}
	if (beads_unusable(e) && !beads_exists(c, b))
		return beads_not_initialized(c, b);
	b->behind = !e && what == JOURNAL_MORE && beads_record_pending(c, b);
	if (beads_unusable(e) || (!e && what != JOURNAL_SAME && !b->behind))
		e = beads_mend(c, b);
	if (e == ERR_JOURNAL_LOST)
		e = beads_open_damaged(c, b);
	return !e && !b->about.prefix.p ? beads_not_initialized(c, b) : e;
}

/*
 * A writer appends to the journal before it writes to the cache, and the cache's write-ahead log is
 * not empty while it does. If the journal is the same and the log is empty before and after, the
 * file did not change in between. A process that only catches up does not append, but then the
 * cache was behind the journal to begin with.
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

static enum err beads_begin_writing(struct call *c, struct beads *b)
{
	b->change = state_new(&c->mem);
	b->writing = true;
	return config_claims(c, b->home, &b->lease_ms, &b->exclusive);
}

static enum err beads_open_writer(struct call *c, struct beads *b)
{
	struct file_found home;
	enum err e = file_look(c, b->home, &home);

	if (e)
		return e;
	if (home.kind != FILE_FOLDER)
		return beads_not_initialized(c, b);
	if ((e = folder_check(c, b->home, FOLDER_WRITE)) || (e = beads_take_lock(c, b)))
		return e;
	if (!file_exists(&c->mem, beads_path(c, b, "cache.db")) && !beads_exists(c, b))
		return beads_not_initialized(c, b);
	if ((e = beads_open_caught_up(c, b)))
		return e;
	if (!b->about.prefix.p)
		return beads_not_initialized(c, b);
	return beads_begin_writing(c, b);
}

/* --- either --- */

static enum err beads_open_as(struct call *c, enum beads_mode mode, struct beads *out)
{
	enum err e =
		mode == BEADS_WRITE ? beads_open_writer(c, out) : beads_open_reader(c, out, mode);

	if (e)
		beads_close(out);
	return e;
}

bool beads_ref_here(struct call *c, const struct beads *b)
{
	struct str ref;

	return !config_get(c, b->home, CONFIG_SYNC_REF, &ref) &&
	       (place_has_ref(c, &b->repo, ref) ||
		place_has_ref(c, &b->repo, STR("refs/heads/beads/store")));
}

/* A store that has synced before had a journal, which is missing now. */
static void beads_warn_of_loss(struct call *c, const struct beads *b)
{
	if (sync_state_read(c, b->home).succeeded_ms)
		c->warning = arena_fmt(&c->mem,
				       "the journal in '" STR_FMT
				       "' is missing. The beads were read from the published "
				       "commit; unpublished changes are lost.",
				       STR_ARG(b->home));
}

/* Begins a journal with the commit that the ref of this repository is at. */
static enum err beads_adopt(struct call *c, struct beads *b)
{
	struct git_process h = { .words = { "sync", arena_cstr(&c->mem, b->repo.common), "--begin",
					    "--no-pull", "--no-push" } };
	enum err e;

	call_forgive(c);
	if (!(e = git_process_run(c, &h)))
		beads_warn_of_loss(c, b);
	return e;
}

static enum err beads_fill_from_files(struct call *c, struct beads *b, const struct snapshot *files)
{
	struct state *all = state_new(&c->mem);
	enum err e = snapshot_read(c, files, all);

	return e ? e : beads_fill_private(c, b, all);
}

/* This process cannot create a journal, so it reads the commit of the ref. */
static enum err beads_open_published(struct call *c, struct beads *b)
{
	struct snapshot files;
	struct str ref;
	enum err e;

	call_forgive(c);
	if ((e = config_get(c, b->home, CONFIG_SYNC_REF, &ref)) ||
	    (e = git_process_read_latest(c, b->repo.common, STR_NONE, ref, &files)) ||
	    (e = beads_fill_from_files(c, b, &files)))
		beads_close(b);
	return e;
}

static enum err beads_open_here(struct call *c, enum beads_mode mode, struct beads *out)
{
	enum err e = beads_home(c, out);

	if (e || (e = beads_open_as(c, mode, out)) != ERR_NOT_INITIALIZED)
		return e;
	if (!beads_ref_here(c, out))
		return beads_not_initialized(c, out);
	e = beads_adopt(c, out);
	if (e == ERR_READ_ONLY && mode != BEADS_WRITE)
		return beads_open_published(c, out);
	if (e)
		return e;
	out->home = home_find(c, out->repo.common);
	return beads_open_as(c, mode, out);
}

/* The store may be moved between the search and the lock, or while a reader opens its files. */
static bool beads_was_moved(struct call *c, enum err e, const struct beads *b)
{
	bool moved = beads_moved(c, b);
	struct call before;

	if (moved || e != ERR_NOT_INITIALIZED)
		return moved;
	before = call_save(c);
	moved = beads_exists(c, b);
	call_restore(c, &before);
	return moved;
}

enum err beads_open(struct call *c, enum beads_mode mode, struct beads *out)
{
	enum err e;

	if (mode == BEADS_WRITE && c->group)
		return beads_group_join(c, out);
	e = beads_open_here(c, mode, out);
	for (int i = 0; e && i < HOME_TRIES_MOST && beads_was_moved(c, e, out); i++) {
		call_forgive(c);
		e = beads_open_here(c, mode, out);
	}
	return e;
}

enum err beads_open_at(struct call *c, const struct when *when, struct beads *out)
{
	struct snapshot files;
	struct str ref;
	enum err e;

	if ((e = beads_home(c, out)) || (e = config_get(c, out->home, CONFIG_SYNC_REF, &ref)) ||
	    (e = git_process_read_at(c, out->repo.common, ref, when->ms, when->spec, false,
				     &files)) ||
	    (e = beads_fill_from_files(c, out, &files))) {
		beads_close(out);
		return e;
	}
	c->now_ms = when->ms ? when->ms : files.time_ms;
	return ERR_OK;
}

static enum err beads_open_made(struct call *c, enum home_kind kind, struct beads *out)
{
	enum err e;

	if ((e = beads_home(c, out)) || (e = home_make(c, out->repo.common, kind, &out->home)) ||
	    (e = home_check(c, out->home)) || (e = beads_take_lock(c, out)) ||
	    (e = beads_open_caught_up(c, out)) || (e = beads_begin_writing(c, out)))
		beads_close(out);
	c->home = e ? c->home : out->home;
	return e;
}

enum err beads_open_new(struct call *c, enum home_kind kind, struct beads *out)
{
	enum err e = beads_open_made(c, kind, out);

	if (!e || !beads_moved(c, out))
		return e;
	call_forgive(c);
	return beads_open_made(c, kind, out);
}

void beads_close(struct beads *b)
{
	if (b->group) {
		beads_group_leave(b);
		return;
	}
	cache_close(&b->cache);
	lock_drop(&b->lock);
	b->writing = false;
}
