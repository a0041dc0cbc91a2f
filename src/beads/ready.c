#include "beads/ready.h"

#include "beads/claim.h"
#include "beads/model/state.h"
#include "store/db/bead_query.h"

enum err ready_each(struct call *c, struct beads *b, const struct bead_filter *filter,
		    struct bead_row **out)
{
	struct bead_filter next = *filter;

	next.free = true;
	next.actor = c->actor;
	next.now = c->now_ms - b->margin_ms;
	return query_each(c, &b->cache, &next, out);
}

enum err ready_claim(struct call *c, struct beads *b, const struct bead_filter *filter,
		     int64_t lease_ms, struct bead_row **out)
{
	struct state *change = state_new(&c->mem);
	struct bead_filter first = *filter;
	struct edit edit;
	enum err e;

	first.limit = 1;
	if ((e = ready_each(c, b, &first, out)) || !*out)
		return e;
	if ((e = edit_begin(c, b, *out, &edit)) || (e = claim_take(&edit, lease_ms)))
		return e;
	edit_end(&edit, change);
	if ((e = beads_put(c, b, change)))
		return e;
	return cache_find_bead(c, &b->cache, (*out)->id, out);
}
