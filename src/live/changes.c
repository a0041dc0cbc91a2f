#include "live/changes.h"

#include "base/text/value.h"

static struct change *changes_at(struct changes *all, struct str bead, struct mark m)
{
	struct arena *mem = all->by_mark.mem;
	struct str key = arena_fmt(mem, "%lld.%lld." STR_FMT "/" STR_FMT, (long long)m.at.ms,
				   (long long)m.at.n, STR_ARG(bead), STR_ARG(m.by));
	void **at = map_put(&all->by_mark, key);
	struct change *change;

	if (!*at) {
		*at = change = arena_new(mem, struct change);
		change->bead = arena_copy(mem, bead);
		change->mark = (struct mark){ m.at, arena_copy(mem, m.by) };
	}
	return *at;
}

void changes_note(struct changes *all, const struct bead *b)
{
	struct arena *mem = all->by_mark.mem;

	if (b->created.by.p)
		changes_at(all, b->id, b->created)->created = true;
	for (int r = 0; r < REGS; r++)
		if (bead_mark(b, (enum reg)r).by.p)
			changes_at(all, b->id, bead_mark(b, (enum reg)r))->regs |= 1u << r;
	for (int m = 0; m < MEMBERS; m++) {
		struct mark mark = bead_mark(b, member_reg((enum member)m));
		struct str value = bead_member(b, (enum member)m);

		if (mark.by.p && value.p)
			changes_at(all, b->id, mark)->member[m] = arena_copy(mem, value);
	}
}

/* Every write of the holder renews its lease, which is a part of the register of the assignee. */
static bool change_renews(const struct change *c)
{
	struct arena scratch = { 0 };
	struct stamp since;
	bool renews = (c->regs & 1u << REG_ASSIGNEE) && c->member[MEMBER_ASSIGNEE].p &&
		      stamp_decode(value_read(&scratch, c->member[MEMBER_ASSIGNEE_AT]), &since) &&
		      stamp_cmp(since, c->mark.at) < 0;

	arena_release(&scratch);
	return renews;
}

unsigned change_regs(const struct change *c)
{
	return change_renews(c) ? c->regs & ~(1u << REG_ASSIGNEE) : c->regs;
}

struct str change_word(const struct change *c)
{
	unsigned regs = change_regs(c);

	if (c->created)
		return STR("created");
	if (!regs)
		return STR("renewed");
	if ((regs & 1u << REG_STATUS) && str_is(c->member[MEMBER_STATUS], "\"closed\""))
		return STR("closed");
	if (regs & 1u << REG_ASSIGNEE)
		return c->member[MEMBER_ASSIGNEE].p ? STR("claimed") : STR("released");
	if (regs & 1u << REG_STATUS)
		return STR("status");
	return STR("changed");
}
