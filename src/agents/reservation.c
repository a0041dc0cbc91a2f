/* The rules: which scope may be reserved, taken over and released, by which agent. */
#include "agents/reservation.h"

#include "agents/protocol.h"
#include "agents/receipts.h"
#include "agents/reservation_book.h"
#include "agents/reservation_text.h"
#include "base/id.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/utf8.h"

/* --- reserving --- */

enum liveness reservation_owner(struct call *c, struct agent_files *f, const struct reservation *r)
{
	struct registered *a;

	if (!registry_find(c, f, r->agent, &a))
		return liveness_of(a->seen_ms, c->now_ms, c->stale_minutes);
	call_forgive(c);
	return LIVENESS_EVICTED;
}

/* `how` says when it ends. */
static enum err reservation_taken(struct call *c, enum err code, const struct reservation *r,
				  struct str how)
{
	struct json j = json_new(&c->mem);

	call_fail(c, code, "'" STR_FMT "' is reserved by '" STR_FMT "' " STR_FMT, STR_ARG(r->scope),
		  STR_ARG(r->agent), STR_ARG(how));
	json_object(&j);
	json_put_str(&j, "agent_id", r->agent);
	json_put_str(&j, "scope", r->scope);
	json_put_str(&j, "bead_id", r->bead);
	json_put_str(&j, "expires_at", moment_format(&c->mem, r->expires_ms));
	json_put_int(&j, "epoch", r->epoch);
	json_end(&j);
	return call_detail(c, json_text(&j));
}

static struct str reservation_left(struct call *c, const struct reservation *r)
{
	return arena_fmt(&c->mem, "for another %s",
			 duration_left(&c->mem, r->expires_ms - c->now_ms).p);
}

static enum err reservation_conflict(struct call *c, const struct reservation *r)
{
	reservation_taken(c, ERR_RESERVATION_CONFLICT, r, reservation_left(c, r));
	return call_step(c,
			 "Work on something else, or wait until it is free: bb agent wait "
			 "--agent " STR_FMT " --freed " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, c->actor)),
			 STR_ARG(spawn_word(&c->mem, r->scope)));
}

static enum err reservation_not_yours(struct call *c, const struct reservation *r)
{
	reservation_taken(c, ERR_RELEASE_FORBIDDEN, r, reservation_left(c, r));
	return call_step(
		c,
		"Only the agent that reserved it can release it. To wait until it is free: "
		"bb agent wait --agent " STR_FMT " --freed " STR_FMT,
		STR_ARG(spawn_word(&c->mem, c->actor)), STR_ARG(spawn_word(&c->mem, r->scope)));
}

static enum err reservation_other_epoch(struct call *c, const struct reservation *r, int64_t epoch)
{
	call_fail(c, ERR_RELEASE_FORBIDDEN,
		  "'" STR_FMT "' was reserved again: its epoch is %lld, not %lld",
		  STR_ARG(r->scope), (long long)r->epoch, (long long)epoch);
	return call_step(
		c,
		"It is your own reservation. To release it: bb agent release --agent " STR_FMT
		" --scope " STR_FMT " --epoch %lld",
		STR_ARG(spawn_word(&c->mem, r->agent)), STR_ARG(spawn_word(&c->mem, r->scope)),
		(long long)r->epoch);
}

/*
 * An agent whose clock was once far ahead counts as active until that time comes. No program can
 * tell whether the agent still works, so the error names the command that releases the scope.
 */
static enum err reservation_held(struct call *c, const struct reservation *r,
				 const struct registered *a)
{
	enum { DAY_MS = 86400000 };

	reservation_conflict(c, r);
	if (a->seen_ms - c->now_ms < DAY_MS)
		return c->code;
	return call_step(c,
			 "Its clock was wrong: it was last seen in the future, at %s. If it is "
			 "no longer at work, run: bb agent release --agent " STR_FMT
			 " --scope " STR_FMT,
			 moment_format(&c->mem, a->seen_ms).p, STR_ARG(r->agent),
			 STR_ARG(spawn_word(&c->mem, r->scope)));
}

