#include "agents/waiting.h"

#include "agents/reservation_book.h"
#include "base/moment.h"
#include "base/system/path.h"
#include "base/system/watch.h"
#include "beads/beads.h"
#include "beads/find.h"

/*
 * Every round arms the watch, looks, then sleeps, so a change after the look ends the sleep. The
 * look has to see every change that came before the watch was armed. Beads are the exception: a
 * writer appends to the journal, which is watched, before it updates the cache, which is read. A
 * look that finds the cache behind the journal is repeated soon.
 */
enum { PLACES = 4, BEHIND_MS = 10, KEEP_MS = 10000 };

/* When to look again after nothing was found. */
struct probe_result {
	int64_t until; /* the earliest end of a reservation that is waited for; 0: none */
	bool behind;   /* the cache of the beads lacks a record of the journal */
};

static bool waiting_is_done(const struct wait_answer *a)
{
	return a->mail || a->freed_count || a->bead_count;
}

/* A scope is free for the agent if no other agent has reserved any part of it. */
static enum err look_scopes(struct call *c, struct agent_files *f, const struct wait_ask *ask,
			    struct wait_answer *out, struct probe_result *g)
{
	struct book book;
	struct str key;
	enum err e = ask->scope_count ? book_open(c, f, false, &book) : ERR_OK;

	out->freed = arena_array(&c->mem, ask->scope_count + 1, sizeof *out->freed);
	for (size_t i = 0; !e && i < ask->scope_count; i++) {
		const struct reservation *r;
		bool held = false;

		if ((e = scope_normalise(c, f->root.p ? f->root : STR("/"), ask->scopes[i], &key)))
			break;
		for (r = book_overlapping(c, &book, key); r; r = r->next) {
			if (r->expires_ms <= c->now_ms || str_eq(r->agent, ask->agent))
				continue;
			held = true;
			if (!g->until || r->expires_ms < g->until)
				g->until = r->expires_ms;
		}
		if (!held)
			out->freed[out->freed_count++] = ask->scopes[i];
	}
	return e;
}

static enum err look_beads(struct call *c, const struct wait_ask *ask, struct wait_answer *out,
			   struct probe_result *g)
{
	struct beads b;
	struct bead_row *row;
	enum err e;

	if (!ask->bead_count)
		return ERR_OK;
	if ((e = beads_open(c, BEADS_READ, &b)))
		return e;
	g->behind = b.behind;
	out->beads = arena_array(&c->mem, ask->bead_count, sizeof *out->beads);
	for (size_t i = 0; !e && i < ask->bead_count; i++) {
		if ((e = find_bead(c, &b, ask->beads[i].id, &row)))
			break;
		if (row->status == ask->beads[i].status)
			out->beads[out->bead_count++] =
				(struct bead_goal){ arena_copy(&c->mem, row->id), row->status };
	}
	beads_close(&b);
	return e;
}

/* One read gives both the messages and the cursor, so that no message comes between them. */
static enum err look_mail(struct call *c, struct agent_files *f, const struct wait_ask *ask,
			  struct wait_answer *out)
{
	struct mail_filter filter = ask->filter;
	int64_t count = 0;
	enum err e;

	filter.limit = !ask->mail ? 0 : ask->oldest ? INT64_MAX : filter.limit;
	e = mail_inbox(c, f, ask->agent, &filter, &out->mail, &out->cursor);
	for (const struct mail *m = e ? NULL : out->mail; m; m = m->next)
		count++;
	for (; count > ask->filter.limit; count--) {
		out->mail = out->mail->next;
		out->cursor = out->mail->id;
	}
	return e;
}

/* A message to several agents counts while it is pending, before each inbox has its line. */
static enum err waiting_look(struct call *c, const struct agent_files *f,
			     const struct wait_ask *ask, struct wait_answer *out,
			     struct probe_result *g)
{
	struct agent_files now = *f;
	enum err e = agent_files_read_again(c, &now);

	*out = (struct wait_answer){ 0 };
	*g = (struct probe_result){ 0 };
	if (e || (e = look_mail(c, &now, ask, out)) || (e = look_scopes(c, &now, ask, out, g)))
		return e;
	return look_beads(c, ask, out, g);
}

/* Looks, and frees the memory that it took: a command may look any number of times. */
static bool waiting_probe(struct call *c, const struct agent_files *f, const struct wait_ask *ask,
			  struct probe_result *g)
{
	struct call once = call_part(c);
	struct wait_answer answer;
	bool found;

	/* An error is reported by the look that follows. */
	found = waiting_look(&once, f, ask, &answer, g) || waiting_is_done(&answer);
	call_release(&once);
	return found;
}

