/*
 * Reservations of all machines. If two machines reserved overlapping scopes, the earlier
 * reservation holds, and the later one is contested until the earlier one ends. That depends only
 * on the facts and the time, so every machine comes to the same result.
 */
#include <stdlib.h>

#include "agents/mail.h"
#include "agents/protocol.h"
#include "agents/reservation.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/system/path.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "beads/lost.h"
#include "machines/apply.h"
#include "machines/contest.h"

struct holding {
	struct reservation r;
	struct str machine; /* the machine that made it */
	struct stamp at;    /* when it was made; a renewal does not change it */
	struct fact last;   /* the last fact that set its end */
	bool made, ended;
	const struct holding *by; /* the earlier one that contests it; or NULL */
	struct holding *next;
};

struct holding_set {
	struct map all; /* by id: struct holding */
	struct holding **order;
	size_t count;
};

static struct holding *holding_of(struct applying *k, struct holding_set *h, struct str id)
{
	struct arena *mem = &k->c->mem;
	void **at = map_find(&h->all, id);

	if (!at) {
		at = map_put(&h->all, arena_copy(mem, id));
		*at = arena_new(mem, struct holding);
	}
	return *at;
}

/*
 * Anybody who can push can write any time. A reservation lasts at most a day, and clocks differ by
 * at most a day; a reservation that ends later than that does not count.
 */
static bool holding_ends(const struct applying *k, const struct fact *f, int64_t *out)
{
	const int64_t day_ms = INT64_C(24) * 3600 * 1000;

	return value_int(f->data, "expires", out) && *out > 0 && *out <= k->c->now_ms + 8 * day_ms;
}

/* The same bounds as for a reservation that is made here. */
static bool holding_read(struct applying *k, const struct fact *f, struct arena *scratch,
			 struct reservation *r)
{
	*r = (struct reservation){ .id = f->subject,
				   .scope = value_str(f->data, "scope"),
				   .bead = value_str(f->data, "bead"),
				   .machine = apply_machine(k, f->machine) };
	r->agent = registrations_name(&k->agents, f->machine, value_str(f->data, "agent"));
	return id_is_minted(r->id, "res") && registry_id_valid(r->agent) && r->scope.n &&
	       r->scope.n <= 4096 && !utf8_has_control(r->scope) && r->bead.n && r->bead.n <= 500 &&
	       !utf8_has_control(r->bead) && apply_time(k, f, "created", &r->created_ms) &&
	       holding_ends(k, f, &r->expires_ms) && value_int(f->data, "epoch", &r->epoch) &&
	       r->epoch >= 0 && r->epoch < INT64_MAX / 4 &&
	       scope_parse(scratch, STR("/"), r->scope, &r->key) == SCOPE_FINE;
}

static struct reservation holding_copy(struct arena *mem, const struct reservation *r)
{
	struct reservation copy = *r;

	copy.id = arena_copy(mem, r->id);
	copy.scope = arena_copy(mem, r->scope);
	copy.key = arena_copy(mem, r->key);
	copy.agent = arena_copy(mem, r->agent);
	copy.bead = arena_copy(mem, r->bead);
	return copy;
}

static void holding_made(struct applying *k, struct holding_set *h, const struct fact *f,
			 struct arena *scratch)
{
	struct holding *one = holding_of(k, h, f->subject);
	struct str takes = value_str(f->data, "takes");
	struct arena *mem = &k->c->mem;
	struct reservation r;

	if (!holding_read(k, f, scratch, &r))
		return;
	if (!one->made || stamp_cmp(f->at, one->at) < 0) {
		one->at = f->at;
		one->machine = arena_copy(mem, f->machine);
	}
	if (!one->made || fact_cmp(f, &one->last) > 0) {
		struct str first = one->made ? one->r.machine : r.machine;

		one->r = holding_copy(mem, &r);
		one->r.machine = first;
		one->last = (struct fact){ .machine = arena_copy(mem, f->machine),
					   .at = f->at,
					   .by = arena_copy(mem, f->by) };
	}
	one->made = true;
	if (takes.n)
		holding_of(k, h, takes)->ended = true;
}

