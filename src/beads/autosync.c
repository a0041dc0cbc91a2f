#include "beads/autosync.h"

#include <unistd.h>

#include "base/moment.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "beads/config.h"
#include "beads/exchange/mirror.h"
#include "beads/git_process.h"

enum {
	QUIET_MS = 500,      /* quiet time after the last change */
	HELD_MOST_MS = 3000, /* but at most so long after the first */
	STAY_MS = 12000,     /* after failures, the longest wait for the next attempt */
	LINGER_MS = 5000,    /* stays so long after publishing, because more changes may follow */
	TRY_MS = 15000,      /* limit of one attempt */
	RETRY_MS = 1000,     /* pause after the first failure; doubles with each further one */
	RETRY_MOST_MS = 300000,
	PROBE_MS = 200, /* longer than a check for a running autosync holds its lock */
};

/* --- one sync --- */

static int64_t autosync_jitter(int64_t ms)
{
	unsigned short some;

	platform_random(&some, sizeof some);
	return ms / 2 + ms * some / 65536 / 2;
}

static int64_t autosync_pause(int64_t failures)
{
	int64_t ms = RETRY_MS << (failures < 10 ? failures : 10);

	return autosync_jitter(ms < RETRY_MOST_MS ? ms : RETRY_MOST_MS);
}

static void autosync_note(struct call *c, struct str home, enum err e, bool pushes)
{
	struct call failed = call_save(c);
	struct sync_state s = sync_state_read(c, home);
	int64_t now = moment_now();

	s.tried_ms = now;
	if (e) {
		s.not_before_ms = now + autosync_pause(s.failures++);
		s.code = str_of(err_code(e, DIALECT_BEADS));
		s.message = failed.message;
		s.step = failed.step;
	} else {
		s.failures = s.not_before_ms = 0;
		s.succeeded_ms = now;
		s.pushed_ms = pushes ? now : s.pushed_ms;
		s.code = s.message = s.step = STR_NONE;
	}
	sync_state_write(c, home, &s);
	call_restore(c, &failed); /* an unwritten sync.json must not hide the sync's error */
}

static int64_t autosync_collect_before(struct call *c)
{
	return c->tombstone_ttl_ms ? c->now_ms - c->tombstone_ttl_ms : 0;
}

enum err sync_now(struct call *c, struct beads *b, const struct sync_ask *ask, struct str *reply)
{
	struct git_process h = {
		.words = { "sync", arena_cstr(&c->mem, b->repo.common), "--timeout-ms",
			   arena_fmt(&c->mem, "%lld", (long long)ask->timeout_ms).p,
			   "--collect-before-ms",
			   arena_fmt(&c->mem, "%lld", (long long)autosync_collect_before(c)).p },
		.timeout_ms = ask->timeout_ms
	};
	size_t n = 6;
	enum err e;

	if (ask->no_pull)
		h.words[n++] = "--no-pull";
	if (ask->no_push)
		h.words[n++] = "--no-push";
	if (ask->dry)
		h.words[n++] = "--dry-run";
	if (ask->begin)
		h.words[n++] = "--begin";
	e = git_process_run(c, &h);
	if (!ask->dry && e != ERR_READ_ONLY) /* a process outside of the sandbox may sync at once */
		autosync_note(c, b->home, e, !ask->no_push);
	if (!ask->dry && !e)
		mirror_start(c, b);
	*reply = h.reply;
	return e;
}

/* The process was killed on its way, or died: whether the remote has the result is unknown. */
static enum err sync_exclusive_unknown(struct call *c, enum err e)
{
	if (e != ERR_SYNC_TIMEOUT || c->step.p)
		return e;
	return call_step(c,
			 "The remote may or may not have the claim. Run the same command again: it "
			 "finds out, and claims nothing twice.");
}

enum err sync_exclusive(struct call *c, struct beads *b, struct str request, int64_t timeout_ms,
			struct str *reply)
{
	struct git_process h = {
		.words = { "exclusive", arena_cstr(&c->mem, b->repo.common), "--timeout-ms",
			   arena_fmt(&c->mem, "%lld", (long long)timeout_ms).p },
		.timeout_ms = timeout_ms,
		.input = request,
	};
	enum err e = git_process_run(c, &h);

	if (!e || err_of_sync(e))
		autosync_note(c, b->home, e, true);
	if (!e)
		mirror_start(c, b);
	*reply = h.reply;
	return sync_exclusive_unknown(c, e);
}

/* --- by itself --- */

static struct str autosync_lock_path(struct call *c, const struct beads *b)
{
	return path_join(&c->mem, b->home, STR("courier.lock"));
}

/* Is the Git directory read-only here? A process that can write to it will sync. */
static bool autosync_is_denied(struct call *c, const struct beads *b)
{
	struct str objects = path_join(&c->mem, b->repo.common, STR("objects"));

	return access(arena_cstr(&c->mem, objects), W_OK) != 0;
}

static bool autosync_enabled(struct call *c, const struct beads *b)
{
	struct str set;

	if (c->store.p) /* a store that --db-path names has no remote */
		return false;
	return c->autosync && !config_get(c, b->home, CONFIG_SYNC_AUTO, &set) &&
	       str_is(set, "true");
}