static enum err waiting_places(struct call *c, const struct agent_files *f,
			       const struct wait_ask *ask, struct watch_at at[PLACES])
{
	struct beads b;
	enum err e;

	for (int i = 0; i < PLACES; i++)
		at[i] = (struct watch_at){ 0 };
	if (ask->mail)
		at[0] = (struct watch_at){ path_join(&c->mem, f->home, STR("messages")),
					   arena_fmt(&c->mem, STR_FMT ".jsonl",
						     STR_ARG(ask->agent)) };
	if (ask->scope_count && f->home.p)
		at[1] = (struct watch_at){ path_join(&c->mem, f->home, STR("reservations")),
					   STR("history.") };
	if (ask->mail || ask->scope_count)
		at[2] = (struct watch_at){ f->home, STR("pending.") };
	if (!ask->bead_count)
		return ERR_OK;
	if ((e = beads_home(c, &b)))
		return e;
	at[3] = (struct watch_at){ b.home, STR("journal.") };
	return ERR_OK;
}

static void sleep_on(struct call *c, struct watch *w, int64_t ms, struct wait_answer *out)
{
	const struct listener *l = c->listener;
	int64_t end = moment_ticks() + ms;

	for (;;) {
		int64_t left = end - moment_ticks();

		if (watch_wait(w, left > 0 ? left : 0, l ? l->fd : -1) != WATCH_INPUT || !l)
			return;
		out->interrupted = l->stop(l->arg);
		if (out->interrupted)
			return;
	}
}

/* How often last_seen_at of a waiting agent is updated, so that the agent stays active. */
static int64_t beat_ms(const struct call *c)
{
	int64_t ms = c->stale_minutes * 60 * 1000 / 15;

	return ms < 60 * 1000 ? ms : 60 * 1000;
}

/* The time until the next look if no file changes. */
static int64_t waiting_sleep_ms(const struct call *c, const struct wait_ask *ask,
				const struct probe_result *g, int64_t left)
{
	int64_t most = g->behind ? BEHIND_MS : beat_ms(c);

	if (ask->keep && most > KEEP_MS)
		most = KEEP_MS;

	if (g->until && g->until - c->now_ms < most)
		most = g->until - c->now_ms;
	return left < most ? left : most;
}

static enum err round_of(struct call *c, const struct agent_files *f, const struct wait_ask *ask,
			 const struct watch_at at[PLACES], int64_t left, struct arena *mem,
			 struct wait_answer *out)
{
	struct probe_result g;
	enum err e;
	AUTO_WATCH w;

	watch_open(&w, mem, at, PLACES);
	if (waiting_probe(c, f, ask, &g) &&
	    ((e = waiting_look(c, f, ask, out, &g)) || waiting_is_done(out)))
		return e;
	out->timed_out = left <= 0;
	out->interrupted = !out->timed_out && c->listener && c->listener->stop(c->listener->arg);
	if (!out->timed_out && !out->interrupted)
		sleep_on(c, &w, waiting_sleep_ms(c, ask, &g, left), out);
	return ERR_OK;
}

/* The last look sets the cursor, and finds what came at the last moment. */
static enum err waiting_look_again(struct call *c, const struct agent_files *f,
				   const struct wait_ask *ask, struct wait_answer *out)
{
	bool interrupted = out->interrupted;
	struct probe_result g;
	enum err e = waiting_look(c, f, ask, out, &g);

	out->interrupted = interrupted && !waiting_is_done(out);
	out->timed_out = !interrupted && !waiting_is_done(out);
	return e;
}

enum err wait_for(struct call *c, struct agent_files *f, const struct wait_ask *ask,
		  struct wait_answer *out)
{
	int64_t began = moment_ticks(), then = c->now_ms, beat = began;
	struct watch_at at[PLACES];
	struct registered *a;
	enum err e;

	*out = (struct wait_answer){ 0 };
	if ((e = registry_find(c, f, ask->agent, &a)) || (e = waiting_places(c, f, ask, at)))
		return e;
	while (!e && !waiting_is_done(out) && !out->timed_out && !out->interrupted) {
		int64_t ticks = moment_ticks(), gone = ticks - began;
		struct arena mem = { 0 };

		c->now_ms = c->still ? then + gone : moment_now();
		if (ticks >= beat) {
			registry_saw(c, f, call_present(c), SEEN_LEAST_MS);
			beat = ticks + beat_ms(c);
		}
		if (ask->keep && gone)
			ask->keep(c);
		e = round_of(c, f, ask, at, ask->timeout_ms - gone, &mem, out);
		arena_release(&mem);
	}
	return e || waiting_is_done(out) ? e : waiting_look_again(c, f, ask, out);
}