static void holding_ended(struct applying *k, struct holding_set *h, const struct fact *f)
{
	struct holding *one = holding_of(k, h, f->subject);

	one->ended = true;
	one->r.state =
		f->kind == FACT_RESERVATION_EXPIRED ? RESERVATION_EXPIRED : RESERVATION_RELEASED;
	if (f->kind == FACT_RESERVATION_RELEASED)
		apply_time(k, f, "when", &one->r.released_ms);
}

struct holdings_reading {
	struct applying *k;
	struct holding_set *h;
};

static enum err holding_see(const struct fact_row *row, struct arena *scratch, void *arg)
{
	const struct holdings_reading *reading = arg;
	struct applying *k = reading->k;
	struct fact f;

	if (fact_parse(scratch, row->machine, row->line, &f) != FACT_KNOWN)
		return ERR_OK;
	if (f.kind == FACT_RESERVATION_MADE)
		holding_made(k, reading->h, &f, scratch);
	else
		holding_ended(k, reading->h, &f);
	if (!row->done)
		apply_done(k, &f);
	return ERR_OK;
}

/* Facts are parsed one after the other: all of them would take many times their size. */
static enum err holdings_read(struct applying *k, struct holding_set *h)
{
	static const char *const kinds[] = { "reservation.made", "reservation.released",
					     "reservation.expired" };
	struct holdings_reading reading = { k, h };
	enum err e = ERR_OK;

	*h = (struct holding_set){ .all.mem = &k->c->mem };
	for (size_t i = 0; !e && i < 3; i++) {
		struct fact_filter filter = { .kind = str_of(kinds[i]) };

		e = fact_row_visit_each(k->c, &k->m->db, &filter, holding_see, &reading);
	}
	return e;
}

static int holding_cmp(const void *x, const void *y)
{
	const struct holding *a = *(struct holding *const *)x, *b = *(struct holding *const *)y;
	int order = stamp_cmp(a->at, b->at);

	if (!order)
		order = str_cmp(a->machine, b->machine);
	return order ? order : str_cmp(a->r.id, b->r.id);
}

/* Only the earliest reservations of each machine count, and all of this machine. */
static void holdings_limit(struct applying *k, struct holding_set *h)
{
	enum { MACHINE_MOST = 1000, ALL_MOST = 10000 };
	struct map machines = { .mem = &k->c->mem };
	size_t kept = 0;

	for (size_t i = 0; i < h->count; i++) {
		struct holding *one = h->order[i];

		if ((++*map_number(&machines, one->machine) <= MACHINE_MOST && kept < ALL_MOST) ||
		    str_eq(one->machine, k->m->me.self.id))
			h->order[kept++] = one;
		else
			one->made = false; /* it is not joined */
	}
	h->count = kept;
}

/* The live ones, the earliest first. */
static void holdings_sort(struct applying *k, struct holding_set *h)
{
	h->order = arena_array(&k->c->mem, h->all.count + 1, sizeof *h->order);
	for (size_t i = 0; i < h->all.count; i++) {
		struct holding *one = h->all.entry[i].value;

		if (one->made && !one->ended && one->r.expires_ms > k->c->now_ms)
			h->order[h->count++] = one;
	}
	qsort(h->order, h->count, sizeof(struct holding *), holding_cmp);
	holdings_limit(k, h);
}

static void holdings_contest(struct applying *k, struct holding_set *h)
{
	struct contender *list = arena_array(&k->c->mem, h->count + 1, sizeof *list);

	for (size_t i = 0; i < h->count; i++)
		list[i] = (struct contender){ .machine = h->order[i]->machine,
					      .agent = h->order[i]->r.agent,
					      .scope = h->order[i]->r.key };
	contest_decide(&k->c->mem, list, h->count);
	for (size_t i = 0; i < h->count; i++) {
		struct holding *one = h->order[i];

		one->by = list[i].by ? h->order[list[i].by - list] : NULL;
		one->r.state = one->by ? RESERVATION_CONTESTED : RESERVATION_ACTIVE;
	}
}

/* --- telling the later one --- */

/*
 * An agent is told once of each machine that reserved earlier: a machine that makes and releases an
 * early reservation again and again must not fill this machine's log and mailboxes.
 */
static struct str incursion_mark(struct applying *k, const struct holding *one)
{
	struct str zero = { "", 1 }, pieces[] = { one->r.id, zero, one->by->machine };

