/* Reservations that meet those of other machines. */
#include "agents/reservation.h"
#include "agents/reservation_book.h"
#include "base/map.h"

struct reservation_joining {
	struct call *c;
	const struct book *b;
	struct book_change *change;
	size_t count;
	struct map ids; /* of the reservations in the list */
	bool changed, missed;
};

static void reservation_add_change(struct reservation_joining *k, const struct reservation *r)
{
	k->change = arena_room(&k->c->mem, k->change, k->count, sizeof *k->change);
	k->change[k->count++] = (struct book_change){ .now = r };
}

/* One that is not active any more; a contested one is noted even if it never was active here. */
static void reservation_join_ended(struct reservation_joining *k, const struct reservation *r)
{
	struct reservation there;
	bool held = book_find(k->c, k->b, r->key, &there) && str_eq(there.id, r->id);

	if (held || (r->state == RESERVATION_CONTESTED && !r->text.p))
		reservation_add_change(k, r);
}

/* One whose time is over is ended by every writer, but it may have had a later end here. */
static void reservation_join_active(struct reservation_joining *k, const struct reservation *r)
{
	struct reservation there;
	bool held = book_find(k->c, k->b, r->key, &there), same = held && str_eq(there.id, r->id);

	if ((same && there.expires_ms == r->expires_ms && str_eq(there.bead, r->bead) &&
	     str_eq(there.agent, r->agent)) ||
	    (!same && r->expires_ms <= k->c->now_ms))
		return;
	if ((same && k->changed && there.expires_ms > r->expires_ms) ||
	    (held && there.expires_ms > k->c->now_ms && !map_find(&k->ids, there.id)))
		k->missed = true;
	else
		reservation_add_change(k, r);
}

/* The ended ones come first: of two with one scope, the active one is the last in the record. */
enum err reservation_join(struct call *c, struct agent_files *f, const struct reservation *list,
			  bool changed, bool *missed)
{
	struct book b;
	struct reservation_joining k = { .c = c, .b = &b, .ids.mem = &c->mem, .changed = changed };
	enum err e = book_open(c, f, false, &b);

	*missed = false;
	if (e)
		return e;
	for (const struct reservation *r = list; r; r = r->next)
		map_put(&k.ids, r->id);
	for (const struct reservation *r = list; r; r = r->next)
		if (r->state != RESERVATION_ACTIVE)
			reservation_join_ended(&k, r);
	for (const struct reservation *r = list; r; r = r->next)
		if (r->state == RESERVATION_ACTIVE)
			reservation_join_active(&k, r);
	*missed = k.missed;
	return k.count ? book_commit(c, f, &b, k.change, k.count, NULL) : ERR_OK;
}
