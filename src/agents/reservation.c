#include "agents/reservation.h"

#include <stdlib.h>

#include "agents/protocol.h"
#include "base/id.h"
#include "base/json.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/utf8.h"
#include "base/value.h"

static const struct str active_file = { "reservations/active.json", 24 };
static const struct str history_file = { "reservations/history.jsonl", 26 };

/* --- text --- */

static void put_members(struct json *j, const struct reservation *r)
{
	struct arena *mem = j->out.mem;

	json_put_str(j, "reservation_id", r->id);
	json_put_str(j, "scope", r->scope);
	json_put_str(j, "agent_id", r->agent);
	json_put_str(j, "bead_id", r->bead);
	json_put_str(j, "state", r->state);
	json_put_str(j, "created_at", moment_format(mem, r->created_ms));
	json_put_str(j, "expires_at", moment_format(mem, r->expires_ms));
	json_put_str(j, "released_at",
		     r->released_ms ? moment_format(mem, r->released_ms) :
				      (struct str){ 0 });
	json_put_int(j, "epoch", r->epoch);
}

void reservation_encode(struct json *j, const struct call *c, const struct reservation *r)
{
	json_object(j);
	put_members(j, r);
	json_put_bool(j, "expired", r->expires_ms <= c->now_ms);
	json_end(j);
}

static bool decode(struct arena *mem, const struct value *v, struct reservation *out)
{
	struct str released = value_str(v, "released_at");
	struct call quiet = { 0 };
	bool well;

	*out = (struct reservation){ .id = value_str(v, "reservation_id"),
				     .scope = value_str(v, "scope"),
				     .agent = value_str(v, "agent_id"),
				     .bead = value_str(v, "bead_id"),
				     .state = value_str(v, "state") };
	well = out->id.n && out->agent.n && out->bead.n && out->state.n &&
	       moment_parse(value_str(v, "created_at"), &out->created_ms) &&
	       moment_parse(value_str(v, "expires_at"), &out->expires_ms) &&
	       (!released.p || moment_parse(released, &out->released_ms)) &&
	       value_int(v, "epoch", &out->epoch) &&
	       !scope_normalise(&quiet, STR("/"), out->scope, &out->key);
	out->key = arena_copy(mem, out->key);
	call_release(&quiet);
	return well;
}

/* --- what there is --- */

struct book {
	struct map live;   /* by key: struct reservation that is active */
	struct map epochs; /* by key: the last one that was given, of whoever */
};

static void enter(struct call *c, struct book *b, const struct reservation *r)
{
	struct reservation *kept = arena_new(&c->mem, struct reservation);
	void **live = map_put(&b->live, r->key), **epoch = map_put(&b->epochs, r->key);

	*kept = *r;
	if (str_is(r->state, "active"))
		*live = kept;
	else if (*live && str_eq(((struct reservation *)*live)->id, r->id))
		*live = NULL;
	if (!*epoch || ((struct reservation *)*epoch)->epoch < r->epoch)
		*epoch = kept;
}

static enum err read_history(struct call *c, struct agent_files *f, struct book *b)
{
	struct str text, line;
	enum err e = agent_file_read(c, f, history_file, &text);

	for (size_t n = 1; !e && text.n && str_next(&text, '\n', &line); n++) {
		struct value_error error;
		const struct value *v = value_parse(&c->mem, line, &error);
		struct reservation r;

		if (!v || !decode(&c->mem, v, &r))
			return agent_file_damaged(c, history_file, n);
		enter(c, b, &r);
	}
	return e;
}

/* The snapshot, if it is whole and knows all of the record; else that has to be read. */
static bool read_active(struct call *c, struct str text, int64_t recorded, struct book *b)
{
	struct value_error error;
	const struct value *v = text.p ? value_parse(&c->mem, text, &error) : NULL,
			   *list = value_find(v, "reservations");
	int64_t known;

	if (!list || list->type != VALUE_ARRAY || !value_int(v, "history", &known) ||
	    known != recorded)
		return false;
	for (size_t i = 0; i < list->count; i++) {
		struct reservation r;

		if (!decode(&c->mem, &list->item[i], &r))
			return false;
		enter(c, b, &r);
	}
	return true;
}

static enum err open_book(struct call *c, struct agent_files *f, struct book *b)
{
	struct str text;
	enum err e = agent_file_read(c, f, active_file, &text);

	*b = (struct book){ .live.mem = &c->mem, .epochs.mem = &c->mem };
	if (e || read_active(c, text, agent_file_size(c, f, history_file), b))
		return e;
	*b = (struct book){ .live.mem = &c->mem, .epochs.mem = &c->mem };
	return read_history(c, f, b);
}

/* The last of each scope, active or not: the epochs go on from there. */
static enum err write_active(struct call *c, struct agent_files *f, struct book *b)
{
	const struct map_entry **order = map_sorted(&b->epochs, &c->mem);
	struct json j = { .out.mem = &c->mem };