	return str_head(sha256_pieces(&k->c->mem, pieces, 3), 16);
}

/* The caller has looked for the mark in the record. */
static enum err incursion_note(struct applying *k, const struct holding *one, struct str mark)
{
	const struct holding *by = one->by;
	struct protocol_event event = {
		.type = EVENT_INCURSION,
		.mark = mark,
		.first = true,
		.bead = one->r.bead,
		.from = one->r.agent,
		.to = by->r.agent,
		.scope = one->r.scope,
		.overlap = scope_overlap(by->r.key, one->r.key),
		.owner = reservation_owner(k->c, &k->files, &by->r),
		.action = STR("Reserved earlier on another machine. Agree by message before "
			      "changing files there."),
	};

	return protocol_record(k->c, &k->files, &event);
}

static struct str incursion_text(struct applying *k, const struct holding *one)
{
	const struct holding *by = one->by;
	struct str where = by->r.machine.p ? by->r.machine : k->m->me.self.name;

	return arena_fmt(&k->c->mem,
			 STR_FMT " reserved '" STR_FMT "' earlier, on the machine '" STR_FMT
				 "'; the reservation of '" STR_FMT "' by " STR_FMT
				 " grants nothing until that one ends",
			 STR_ARG(by->r.agent), STR_ARG(utf8_shorten(&k->c->mem, by->r.scope, 100)),
			 STR_ARG(where), STR_ARG(one->r.scope), STR_ARG(one->r.agent));
}

static enum err incursion_send(struct applying *k, const struct holding *one, struct str mark)
{
	const struct holding *by = one->by;
	struct call *c = k->c;
	struct str before = c->request_id;
	struct mail_draft draft = {
		.from = STR("abacus"),
		.to = one->r.agent,
		.bead = one->r.bead,
		.category = CATEGORY_INFO,
		.urgency = -1,
		.system = true,
		.subject = arena_fmt(&c->mem, "Reservation contested: " STR_FMT,
				     STR_ARG(utf8_shorten(&c->mem, one->r.scope, 300))),
	};
	struct mail *sent;
	enum err e;

	draft.body = arena_fmt(&c->mem,
			       STR_FMT ". Stop changing files there, or agree with " STR_FMT
				       ": bb agent send --to " STR_FMT,
			       STR_ARG(incursion_text(k, one)), STR_ARG(by->r.agent),
			       STR_ARG(by->r.agent));
	c->request_id = arena_fmt(&c->mem, "incursion:" STR_FMT, STR_ARG(mark));
	e = mail_send(c, &k->files, &draft, &sent);
	c->request_id = before;
	k->files.unsettled = NULL;
	return e == ERR_UNKNOWN_RECIPIENT ? call_forgive(c) : e;
}

/* A contested reservation of this machine whose agent was not told yet. */
struct untold {
	const struct holding *one;
	struct str mark;
};

static enum err incursion_tell(struct applying *k, const struct untold *in, bool noted)
{
	const struct holding *one = in->one;
	enum err e = noted ? ERR_OK : incursion_note(k, one, in->mark);

	if (e || (e = incursion_send(k, one, in->mark)))
		return e;
	lost_keep_scope(k->c, path_parent(k->m->home), one->r.agent, one->r.scope,
			incursion_text(k, one));
	k->m->acted = true;
	return value_row_put(k->c, &k->m->db, STR("incursion"), one->r.id, in->mark);
}

static enum err incursions_untold(struct applying *k, const struct holding_set *h,
				  struct untold *out, size_t *count)
{
	enum err e = ERR_OK;

	*count = 0;
	for (size_t i = 0; !e && i < h->count; i++) {
		struct untold in = { .one = h->order[i] };
		bool told;

		if (!in.one->by || !str_eq(in.one->machine, k->m->me.self.id))
			continue;
		in.mark = incursion_mark(k, in.one);
		e = value_row_find(k->c, &k->m->db, STR("incursion"), in.one->r.id, in.mark, &told);
		if (!e && !told)
			out[(*count)++] = in;
	}
	return e;
}

/*
 * The machine that made a later reservation tells its agent, once. An earlier try may have noted the
 * event already. There may be thousands of such reservations, so each is told in memory of its own.
 */
