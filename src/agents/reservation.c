#include "agents/reservation.h"

#include <stdlib.h>

#include "agents/protocol.h"
#include "base/id.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/utf8.h"
#include "base/value.h"

static const struct str active_file = { "reservations/active.json", 24 };
static const struct str history_file = { "reservations/history.jsonl", 26 };

/* --- text --- */

static void put_members(struct json *j, const struct reservation *r)
{
	json_put_str(j, "reservation_id", r->id);
	json_put_str(j, "scope", r->scope);
	json_put_str(j, "agent_id", r->agent);
	json_put_str(j, "bead_id", r->bead);
	json_put_str(j, "state", r->state);
	json_put_moment(j, "created_at", r->created_ms);
	json_put_moment(j, "expires_at", r->expires_ms);
	json_put_moment(j, "released_at", r->released_ms);
	json_put_int(j, "epoch", r->epoch);
}

void reservation_encode(struct json *j, const struct call *c, const struct reservation *r)
{
	json_object(j);
	put_members(j, r);
	json_put_bool(j, "expired", r->expires_ms <= c->now_ms);
	json_end(j);
}

static bool decode(struct call *c, const struct value *v, struct reservation *out)
{
	struct str released = value_str(v, "released_at");

	*out = (struct reservation){ .id = value_str(v, "reservation_id"),
				     .scope = value_str(v, "scope"),
				     .agent = value_str(v, "agent_id"),
				     .bead = value_str(v, "bead_id"),
				     .state = value_str(v, "state") };
	return out->id.n && out->agent.n && out->bead.n && out->state.n &&
	       moment_parse(value_str(v, "created_at"), &out->created_ms) &&
	       moment_parse(value_str(v, "expires_at"), &out->expires_ms) &&
	       (!released.p || moment_parse(released, &out->released_ms)) &&
	       value_int(v, "epoch", &out->epoch) &&
	       scope_parse(&c->mem, STR("/"), out->scope, &out->key) == SCOPE_FINE;
}

/* --- what there is --- */

struct book {
	struct reservation *live; /* those that are active; in no order */
	size_t count;
	int64_t epoch; /* the last one that was given */
};

static struct reservation *find_scope(const struct book *b, struct str key)
{
	for (size_t i = 0; i < b->count; i++)
		if (str_eq(b->live[i].key, key))
			return &b->live[i];
	return NULL;
}

/* What has happened to a reservation. */
static void enter(struct call *c, struct book *b, const struct reservation *r)
{
	struct reservation *there = find_scope(b, r->key);

	if (b->epoch < r->epoch)
		b->epoch = r->epoch;
	if (!str_is(r->state, "active")) {
		if (there && str_eq(there->id, r->id))
			*there = b->live[--b->count];
		return;
	}
	if (!there) {
		b->live = arena_room(&c->mem, b->live, b->count, sizeof *r);
		there = &b->live[b->count++];
	}
	*there = *r;
}

static enum err read_history(struct call *c, struct agent_files *f, struct book *b)
{
	struct str text, rest, line;
	enum err e = agent_file_read(c, f, history_file, &text);

	for (rest = text; !e && rest.n && str_next(&rest, '\n', &line);) {
		struct value_error error;
		const struct value *v = value_parse(&c->mem, line, &error);
		struct reservation r;

		if (!v || !decode(c, v, &r))
			return agent_file_damaged(c, f, history_file, line.p - text.p);
		enter(c, b, &r);
	}
	return e;
}

/* False: it is not whole. */
static bool read_active(struct call *c, struct str text, int64_t *known, struct book *b)
{
	struct value_error error;
	const struct value *v = value_parse(&c->mem, text, &error),
			   *list = value_find(v, "reservations");

	if (!list || list->type != VALUE_ARRAY || !value_int(v, "history", known) ||
	    !value_int(v, "epoch", &b->epoch))
		return false;
	b->live = arena_array(&c->mem, list->count + 1, sizeof *b->live);
	for (b->count = 0; b->count < list->count; b->count++)
		if (!decode(c, &list->item[b->count], &b->live[b->count]))
			return false;
	return true;
}

/* The snapshot, if it knows all of the record; else that has to be read. */
static enum err open_book(struct call *c, struct agent_files *f, struct book *b)
{
	int64_t known = -1;
	struct str text;
	enum err e = agent_file_read(c, f, active_file, &text);

	*b = (struct book){ 0 };
	if (e)
		return e;
	if (text.p && !read_active(c, text, &known, b)) {
		known = -1;
		c->warning = arena_fmt(&c->mem,
				       "'" STR_FMT "' is damaged; what is reserved was "
				       "taken from '" STR_FMT "'",
				       STR_ARG(active_file), STR_ARG(history_file));
	}
	if (known == agent_file_size(c, f, history_file))
		return ERR_OK;
	*b = (struct book){ 0 };
	return read_history(c, f, b);
}

