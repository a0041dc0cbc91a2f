#include "ops/work/parallel.h"

#include "agents/forecast/forecast.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/claim.h"
#include "beads/ready.h"

/* A bead that was looked at, and, unless it was chosen, the bead that it collides with. */
struct candidate_bead {
	struct prospect one;
	struct collision why; /* `b` is NULL if the bead was chosen */
	struct candidate_bead *next;
};

/* A ready bead that files are reserved for is among the busy ones, too: it does not collide with
 * itself. Returns whether it collides. */
static bool candidate_collides(struct candidate_bead *one, const struct prospect *other,
			       int64_t least)
{
	struct collision x;

	if (str_eq(one->one.id, other->id))
		return false;
	forecast_compare(&one->one, other, &x);
	if (x.score >= least)
		one->why = x;
	return one->why.b;
}

struct choice {
	struct forecast f;
	struct prospect *busy;
	struct candidate_bead *first, **tail;
	int64_t chosen, wanted, least;
};

static enum err choice_consider(struct call *c, struct choice *ch, struct bead_row *row)
{
	struct candidate_bead *one = arena_new(&c->mem, struct candidate_bead);
	enum err e = forecast_bead(c, &ch->f, row, &one->one);

	if (e)
		return e;
	for (const struct prospect *busy = ch->busy; busy; busy = busy->next)
		if (candidate_collides(one, busy, ch->least))
			break;
	for (const struct candidate_bead *other = ch->first; other && !one->why.b;
	     other = other->next)
		if (!other->why.b)
			candidate_collides(one, &other->one, ch->least);
	ch->chosen += !one->why.b;
	*ch->tail = one;
	ch->tail = &one->next;
	return ERR_OK;
}

/* Reads the ready beads in batches until enough are chosen, because most are not needed. */
static enum err choice_make(struct call *c, struct choice *ch, const struct bead_filter *filter)
{
	struct bead_filter part = *filter;
	int64_t seen = 0, skip;
	struct bead_row *rows;
	enum err e = forecast_busy(c, &ch->f, &ch->busy);

	ch->tail = &ch->first;
	part.lean = false;
	for (part.limit = ch->wanted * 2; !e && ch->chosen < ch->wanted; part.limit *= 4) {
		if (part.limit > PARALLEL_SEEN_MOST)
			part.limit = PARALLEL_SEEN_MOST;
		if ((e = ready_each(c, ch->f.b, &part, &rows)))
			return e;
		for (skip = seen; rows && skip; skip--)
			rows = rows->next;
		if (!rows)
			break;
		for (; !e && rows && ch->chosen < ch->wanted; rows = rows->next, seen++)
			e = choice_consider(c, ch, rows);
	}
	return e;
}

/* --- claims --- */

/* All claims are one change. Each is written in the name of the agent that gets the bead. */
static enum err choice_claim(struct call *c, struct choice *ch, const struct parallel *ask)
{
	struct state *change = state_new(&c->mem);
	const struct str *name = ask->names.item;
	struct str actor = c->actor;
	struct edit edit;
	size_t n = 0;
	enum err e = ERR_OK;

	for (struct candidate_bead *one = ch->first; !e && one; one = one->next) {
		if (one->why.b)
			continue;
		c->actor = ask->names.n ? name[n++] : actor;
		if (!(e = edit_begin(c, ch->f.b, one->one.row, &edit)) &&
		    !(e = claim_take(&edit, ask->lease)))
			edit_end(&edit, change);
	}
	c->actor = actor;
	if (e || (e = beads_put(c, ch->f.b, change)))
		return e;
	for (struct candidate_bead *one = ch->first; !e && one; one = one->next)
		if (!one->why.b)
			e = cache_find_bead(c, &ch->f.b->cache, one->one.id, &one->one.row);
	return e;
}

/* --- the reply --- */

static void choice_put(struct call *c, const struct candidate_bead *one, const struct parallel *ask,
		       const struct shape *shape, struct json *reply)
{
	struct str why;

	if (!one->why.b)
		why = one->one.count ? STR("collides with nothing in progress or in this list") :
				       STR("nothing is known about the files that it touches");
	else
		why = arena_fmt(&c->mem, "left out: collides with " STR_FMT " (%d%%): " STR_FMT,
				STR_ARG(one->why.b->id), one->why.score,
				STR_ARG(collision_reason(&c->mem, &one->why)));
	json_object(reply);
	public_put(reply, one->one.row, shape);
	if (ask->claim && !one->why.b)
		put_epoch(reply, value_read(&c->mem, one->one.row->line), shape);
	if (ask->explain)
		json_put_str(reply, "why", why);
	if (one->why.b) {
		json_put_bool(reply, "left_out", true);
		json_put_str(reply, "collides_with", one->why.b->id);
		json_put_int(reply, "score", one->why.score);
	}
	json_end(reply);
}

static void choice_encode(struct call *c, const struct choice *ch, const struct parallel *ask,
			  const struct shape *shape, struct json *reply)
{
	json_array(reply);
	for (int left_out = 0; left_out <= ask->explain; left_out++)
		for (const struct candidate_bead *one = ch->first; one; one = one->next)
			if (!one->why.b == !left_out)
				choice_put(c, one, ask, shape, reply);
	json_end(reply);
	if (ch->chosen < ch->wanted && ch->first)
		call_warn(c, "only %lld of %lld beads can be worked on in parallel; %s",
			  (long long)ch->chosen, (long long)ch->wanted,
			  ask->explain ? "--min-score 50 accepts more risk" :
					 "--explain shows why the others can't");
}

static enum err parallel_check(struct call *c, const struct parallel *ask)
{
	if (ask->names.n && !ask->claim)
		return call_fail(c, ERR_INVALID_INPUT, "--for requires --claim");
	if (ask->names.n && (int64_t)ask->names.n != ask->count) {
		call_fail(c, ERR_INVALID_INPUT, "--parallel %lld needs %lld names, --for has %zu",
			  (long long)ask->count, (long long)ask->count, ask->names.n);
		return call_step(c, "Give each agent's name once: --parallel %zu", ask->names.n);
	}
	return ERR_OK;
}

enum err parallel_run(struct call *c, struct beads *b, const struct bead_filter *filter,
		      const struct parallel *ask, const struct shape *shape, struct json *reply)
{
	struct choice ch = { .wanted = ask->count, .least = ask->least };
	enum err e = parallel_check(c, ask);

	if (e || (e = forecast_open(c, b, &ch.f)))
		return e;
	e = choice_make(c, &ch, filter);
	forecast_close(&ch.f);
	if (!e && ask->claim)
		e = choice_claim(c, &ch, ask);
	if (!e)
		choice_encode(c, &ch, ask, shape, reply);
	return e;
}

enum err parallel_look(struct call *c)
{
	struct forecast f;
	struct beads b;
	enum err e = beads_open(c, BEADS_READ, &b);

	if (e)
		return e;
	if (!(e = forecast_open(c, &b, &f)))
		forecast_close(&f);
	beads_close(&b);
	return e;
}