static enum err incursions_tell(struct applying *k, const struct holding_set *h)
{
	struct untold *list = arena_array(&k->c->mem, h->count + 1, sizeof *list);
	struct map noted = { .mem = &k->c->mem };
	struct call *c = k->c;
	size_t count;
	enum err e = incursions_untold(k, h, list, &count);

	for (size_t i = 0; !e && i < count; i++)
		*map_put(&noted, list[i].mark) = NULL;
	if (!e && count)
		e = protocol_find_marks(c, &k->files, &noted);
	for (size_t i = 0; !e && i < count; i++) {
		struct call part = call_part(c);

		k->c = &part;
		e = incursion_tell(k, &list[i], *map_find(&noted, list[i].mark) != NULL);
		k->c = c;
		e = call_part_end(c, &part, e);
	}
	return e;
}

/* --- bringing the files in line --- */

/* A contested reservation is noted once in the record. */
static enum err holding_note(struct applying *k, struct holding *one)
{
	struct str kind = STR("contested");
	bool noted;
	enum err e;

	if (one->r.state != RESERVATION_CONTESTED)
		return value_row_drop(k->c, &k->m->db, kind, one->r.id);
	if ((e = value_row_find(k->c, &k->m->db, kind, one->r.id, STR("1"), &noted)))
		return e;
	if (noted)
		one->r.text = STR("{}"); /* not written again */
	return value_row_put(k->c, &k->m->db, kind, one->r.id, STR("1"));
}

/* Was something reserved or released here since the collection? */
static enum err holdings_changed_here(struct applying *k, bool *out)
{
	struct str file = STR("reservations/history.jsonl");
	int64_t collected, size;
	enum err e = apply_place(k->c, k->m, file, &collected);

	if (!e)
		e = agent_file_size(k->c, &k->files, file, &size);
	*out = !e && size != collected;
	return e;
}

static enum err holdings_join(struct applying *k, struct holding_set *h)
{
	struct reservation *list = NULL, **tail = &list;
	int64_t until = 0;
	struct reservation_missed missed;
	bool changed;
	enum err e = holdings_changed_here(k, &changed);

	for (size_t i = 0; !e && i < h->all.count; i++) {
		struct holding *one = h->all.entry[i].value;

		if (!one->made)
			continue;
		if (one->ended && one->r.state != RESERVATION_RELEASED)
			one->r.state = RESERVATION_EXPIRED;
		one->r.via = one->machine;
		e = holding_note(k, one);
		if (one->by && (!until || one->by->r.expires_ms < until))
			until = one->by->r.expires_ms;
		*tail = &one->r;
		tail = &one->r.next;
	}
	*tail = NULL;
	if (e || (e = reservation_join(k->c, &k->files, list, changed, &missed)) ||
	    (missed.left_out.p &&
	     (e = apply_leave_out(k, STR("the record of reservations"), "reservations",
				  missed.left_out, STR("reservations/history.jsonl")))))
		return e;
	until = missed.waits ? 1 : until; /* in the next round, which knows the new reservation */
	if ((e = place_row_put(k->c, &k->m->db, STR("contested until"),
			       arena_fmt(&k->c->mem, "%lld", (long long)until))))
		return e;
	return place_row_put(k->c, &k->m->db, STR("reservations at"),
			     arena_fmt(&k->c->mem, "%lld", (long long)k->c->now_ms));
}

static enum err reservations_are_open(struct applying *k, bool *out)
{
	static const char *const kinds[] = { "reservation.made", "reservation.released",
					     "reservation.expired" };
	enum err e = ERR_OK;

	*out = k->m->reserved;
	for (size_t i = 0; !e && !*out && i < 3; i++)
		e = apply_has_open(k, kinds[i], out);
	return e;
}

enum err apply_reservations(struct applying *k)
{
	struct holding_set h;
	bool open;
	enum err e = reservations_are_open(k, &open);

	if (e || !open || (e = holdings_read(k, &h)))
		return e;
	holdings_sort(k, &h);
	holdings_contest(k, &h);
	if ((e = holdings_join(k, &h)) || (e = incursions_tell(k, &h)))
		return e;
	k->m->reserved = false;
	return ERR_OK;
}