/* Fails if the owner's registration cannot be read: the owner may be active. */
static enum err reservation_may_take(struct call *c, struct agent_files *f,
				     const struct reservation *r, const struct reserve_ask *ask)
{
	bool over = r->expires_ms <= c->now_ms;
	struct registered *a;
	enum err e = over ? ERR_OK : registry_find(c, f, r->agent, &a);

	if (e && e != ERR_AGENT_NOT_FOUND)
		return e;
	if (!e && !over && liveness_of(a->seen_ms, c->now_ms, c->stale_minutes) == LIVENESS_ACTIVE)
		return reservation_held(c, r, a);
	call_forgive(c);
	if (ask->takeover)
		return ERR_OK;
	reservation_taken(c, ERR_RESERVATION_STALE_FOUND, r,
			  over ? arena_fmt(&c->mem, "until %s, which has passed",
					   moment_format(&c->mem, r->expires_ms).p) :
				 arena_fmt(&c->mem, STR_FMT ", but is not active",
					   STR_ARG(reservation_left(c, r))));
	return call_step(c,
			 "Check first whether its owner still works. To take it over: bb "
			 "agent reserve --takeover-stale --agent " STR_FMT " --bead " STR_FMT
			 " --scope " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, ask->agent)),
			 STR_ARG(spawn_word(&c->mem, ask->bead)),
			 STR_ARG(spawn_word(&c->mem, r->scope)));
}

static enum err reservation_find_incursions(struct call *c, struct agent_files *f,
					    const struct book *b, const struct reserve_ask *ask,
					    struct str key, struct incursion **out)
{
	struct reservation *r = book_overlapping(c, b, key);

	*out = NULL;
	for (; r; r = r->next) {
		bool exact = str_eq(r->key, key);

		if (str_eq(r->agent, ask->agent) || (!exact && r->expires_ms <= c->now_ms))
			continue;
		if (ask->strict && !exact)
			return reservation_conflict(c, r);
		*out = arena_new(&c->mem, struct incursion);
		if (exact) /* reservation_may_take() allowed the takeover */
			reservation_expire(r);
		**out = (struct incursion){ .with = *r,
					    .kind = exact ? OVERLAP_EXACT : OVERLAP_PARTIAL,
					    .owner = reservation_owner(c, f, r) };
		out = &(*out)->next;
	}
	return ERR_OK;
}

/* The lines of the incursions' events; absent if there are none. */
static enum err reservation_incursion_lines(struct call *c, struct agent_files *f,
					    const struct reservation *mine,
					    const struct incursion *i, struct agent_append *out)
{
	struct buf lines = { .mem = &c->mem };
	enum err e = ERR_OK;

	*out = (struct agent_append){ 0 };
	for (; !e && i; i = i->next) {
		struct protocol_event event = {
			.type = EVENT_INCURSION,
			.bead = mine->bead,
			.from = mine->agent,
			.to = i->with.agent,
			.scope = mine->scope,
			.overlap = i->kind,
			.owner = i->owner,
			.action = i->kind == OVERLAP_EXACT ?
					  STR("The scope was taken over. Agree with its former "
					      "owner before changing files.") :
					  STR("Both agents work here. Agree by message before "
					      "changing the same file."),
		};

		if (!(e = protocol_line(c, f, &event, out)))
			buf_put(&lines, out->lines);
	}
	if (lines.n)
		out->lines = buf_str(&lines);
	return e;
}

/* The agent's own reservation with a new end, or a new reservation if `own` is NULL. */
static struct reservation *reservation_renewed(struct call *c, const struct reserve_ask *ask,
					       struct str key, int64_t epoch,
					       const struct reservation *own)
{
	struct reservation *r = arena_new(&c->mem, struct reservation);

	*r = own ? *own :
		   (struct reservation){
			   .id = id_mint(&c->mem, "res", c->now_ms),
			   /* The project may move, so an absolute path is not kept. */
			   .scope = ask->scope.p[0] != '/' ? ask->scope :
				    key.n                  ? key :
							     STR("/"),
			   .agent = ask->agent,
			   .key = key,
			   .created_ms = c->now_ms,
			   .epoch = epoch,
		   };
	r->text = r->via = STR_NONE;
	r->state = RESERVATION_ACTIVE;
	r->bead = ask->bead;
	r->expires_ms = c->now_ms + ask->minutes * 60000;
	if (ask->until_ms && r->expires_ms > ask->until_ms)
		r->expires_ms = ask->until_ms;
	return r;
}

static enum err reservation_check_bead(struct call *c, struct str bead)
{
	if (!str_trim(bead).n)
		return call_fail(c, ERR_MISSING_BEAD_ID, "a reservation requires a bead id");
	if (utf8_has_control(bead))
		return call_fail(c, ERR_INVALID_INPUT,
				 "a bead id can't contain control characters");
	return ERR_OK;
}

static enum err reservation_key(struct call *c, const struct agent_files *f, struct str scope,
				struct str *key)
{
	return scope_normalise(c, f->root.p ? f->root : STR("/"), scope, key);
}

enum err reservation_look(struct call *c, struct agent_files *f, const struct reserve_ask *ask,
			  struct reservation_outlook *out)
{
	struct incursion *incursions;
	struct reservation there;
	struct registered *a;
	struct book b;
	bool found, others;
	enum err e;

