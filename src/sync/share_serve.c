/* The share process: when it looks at the remote, and when it ends. */
#include "base/moment.h"
#include "base/system/watch.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "machines/share.h"
#include "sync/share.h"

enum {
	QUIET_MS = 150,    /* after a change, because more may follow */
	PUSH_MS = 2000,    /* least time between two pushes */
	WAITED_MS = 2000,  /* between looks while a command waits */
	ACTIVE_MS = 15000, /* interval between looks at the remote while an agent is active */
	STAY_MS = 60000,   /* an agent is active for this long after its last action */
	RETRY_MS = 30000,  /* longest pause after failures */
	PROBE_MS = 200,    /* longer than a check for a running process holds its lock */
};

struct share_process {
	struct call *start;
	struct str home;
	int64_t round;   /* when the last round began, in ticks; 0: never */
	int64_t pushed;  /* when the last round that pushed ended */
	int64_t seen_ms; /* the last change that a round has collected */
	int64_t failures;
	bool behind; /* the last round has left facts unsent */
};

static bool share_process_has_pushed(struct call *c, struct json *reply)
{
	return value_yes(value_read(&c->mem, json_text(reply)), "pushed");
}

static bool share_process_round(struct share_process *p)
{
	const struct share_wants wants = { 0 };
	struct call c = call_part(p->start);
	struct json reply = json_new(&c.mem);
	bool well;

	c.now_ms = moment_now();
	p->round = moment_ticks();
	p->seen_ms = share_changed_ms(&c, p->home);
	well = !share_round(&c, &wants, &reply);
	p->failures = well ? 0 : p->failures + 1;
	if (well && share_process_has_pushed(&c, &reply))
		p->pushed = moment_ticks();
	call_release(&c);
	return well;
}

/* When the next round begins, in ticks. A slow round pushes at its end, long after it began. */
static int64_t share_process_next(const struct share_process *p, bool waited, bool changed)
{
	int64_t ms = changed ? PUSH_MS : waited ? WAITED_MS : ACTIVE_MS;
	int64_t retry = INT64_C(1000) << (p->failures < 6 ? p->failures : 6);

	if (p->failures && ms < retry)
		ms = retry < RETRY_MS ? retry : RETRY_MS;
	return p->round + ms > p->pushed + PUSH_MS ? p->round + ms : p->pushed + PUSH_MS;
}

/* Waits for the next round; false: no agent is active any more. */
static bool share_process_wait(struct share_process *p)
{
	struct call c = call_part(p->start);
	const struct watch_at at[] = { { p->home, STR("changed") }, { p->home, STR("waiting") } };
	bool stays = true, due = false;

	while (stays && !due) {
		AUTO_WATCH w;
		int64_t changed_ms, now, next;
		bool waited, changed;

		watch_open(&w, &c.mem, at, 2);
		changed_ms = share_changed_ms(&c, p->home);
		waited = share_is_waited_for(&c, p->home);
		changed = changed_ms > p->seen_ms;
		now = moment_ticks();
		next = share_process_next(p, waited, changed);
		stays = share_is_on_in(&c, p->home) &&
			(waited ||
			 (moment_now() >= changed_ms && moment_now() - changed_ms < STAY_MS));
		due = !p->round || now >= next;
		if (stays && due && changed && p->round)
			moment_sleep(QUIET_MS);
		if (stays && !due)
			watch_wait(&w, next - now, -1);
	}
	call_release(&c);
	return stays;
}

enum err share_serve(struct call *c)
{
	struct share_process p = { .start = c };
	struct lock lock = LOCK_NONE;
	struct str gitdir, path;
	enum err e = share_home(c, &p.home, &gitdir);
	bool again = true;

	if (e)
		return e;
	path = share_file(c, p.home, "share.lock");
	/*
	 * A command that changed something just before lock_drop() saw the lock, and started no
	 * process.
	 */
	while (again && !lock_held(c, path) && !lock_take(c, path, PROBE_MS, &lock)) {
		while (share_process_wait(&p))
			share_process_round(&p);
		lock_drop(&lock);
		again = share_is_on_in(c, p.home) && share_changed_ms(c, p.home) > p.seen_ms &&
			moment_now() - share_changed_ms(c, p.home) < STAY_MS;
	}
	return call_forgive(c);
}