	json_object(&j);
	json_put_int(&j, "history", agent_file_size(c, f, history_file)); /* bytes */
	json_put_array(&j, "reservations");
	for (size_t i = 0; i < b->epochs.count; i++) {
		void **live = map_find(&b->live, order[i]->key);

		json_object(&j);
		put_members(&j, live && *live ? *live : order[i]->value);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_char(&j.out, '\n');
	return agent_file_replace(c, f, active_file, buf_str(&j.out));
}

/* The record first. */
static enum err note(struct call *c, struct agent_files *f, struct book *b,
		     const struct reservation *r)
{
	struct json j = { .out.mem = &c->mem };

	json_object(&j);
	put_members(&j, r);
	json_end(&j);
	buf_char(&j.out, '\n');
	enter(c, b, r);
	return agent_file_append(c, f, history_file, buf_str(&j.out));
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

static enum err find_incursions(struct call *c, struct agent_files *f, struct book *b,
				const struct reserve_ask *ask, struct str key,
				struct incursion **out)
{
	const struct map_entry **order = map_sorted(&b->live, &c->mem);
	struct incursion **tail = out;

	*out = NULL;
	for (size_t i = 0; i < b->live.count; i++) {
		const struct reservation *r = order[i]->value;
		struct incursion *one;

		if (!r || str_eq(r->agent, ask->agent) ||
		    scope_overlap(r->key, key) == OVERLAP_DISJOINT ||
		    (r->expires_ms <= c->now_ms && !str_eq(r->key, key)))
			continue;
		if (ask->strict && !str_eq(r->key, key))
			return taken(c, ERR_RESERVATION_CONFLICT, r, "until");
		one = arena_new(&c->mem, struct incursion);
		*one = (struct incursion){ r, scope_overlap(r->key, key),
					   owner_of(c, f, r), NULL };
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
			.to = i->with->agent,
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

static struct reservation *renewed(struct call *c, const struct reserve_ask *ask,
				   struct str key, struct book *b)
{
	struct reservation *r = arena_new(&c->mem, struct reservation);
	void **live = map_find(&b->live, key), **last = map_find(&b->epochs, key);

	if (live && *live && str_eq(((struct reservation *)*live)->agent, ask->agent)) {
		*r = *(struct reservation *)*live;
		r->bead = ask->bead;
	} else {
		*r = (struct reservation){
			.id = id_mint(&c->mem, "res", c->now_ms),
			/* never from the root of the disk: the project may move */
			.scope = ask->scope.p[0] != '/' ? ask->scope :
				 key.n                  ? key :
							  STR("/"),
			.agent = ask->agent,
			.bead = ask->bead,
			.key = key,
			.state = STR("active"),
			.created_ms = c->now_ms,
			.epoch = last ? ((struct reservation *)*last)->epoch + 1 : 1
		};
	}
	r->expires_ms = c->now_ms + ask->minutes * 60000;
	return r;
}

enum err reservation_make(struct call *c, struct agent_files *f,
			  const struct reserve_ask *ask, struct reservation **out,
			  struct incursion **incursions)
{
	struct registered *a;
	struct reservation *old, gone;
	struct book b;
	struct str key;
	void **live;
	enum err e;

	if (!str_trim(ask->bead).n || utf8_has_control(ask->bead))
		return call_fail(c, ERR_MISSING_BEAD_ID,
				 "a reservation has to say for which bead it is");
	if ((e = scope_normalise(c, f->root.p ? f->root : STR("/"), ask->scope, &key)) ||
	    (e = registry_find(c, f, ask->agent, &a)) || (e = open_book(c, f, &b)))
		return e;
	live = map_find(&b.live, key);
	old = live ? *live : NULL;
	if (old && str_eq(old->agent, ask->agent))
		old = NULL;
	if ((old && (e = may_take(c, f, old, ask->takeover))) ||
	    (e = find_incursions(c, f, &b, ask, key, incursions)))
		return e;
	*out = renewed(c, ask, key, &b);
	if (old) {
		gone = *old;
		gone.state = STR("expired");
		if ((e = note(c, f, &b, &gone)))
			return e;
	}
	if ((e = note(c, f, &b, *out)) || (e = write_active(c, f, &b)) ||
	    (e = record_incursions(c, f, *out, *incursions)))
		return e;
	return registry_touch(c, f, a);
}

/* --- releasing --- */

enum err reservation_release(struct call *c, struct agent_files *f, struct str agent,
			     struct str scope, int64_t epoch, struct reservation **out)
{
	struct registered *a;
	struct book b;
	struct str key;
	void **live;
	enum err e;

	if ((e = scope_normalise(c, f->root.p ? f->root : STR("/"), scope, &key)) ||
	    (e = registry_find(c, f, agent, &a)) || (e = open_book(c, f, &b)))
		return e;
	live = map_find(&b.live, key);
	if (!live || !*live)
		return call_fail(c, ERR_RESERVATION_NOT_FOUND,
				 "nobody has reserved '" STR_FMT "'", STR_ARG(scope));
	*out = *live;
	if (!str_eq((*out)->agent, agent))
		return taken(c, ERR_RELEASE_FORBIDDEN, *out, "until");
	if (epoch && epoch != (*out)->epoch)
		return call_fail(
			c, ERR_RELEASE_FORBIDDEN,
			"'" STR_FMT "' was taken since: its epoch is %lld, not %lld",
			STR_ARG(scope), (long long)(*out)->epoch, (long long)epoch);
	(*out)->state = STR("released");
	(*out)->released_ms = c->now_ms;
	if ((e = note(c, f, &b, *out)) || (e = write_active(c, f, &b)))
		return e;
	return registry_touch(c, f, a);
}

/* --- looking --- */

enum err reservation_each(struct call *c, struct agent_files *f, struct str agent,
			  struct str bead, struct reservation **out)
{
	struct reservation **tail = out;
	const struct map_entry **order;
	struct book b;
	enum err e = open_book(c, f, &b);

	*out = NULL;
	if (e)
		return e;
	order = map_sorted(&b.live, &c->mem);
	for (size_t i = 0; i < b.live.count; i++) {
		struct reservation *r = order[i]->value;

		if (!r || (agent.p && !str_eq(r->agent, agent)) ||
		    (bead.p && !str_eq(r->bead, bead)))
			continue;
		*tail = r;
		tail = &r->next;
		r->next = NULL;
	}
	return ERR_OK;
}