static int by_key(const void *a, const void *b)
{
	return str_cmp(((const struct reservation *)a)->key,
		       ((const struct reservation *)b)->key);
}

static enum err write_active(struct call *c, struct agent_files *f, struct book *b)
{
	struct json j = { .out.mem = &c->mem };

	qsort(b->live, b->count, sizeof *b->live, by_key);
	json_object(&j);
	json_put_int(&j, "history", agent_file_size(c, f, history_file)); /* bytes */
	json_put_int(&j, "epoch", b->epoch);
	json_put_array(&j, "reservations");
	for (size_t i = 0; i < b->count; i++) {
		json_object(&j);
		put_members(&j, &b->live[i]);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_char(&j.out, '\n');
	return agent_file_swap(c, f, active_file, buf_str(&j.out));
}

/* The record first, in one piece; then the snapshot. */
static enum err note(struct call *c, struct agent_files *f, struct book *b,
		     const struct reservation *before, const struct reservation *now)
{
	struct json j = { .out.mem = &c->mem };
	enum err e;

	for (const struct reservation *r = before ? before : now; r;
	     r = r == now ? NULL : now) {
		enter(c, b, r);
		json_object(&j);
		put_members(&j, r);
		json_end(&j);
		j.comma = false;
		buf_char(&j.out, '\n');
	}
	e = agent_file_append(c, f, history_file, buf_str(&j.out));
	return e ? e : write_active(c, f, b);
}

/* --- reserving --- */

static enum vitality owner_of(struct call *c, struct agent_files *f,
			      const struct reservation *r)
{
	struct registered *a;

	if (!registry_find(c, f, r->agent, &a))
		return vitality_of(a->seen_ms, c->now_ms, c->stale_minutes);
	c->code = ERR_OK;
	return VITALITY_EVICTED; /* whoever is not known is not there */
}

static enum err taken(struct call *c, enum err code, const struct reservation *r,
		      const char *how)
{
	struct json j = { .out.mem = &c->mem };

	call_fail(c, code, "'" STR_FMT "' is reserved by '" STR_FMT "' %s %s",
		  STR_ARG(r->scope), STR_ARG(r->agent), how,
		  moment_format(&c->mem, r->expires_ms).p);
	json_object(&j);
	json_put_str(&j, "agent_id", r->agent);
	json_put_str(&j, "scope", r->scope);
	json_put_str(&j, "bead_id", r->bead);
	json_put_str(&j, "expires_at", moment_format(&c->mem, r->expires_ms));
	json_put_int(&j, "epoch", r->epoch);
	json_end(&j);
	return call_detail(c, json_text(&j));
}

/* May the reservation of another of the very same scope be taken? */
static enum err may_take(struct call *c, struct agent_files *f,
			 const struct reservation *r, bool takeover)
{
	bool over = r->expires_ms <= c->now_ms;

	if (!over && owner_of(c, f, r) == VITALITY_ACTIVE)
		return taken(c, ERR_RESERVATION_CONFLICT, r, "until");
	if (takeover)
		return ERR_OK;
	return taken(c, ERR_RESERVATION_STALE_FOUND, r,
		     over ? "and that ended at" : "who is not there, until");
}

static enum err find_incursions(struct call *c, struct agent_files *f,
				const struct book *b, const struct reserve_ask *ask,
				struct str key, struct incursion **out)
{
	struct incursion **tail = out;

	*out = NULL;
	for (size_t i = 0; i < b->count; i++) {
		const struct reservation *r = &b->live[i];
		enum overlap kind = scope_overlap(r->key, key);
		struct incursion *one;

		if (kind == OVERLAP_DISJOINT || str_eq(r->agent, ask->agent) ||
		    (kind == OVERLAP_PARTIAL && r->expires_ms <= c->now_ms))
			continue;
		if (ask->strict && kind == OVERLAP_PARTIAL)
			return taken(c, ERR_RESERVATION_CONFLICT, r, "until");
		one = arena_new(&c->mem, struct incursion);
		*one = (struct incursion){ .with = *r,
					   .kind = kind,
					   .owner = owner_of(c, f, r) };
		*tail = one;
		tail = &one->next;
	}
	return ERR_OK;
}

static enum err record_incursions(struct call *c, struct agent_files *f,
				  const struct reservation *mine,
				  const struct incursion *i)
{
	enum err e = ERR_OK;

	for (; !e && i; i = i->next) {
		struct protocol_event event = {
			.type = EVENT_INCURSION,
			.bead = mine->bead,
			.from = mine->agent,
			.to = i->with.agent,
			.scope = mine->scope,
			.kind = str_of(names_word(&overlaps, (int)i->kind)),
			.liveness = str_of(names_word(&vitalities, (int)i->owner)),
			.action =
				i->kind == OVERLAP_EXACT ?
					STR("The scope was taken over; agree with its "
					    "owner before it goes on.") :
					STR("Both work here; write to each other before "
					    "you change the same file."),
		};

		e = protocol_record(c, f, &event);
	}
	return e;
}

/* The same one with a new end, if it is the agent's own; else one of its own. */
static struct reservation *renewed(struct call *c, const struct reserve_ask *ask,
				   struct str key, const struct book *b)
{
	struct reservation *r = arena_new(&c->mem, struct reservation),
			   *there = find_scope(b, key);