	if ((e = reservation_check_bead(c, ask->bead)) ||
	    (e = reservation_key(c, f, ask->scope, &out->key)) ||
	    (e = registry_find(c, f, ask->agent, &a)) || (e = book_open(c, f, false, &b)))
		return e;
	found = book_find(c, &b, out->key, &there);
	others = found && !str_eq(there.agent, ask->agent);
	if ((others && (e = reservation_may_take(c, f, &there, ask))) ||
	    (e = reservation_find_incursions(c, f, &b, ask, out->key, &incursions)))
		return e;
	out->own = found && !others && there.expires_ms > c->now_ms;
	out->epoch = out->own ? there.epoch : b.epoch;
	return ERR_OK;
}

/*
 * The reservation that an earlier try of this request has made (RESERVATION_ACTIVE) or released;
 * NULL: none.
 */
static enum err reservation_find_done(struct call *c, struct agent_files *f, struct str mark,
				      enum reservation_state state, struct reservation **out)
{
	struct reservation *r = arena_new(&c->mem, struct reservation);
	struct str text, line;
	enum err e = mark.p ? book_read_record(c, f, &text) : ERR_OK;

	*out = NULL;
	if (e || !mark.p || !str_has(text, mark))
		return e;
	while (text.n && str_next(&text, '\n', &line)) {
		if (!str_has(line, mark) || !reservation_parse(c, line, STR_NONE, r) ||
		    r->state != state || !str_eq(r->request, mark))
			continue;
		r->text = STR_NONE;
		*out = r;
		break;
	}
	return ERR_OK;
}

enum err reservation_make(struct call *c, struct agent_files *f, const struct reserve_ask *ask,
			  struct reservation **out, struct incursion **incursions)
{
	struct registered *a;
	struct reservation there;
	struct agent_append events;
	struct book_change change = { 0 };
	struct book b;
	struct str key, mark = receipts_mark(c, ask->agent);
	bool found, others, held;
	enum err e;

	if ((e = reservation_check_bead(c, ask->bead)) ||
	    (e = reservation_key(c, f, ask->scope, &key)) ||
	    (e = registry_find(c, f, ask->agent, &a)) || (e = book_open(c, f, false, &b)) ||
	    (e = reservation_find_done(c, f, mark, RESERVATION_ACTIVE, out)))
		return e;
	*incursions = NULL;
	if (*out)
		return registry_acted(c, f, a);
	found = book_find(c, &b, key, &there);
	others = found && !str_eq(there.agent, ask->agent);
	held = found && !others && there.expires_ms > c->now_ms;
	if ((others && (e = reservation_may_take(c, f, &there, ask))) ||
	    (e = reservation_find_incursions(c, f, &b, ask, key, incursions)))
		return e;
	*out = reservation_renewed(c, ask, key, b.epoch + 1, found && !others ? &there : NULL);
	if (ask->epoch)
		(*out)->epoch = ask->epoch;
	(*out)->request = mark;
	change.now = *out;
	if (others) {
		reservation_expire(&there);
		change.before = &there;
	}
	/* The incursions of a renewed reservation were recorded when it was made. */
	if ((e = reservation_incursion_lines(c, f, *out, held ? NULL : *incursions, &events)) ||
	    (e = book_commit(c, f, &b, &change, 1, events.lines.p ? &events : NULL)))
		return e;
	return registry_acted(c, f, a);
}

enum err reservation_adopt(struct call *c, struct agent_files *f, struct str from, struct str to,
			   struct str bead, int64_t minutes, struct reservation **out)
{
	int64_t end = c->now_ms + minutes * 60000, epoch;
	struct book_change *changes = NULL;
	size_t count = 0;
	struct book b;
	enum err e = book_open(c, f, false, &b);

	*out = e ? NULL : book_select(c, &b, from, bead, true);
	epoch = b.epoch;
	for (struct reservation *r = *out; r; r = r->next) {
		struct reservation *old = arena_new(&c->mem, struct reservation);

		*old = *r;
		reservation_expire(old);
		r->text = r->via = r->machine = r->request = STR_NONE;
		r->state = RESERVATION_ACTIVE;
		r->id = id_mint(&c->mem, "res", c->now_ms);
		r->agent = to;
		r->created_ms = c->now_ms;
		r->expires_ms = old->expires_ms > end ? old->expires_ms : end;
		r->epoch = ++epoch;
		changes = arena_room(&c->mem, changes, count, sizeof *changes);
		changes[count++] = (struct book_change){ old, r };
	}
	return count ? book_commit(c, f, &b, changes, count, NULL) : e;
}

/* --- releasing --- */

