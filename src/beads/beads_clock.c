/*
 * The clock of this replica and the prefix of its ids. Both follow what is joined to the store:
 * the next stamp is later than every stamp within a day of the wall clock, and the later choice
 * of a prefix wins.
 */
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/beads_parts.h"
#include "beads/model/state.h"

int64_t beads_horizon(const struct call *c)
{
	return c->now_ms + STAMP_FOLLOWED_MS;
}

static void clock_set_prefix(struct call *c, struct beads *b, struct str prefix, struct mark mark)
{
	struct json j = json_new(&c->mem);

	mark_encode(&j, mark);
	b->about.prefix = prefix;
	b->about.prefix_mark = json_text(&j);
}

struct mark beads_prefix_mark(struct call *c, const struct beads *b)
{
	struct mark mark = { 0 };

	if (!b->about.prefix.p || !mark_decode(value_read(&c->mem, b->about.prefix_mark), &mark))
		return (struct mark){ 0 };
	return mark_within(mark, beads_horizon(c));
}

void beads_choose_prefix(struct call *c, struct beads *b, const struct state *change)
{
	struct state *both = state_new(&c->mem);

	if (!change->prefix_mark.by.p)
		return;
	state_put_prefix(both, b->about.prefix, beads_prefix_mark(c, b));
	state_put_prefix(both, change->prefix, mark_within(change->prefix_mark, beads_horizon(c)));
	clock_set_prefix(c, b, both->prefix, both->prefix_mark);
}

/* The last stamp of this replica. One beyond the horizon does not count: the wall clock was set
 * back since. */
static struct stamp clock_last(const struct call *c, const struct beads *b)
{
	struct stamp last = { b->about.clock_ms, b->about.clock_n };

	return last.ms <= beads_horizon(c) ? last : (struct stamp){ 0 };
}

static void clock_set(struct beads *b, struct stamp clock)
{
	b->about.clock_ms = clock.ms;
	b->about.clock_n = clock.n;
}

void beads_advance(struct call *c, struct beads *b, const struct state *change)
{
	struct stamp last = clock_last(c, b), clock = state_clock(change, beads_horizon(c));
	int64_t latest = state_clock(change, INT64_MAX).ms;

	beads_choose_prefix(c, b, change);
	b->about.latest_ms = latest > b->about.latest_ms ? latest : b->about.latest_ms;
	clock_set(b, stamp_cmp(clock, last) > 0 ? clock : last);
}

void beads_learn(struct call *c, struct beads *b, const struct state *all)
{
	if (all->prefix_mark.by.p)
		clock_set_prefix(c, b, all->prefix, all->prefix_mark);
	clock_set(b, state_clock(all, beads_horizon(c)));
	b->about.latest_ms = state_clock(all, INT64_MAX).ms;
	b->about.beads = (int64_t)all->slots.count;
}

struct mark beads_mark(struct call *c, const struct beads *b)
{
	return (struct mark){ stamp_next(clock_last(c, b), c->now_ms), c->actor };
}

struct mark beads_mark_after(struct call *c, const struct beads *b, struct mark known)
{
	struct mark mark = beads_mark(c, b);

	if (known.by.p && stamp_cmp(known.at, mark.at) >= 0)
		mark.at = stamp_next(known.at, c->now_ms);
	return mark;
}