	if (there && str_eq(there->agent, ask->agent))
		*r = *there;
	else
		*r = (struct reservation){
			.id = id_mint(&c->mem, "res", c->now_ms),
			/* never from the root of the disk: the project may move */
			.scope = ask->scope.p[0] != '/' ? ask->scope :
				 key.n                  ? key :
							  STR("/"),
			.agent = ask->agent,
			.key = key,
			.state = STR("active"),
			.created_ms = c->now_ms,
			.epoch = b->epoch + 1
		};
	r->bead = ask->bead;
	r->expires_ms = c->now_ms + ask->minutes * 60000;
	return r;
}

enum err reservation_make(struct call *c, struct agent_files *f,
			  const struct reserve_ask *ask, struct reservation **out,
			  struct incursion **incursions)
{
	struct registered *a;
	struct reservation *there, gone;
	struct book b;
	struct str key;
	bool others;
	enum err e;

	if (!str_trim(ask->bead).n || utf8_has_control(ask->bead))
		return call_fail(c, ERR_MISSING_BEAD_ID,
				 "a reservation has to say for which bead it is");
	if ((e = scope_normalise(c, f->root.p ? f->root : STR("/"), ask->scope, &key)) ||
	    (e = registry_find(c, f, ask->agent, &a)) || (e = open_book(c, f, &b)))
		return e;
	there = find_scope(&b, key);
	others = there && !str_eq(there->agent, ask->agent);
	if ((others && (e = may_take(c, f, there, ask->takeover))) ||
	    (e = find_incursions(c, f, &b, ask, key, incursions)))
		return e;
	*out = renewed(c, ask, key, &b);
	if (others) {
		gone = *there;
		gone.state = STR("expired");
	}
	if ((e = note(c, f, &b, others ? &gone : NULL, *out)) ||
	    (e = record_incursions(c, f, *out, *incursions)))
		return e;
	return registry_touch(c, f, a);
}

/* --- releasing --- */

enum err reservation_release(struct call *c, struct agent_files *f, struct str agent,
			     struct str scope, int64_t epoch, struct reservation **out)
{
	struct registered *a;
	struct reservation *there;
	struct book b;
	struct str key;
	enum err e;

	if ((e = scope_normalise(c, f->root.p ? f->root : STR("/"), scope, &key)) ||
	    (e = registry_find(c, f, agent, &a)) || (e = open_book(c, f, &b)))
		return e;
	if (!(there = find_scope(&b, key)))
		return call_fail(c, ERR_RESERVATION_NOT_FOUND,
				 "nobody has reserved '" STR_FMT "'", STR_ARG(scope));
	*out = arena_new(&c->mem, struct reservation);
	**out = *there;
	if (!str_eq((*out)->agent, agent))
		return taken(c, ERR_RELEASE_FORBIDDEN, *out, "until");
	if (epoch && epoch != (*out)->epoch)
		return call_fail(
			c, ERR_RELEASE_FORBIDDEN,
			"'" STR_FMT "' was taken since: its epoch is %lld, not %lld",
			STR_ARG(scope), (long long)(*out)->epoch, (long long)epoch);
	(*out)->state = STR("released");
	(*out)->released_ms = c->now_ms;
	if ((e = note(c, f, &b, NULL, *out)))
		return e;
	return registry_touch(c, f, a);
}

/* --- looking --- */

enum err reservation_each(struct call *c, struct agent_files *f, struct str agent,
			  struct str bead, struct reservation **out)
{
	struct reservation **tail = out;
	struct book b;
	enum err e = open_book(c, f, &b);

	*out = NULL;
	if (e)
		return e;
	qsort(b.live, b.count, sizeof *b.live, by_key);
	for (size_t i = 0; i < b.count; i++) {
		struct reservation *r = &b.live[i];

		if ((agent.p && !str_eq(r->agent, agent)) ||
		    (bead.p && !str_eq(r->bead, bead)))
			continue;
		*tail = r;
		tail = &r->next;
	}
	*tail = NULL;
	return ERR_OK;
}
