/*
 * Joins the reservations of other machines to those of this clone: each one that has changed
 * becomes a line of the record.
 */
#include "agents/reservation.h"
#include "agents/reservation_book.h"
#include "base/map.h"

struct reservation_joining {
	struct call *c;
	const struct book *b;
	struct book_change *change;
	size_t count;
	struct map ids; /* of the reservations in the list */
	int64_t room;   /* bytes of the record that other machines may still fill */
	struct str left_out;
	bool changed, missed;
};

/*
 * Other machines add reservations only while the record is not half full. Each one is also ended by
 * a line, and there is always room for the agents of this machine.
 */
static bool reservation_fits(struct reservation_joining *k, const struct reservation *r)
{
	enum { LINE_MORE = 1024 }; /* the members besides the scope, which is written twice */

	if (!r->machine.p)
		return true;
	k->room -= (int64_t)r->scope.n * 2 + LINE_MORE;
	if (k->room >= 0)
		return true;
	k->left_out = r->via;
	return false;
}

static void reservation_add_change(struct reservation_joining *k, const struct reservation *r)
{
	k->change = arena_room(&k->c->mem, k->change, k->count, sizeof *k->change);
	k->change[k->count++] = (struct book_change){ .now = r };
}

/*
 * Takes over the end of a reservation that is active here. A contested one is recorded even if it
 * was never active here.
 */
static void reservation_join_ended(struct reservation_joining *k, const struct reservation *r)
{
	struct reservation there;
	bool held = book_find(k->c, k->b, r->key, &there) && str_eq(there.id, r->id);

	if (held || (r->state == RESERVATION_CONTESTED && !r->text.p))
		reservation_add_change(k, r);
}

/*
 * Takes over an active reservation. An expired one is ignored, since every writer ends those,
 * unless the same reservation has a later end here.
 */
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
	else if (reservation_fits(k, r))
		reservation_add_change(k, r);
}

/* Ended reservations come first, so that of two with the same scope the active one is last. */
enum err reservation_join(struct call *c, struct agent_files *f, const struct reservation *list,
			  bool changed, struct reservation_missed *missed)
{
	struct book b;
	struct reservation_joining k = { .c = c, .b = &b, .ids.mem = &c->mem, .changed = changed };
	int64_t size;
	enum err e = agent_file_size(c, f, STR("reservations/history.jsonl"), &size);

	*missed = (struct reservation_missed){ 0 };
	if (e || (e = book_open(c, f, false, &b)))
		return e;
	k.room = AGENT_RECORD_FULL / 2 - size;
	for (const struct reservation *r = list; r; r = r->next)
		map_put(&k.ids, r->id);
	for (const struct reservation *r = list; r; r = r->next)
		if (r->state != RESERVATION_ACTIVE)
			reservation_join_ended(&k, r);
	for (const struct reservation *r = list; r; r = r->next)
		if (r->state == RESERVATION_ACTIVE)
			reservation_join_active(&k, r);
	*missed = (struct reservation_missed){ k.missed, k.left_out };
	return k.count ? book_commit(c, f, &b, k.change, k.count, NULL) : ERR_OK;
}