/* When to try next. A clock that was set back must not postpone this for ever. */
static int64_t autosync_next_ms(const struct sync_state *s, int64_t now, int64_t interval)
{
	int64_t turn = s->pushed_ms > now ? now : s->pushed_ms + interval;
	int64_t retry = s->not_before_ms > now + RETRY_MOST_MS ? now : s->not_before_ms;

	return turn > retry ? turn : retry;
}

bool autosync_is_running(struct call *c, const struct beads *b)
{
	return lock_held(c, autosync_lock_path(c, b));
}

void autosync_start(struct call *c, const struct beads *b)
{
	const char *argv[] = { NULL, "autosync", arena_cstr(&c->mem, b->repo.common), NULL };
	struct call before = call_save(c);
	struct sync_state known;
	int64_t now;

	mirror_start(c, b);
	/* an autosync that runs already will find the new record */
	if (autosync_enabled(c, b) && !autosync_is_running(c, b)) {
		known = sync_state_read(c, b->home);
		now = moment_now();
		if (autosync_next_ms(&known, now, 0) < now + STAY_MS && !autosync_is_denied(c, b)) {
			argv[0] = arena_cstr(&c->mem, git_process_path(&c->mem));
			spawn_away(argv);
		}
	}
	call_restore(c, &before);
}

struct autosync {
	struct call *start;
	struct beads *b;
	int64_t interval_ms;
	bool denied;                /* the Git directory cannot be written */
	int64_t changed_ms;         /* when the journal last grew */
	struct journal_place there; /* the end of the journal at that time */
};

/*
 * Each check and each attempt frees its memory, because the process may run for long; meanwhile the
 * store may be moved.
 */
static struct call autosync_read_journal(const struct autosync *k)
{
	struct call c = call_part(k->start);

	c.now_ms = moment_now();
	if (beads_moved(&c, k->b))
		k->b->home = arena_copy(&k->start->mem, home_find(&c, k->b->repo.common));
	return c;
}

static bool autosync_changed(struct autosync *k)
{
	struct call c = autosync_read_journal(k);
	struct journal_place end;
	bool new = !journal_last(&c, k->b->home, &end) &&
		   (end.segment != k->there.segment || end.offset != k->there.offset);

	if (new) {
		k->there = end;
		k->changed_ms = moment_now();
	}
	call_release(&c);
	return new;
}

/* Does the journal have changes that are in no commit? */
static bool autosync_waiting(struct autosync *k)
{
	struct call c = autosync_read_journal(k);
	struct beads b = *k->b;
	struct pending pending;
	bool some = !beads_pending(&c, &b, &pending) && pending.records;

	call_release(&c);
	return some;
}

/* Waits until the journal has been quiet for a moment, or has been busy for too long. */
static void autosync_wait_for_quiet(struct autosync *k)
{
	int64_t first = moment_now();

	do
		moment_sleep(QUIET_MS);
	while (autosync_changed(k) && moment_now() - first < HELD_MOST_MS - QUIET_MS);
}

/* Waits until the next attempt is due; false if that is too far away to keep a process. */
static bool autosync_wait_for_turn(struct autosync *k)
{
	struct call c = autosync_read_journal(k);
	struct sync_state s = sync_state_read(&c, k->b->home);
	int64_t now = moment_now(), turn = autosync_next_ms(&s, now, k->interval_ms);

	call_release(&c);
	if (turn - k->changed_ms > STAY_MS && s.failures)
		return false;
	moment_sleep(turn - now);
	return true;
}

static bool autosync_deliver(struct autosync *k)
{
	struct call c = autosync_read_journal(k);
	struct sync_ask ask = { .timeout_ms = TRY_MS };
	struct str reply;
	enum err e = sync_now(&c, k->b, &ask, &reply);

	k->denied = e == ERR_READ_ONLY;
	call_release(&c);
	return !e;
}

/* Needs the lock. */
static void autosync_serve(struct autosync *k)
{
	autosync_wait_for_quiet(k);
	while (!k->denied && autosync_waiting(k) && autosync_wait_for_turn(k)) {
		if (!autosync_deliver(k))
			continue;
		autosync_changed(k); /* the sync appends a record itself */
		if (!autosync_waiting(k)) {
			moment_sleep(k->interval_ms < LINGER_MS ? k->interval_ms : LINGER_MS);
			if (autosync_changed(k))
				autosync_wait_for_quiet(k);
		}
	}
}

enum err autosync_run(struct call *c, struct beads *b)
{
	struct autosync k = { .start = c, .b = b };
	struct lock lock = LOCK_NONE;
	enum err e = config_duration(c, b->home, CONFIG_SYNC_PUSH_INTERVAL, &k.interval_ms);

	autosync_changed(&k);
	/* a writer after our last check still saw the lock, and started no process */
	while (!e && !autosync_is_running(c, b) &&
	       !lock_take(c, autosync_lock_path(c, b), PROBE_MS, &lock)) {
		autosync_serve(&k);
		lock_drop(&lock);
		if (!autosync_changed(&k))
			break;
	}
	return e ? e : call_forgive(c);
}