enum err reservation_release(struct call *c, struct agent_files *f, struct str agent,
			     struct str scope, int64_t epoch, struct reservation **out)
{
	struct str key, mark = receipts_mark(c, agent);
	struct registered *a;
	struct reservation there;
	struct book b;
	enum err e;

	if ((e = reservation_key(c, f, scope, &key)) || (e = registry_find(c, f, agent, &a)) ||
	    (e = reservation_find_done(c, f, mark, RESERVATION_RELEASED, out)))
		return e;
	if (*out)
		return registry_acted(c, f, a);
	if ((e = book_open(c, f, false, &b)))
		return e;
	if (!book_find(c, &b, key, &there))
		return call_fail(c, ERR_RESERVATION_NOT_FOUND, "nobody has reserved '" STR_FMT "'",
				 STR_ARG(scope));
	*out = arena_new(&c->mem, struct reservation);
	**out = there;
	if (!str_eq((*out)->agent, agent))
		return reservation_not_yours(c, *out);
	if (epoch && epoch != (*out)->epoch)
		return reservation_other_epoch(c, *out, epoch);
	(*out)->text = (*out)->via = STR_NONE;
	(*out)->state = RESERVATION_RELEASED;
	(*out)->request = mark;
	(*out)->released_ms = /* never before it was made, even if the clock was set back */
		c->now_ms > there.created_ms ? c->now_ms : there.created_ms;
	if ((e = book_commit(c, f, &b, &(struct book_change){ .now = *out }, 1, NULL)))
		return e;
	return registry_acted(c, f, a);
}

/* --- listing --- */

static enum err reservation_list(struct call *c, struct agent_files *f, struct str agent,
				 struct str bead, bool over, bool lenient, struct reservation **out)
{
	struct book b;
	enum err e = book_open(c, f, lenient, &b);

	*out = e ? NULL : book_select(c, &b, agent, bead, over);
	return e;
}

enum err reservation_each(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			  struct reservation **out)
{
	return reservation_list(c, f, agent, bead, false, false, out);
}

enum err reservation_each_held(struct call *c, struct agent_files *f, struct str agent,
			       struct str bead, struct reservation **out)
{
	return reservation_list(c, f, agent, bead, true, false, out);
}

enum err reservation_shown(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			   bool over, struct reservation **out)
{
	return reservation_list(c, f, agent, bead, over, true, out);
}

/* The state of a line of the record. The record may be long, so its lines are searched for members
 * as text, not parsed. */
static enum reservation_state reservation_line_state(struct str line)
{
	const struct str member = STR("\"state\":\"");
	const char *at = str_find(line, member);
	struct str word = STR_NONE;
	int state;

	if (at)
		line = str_skip(line, (size_t)(at - line.p) + member.n);
	state = at && str_next(&line, '"', &word) ? names_exact(&reservation_states, word) : -1;
	return state < 0 ? RESERVATION_OTHER : (enum reservation_state)state;
}

enum err reservation_count(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			   struct reservation_counts *out, struct reservation **live)
{
	struct str of_agent = agent.p ? reservation_member(c, "agent_id", agent) : STR(""),
		   of_bead = bead.p ? reservation_member(c, "bead_id", bead) : STR(""), text, line;
	enum err e;

	*out = (struct reservation_counts){ 0 };
	if ((e = reservation_shown(c, f, agent, bead, true, live)) ||
	    (e = book_read_record_leniently(c, f, &text)))
		return e;
	while (*live)
		if ((*live)->expires_ms > c->now_ms) {
			out->active++;
			live = &(*live)->next;
		} else {
			out->expired++;
			*live = (*live)->next;
		}
	while (text.n && str_next(&text, '\n', &line)) {
		enum reservation_state state = reservation_line_state(line);

		if ((state == RESERVATION_RELEASED || state == RESERVATION_EXPIRED) &&
		    str_has(line, of_agent) && str_has(line, of_bead))
			++*(state == RESERVATION_EXPIRED ? &out->expired : &out->released);
	}
	return ERR_OK;
}

/* The last line about a scope says how its reservation ended. */
enum err reservation_each_lapsed(struct call *c, struct agent_files *f, struct reservation **out)
{
	struct map last = { .mem = &c->mem };
	struct str text, line;
	enum err e = book_read_record(c, f, &text);

	*out = NULL;
	while (!e && text.n && str_next(&text, '\n', &line)) {
		struct reservation *r = arena_new(&c->mem, struct reservation);

		if (reservation_parse(c, line, STR_NONE, r))
			*map_put(&last, r->key) = r;
	}
	for (size_t i = 0; i < last.count; i++) {
		struct reservation *r = last.entry[i].value;

		if (r->state != RESERVATION_EXPIRED)
			continue;
		*out = r;
		out = &r->next;
		*out = NULL;
	}
	return e;
}
