#include "agents/waiting.h"

#include "base/moment.h"
#include "base/path.h"
#include "base/watch.h"
#include "beads/beads.h"
#include "beads/find.h"

static bool over(const struct wait_answer *a)
{
	return a->mail || a->freed_count || a->bead_count;
}

/* Free for the agent: nobody else has any part of it. `until`: when the first one ends.
 */
static enum err look_scopes(struct call *c, struct agent_files *f,
			    const struct wait_ask *ask, struct wait_answer *out,
			    int64_t *until)
{
	struct book *book;
	struct str key;
	enum err e = ask->scope_count ? reservation_open(c, f, &book) : ERR_OK;

	out->freed = arena_array(&c->mem, ask->scope_count + 1, sizeof *out->freed);
	for (size_t i = 0; !e && i < ask->scope_count; i++) {
		const struct reservation *r;
		bool held = false;

		if ((e = scope_normalise(c, f->root.p ? f->root : STR("/"),
					 ask->scopes[i], &key)))
			break;
		for (r = reservation_overlapping(c, book, key); r; r = r->next) {
			if (r->expires_ms <= c->now_ms || str_eq(r->agent, ask->agent))
				continue;
			held = true;
			if (!*until || r->expires_ms < *until)
				*until = r->expires_ms;
		}
		if (!held)
			out->freed[out->freed_count++] = ask->scopes[i];
	}
	return e;
}

static enum err look_beads(struct call *c, const struct wait_ask *ask,
			   struct wait_answer *out)
{
	struct beads b;
	struct bead_row *row;
	enum err e;

	if (!ask->bead_count)
		return ERR_OK;
	if ((e = beads_open(c, BEADS_READ, &b)))
		return e;
	out->beads = arena_array(&c->mem, ask->bead_count, sizeof *out->beads);
	for (size_t i = 0; !e && i < ask->bead_count; i++) {
		if ((e = find_bead(c, &b, ask->beads[i].id, &row)))
			break;
		if (row->status == ask->beads[i].status)
			out->beads[out->bead_count++] =
				(struct bead_goal){ arena_copy(&c->mem, row->id),
						    row->status };
	}
	beads_close(&b);
	return e;
}

static enum err look(struct call *c, struct agent_files *f, const struct wait_ask *ask,
		     struct wait_answer *out, int64_t *until)
{
	enum err e = ERR_OK;

	*out = (struct wait_answer){ 0 };
	*until = 0;
	if (ask->mail)
		e = mail_inbox(c, f, ask->agent, &ask->filter, &out->mail);
	if (e || (e = look_scopes(c, f, ask, out, until)))
		return e;
	return look_beads(c, ask, out);
}

/* What is looked at in vain leaves no memory behind, however often that is. */
static enum err probe(struct call *c, struct agent_files *f, const struct wait_ask *ask,
		      bool *found, int64_t *until)
{
	struct call once = *c;
	struct wait_answer answer;
	enum err e;

	once.mem = (struct arena){ 0 };
	e = look(&once, f, ask, &answer, until);
	*found = e || over(&answer);
	call_release(&once);
	return ERR_OK; /* what is wrong is said when it is looked at in earnest */
}

static enum err places(struct call *c, const struct agent_files *f,
		       const struct wait_ask *ask, struct watch_at at[3])
{
	struct beads b;
	enum err e;

	for (int i = 0; i < 3; i++)
		at[i] = (struct watch_at){ 0 };
	if (ask->mail)
		at[0] = (struct watch_at){ path_join(&c->mem, f->home, STR("messages")),
					   arena_fmt(&c->mem, STR_FMT ".jsonl",
						     STR_ARG(ask->agent)) };
	if (ask->scope_count && f->home.p)
		at[1] = (struct watch_at){ path_join(&c->mem, f->home,
						     STR("reservations")),
					   STR("history.") };
	if (!ask->bead_count)
		return ERR_OK;
	if ((e = beads_home(c, &b)))
		return e;
	at[2] = (struct watch_at){ b.home, STR("journal.") };
	return ERR_OK;
}

/* Sleeps until something may have changed. */
static void sleep_on(struct call *c, struct watch *w, int64_t ms, struct wait_answer *out)
{
	const struct listener *l = c->listener;
	int64_t end = moment_ticks() + ms;

	for (;;) {
		int64_t left = end - moment_ticks();

		if (watch_wait(w, left > 0 ? left : 0, l ? l->fd : -1) != WATCH_INPUT ||
		    !l)
			return;
		out->interrupted = l->stop(l->arg);
		if (out->interrupted)
			return;
	}
}

/* Looks, and if that was in vain sleeps until it is worth looking again. */
static enum err round_of(struct call *c, struct agent_files *f,
			 const struct wait_ask *ask, const struct watch_at at[3],
			 int64_t left, struct arena *mem, struct wait_answer *out)
{
	int64_t until;
	bool found;
	enum err e;
	AUTO_WATCH w;

	watch_open(&w, mem, at, 3);
	if ((e = probe(c, f, ask, &found, &until)))
		return e;
	if (found && ((e = look(c, f, ask, out, &until)) || over(out)))
		return e;
	out->timed_out = left <= 0;
	if (out->timed_out)
		return ERR_OK;
	if (until && until - c->now_ms < left)
		left = until - c->now_ms;
	sleep_on(c, &w, left, out);
	return ERR_OK;
}

enum err wait_for(struct call *c, struct agent_files *f, const struct wait_ask *ask,
		  struct wait_answer *out)
{
	int64_t began = moment_ticks(), then = c->now_ms;
	struct watch_at at[3];
	struct registered *a;
	enum err e;

	*out = (struct wait_answer){ 0 };
	if ((e = registry_find(c, f, ask->agent, &a)) || (e = places(c, f, ask, at)))
		return e;
	while (!e && !over(out) && !out->timed_out && !out->interrupted) {
		int64_t gone = moment_ticks() - began;
		struct arena mem = { 0 };

		c->now_ms = then + gone;
		e = round_of(c, f, ask, at, ask->timeout_ms - gone, &mem, out);
		arena_release(&mem);
	}
	return e;
}
