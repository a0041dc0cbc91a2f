#include "machines/lease.h"

#include "agents/reservation_text.h"
#include "base/moment.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "machines/log.h"

enum { VALUES_MOST = 40000, TEXT_MOST = 4096, DAY_MS = 24 * 3600 * 1000 };

/* --- the file --- */

static enum err leases_refuse(struct call *c, const char *why)
{
	return call_fail(c, ERR_REMOTE_DAMAGED,
			 "the exclusive reservations at the remote can't be read: %s", why);
}

/* One line that can be shown. */
static bool lease_is_text(struct str text, size_t least)
{
	return text.p && text.n >= least && text.n <= TEXT_MOST && utf8_valid(text) &&
	       !utf8_has_control(text);
}

static bool lease_decode(const struct value *v, struct lease *out)
{
	*out = (struct lease){ .id = value_str(v, "id"),
			       .agent = value_str(v, "agent"),
			       .machine = value_str(v, "machine"),
			       .bead = value_str(v, "bead"),
			       .scope = value_str(v, "scope"),
			       .all = v };
	return lease_is_text(out->id, 1) && lease_is_text(out->agent, 1) &&
	       log_id_valid(out->machine) && lease_is_text(out->bead, 0) &&
	       lease_is_text(out->scope, 0) && moment_parse(value_str(v, "at"), &out->at_ms) &&
	       moment_parse(value_str(v, "until"), &out->until_ms) &&
	       value_int(v, "epoch", &out->epoch) && out->epoch > 0 && out->epoch < INT64_MAX / 2;
}

/*
 * Anybody who can push can write any time into the file. So a lease counts only if it lasts at most
 * a day, and begins at most a day from now, because clocks differ.
 */
static bool lease_is_live(const struct call *c, const struct lease *l)
{
	return l->until_ms > c->now_ms && l->at_ms <= c->now_ms + DAY_MS &&
	       l->until_ms - l->at_ms <= DAY_MS + LEASE_MARGIN_MS;
}

enum err leases_parse(struct call *c, struct str text, struct leases *out)
{
	struct value_error error;
	const struct value *v, *list;
	struct lease **tail = &out->first;
	int64_t format = 0, epoch;

	*out = (struct leases){ 0 };
	if (!text.p)
		return ERR_OK;
	if (!text.n)
		return leases_refuse(c, "'" LEASES_FILE "' is missing, empty or too large");
	v = value_parse_bounded(&c->mem, text, VALUES_MOST, &error);
	list = value_find(v, "leases");
	if (!v || value_depth(v) > VALUE_DATA_DEPTH)
		return leases_refuse(c, v ? "they are nested too deeply" : error.why);
	if (!value_int(v, "format", &format) || format < 1 || !list || list->type != VALUE_ARRAY)
		return leases_refuse(c, "the file has no format or no list");
	if (format > LEASES_FORMAT)
		return leases_refuse(c, "the file has a later format than this version knows");
	out->all = v;
	if (value_int(v, "epoch", &epoch))
		out->epoch = reservation_epoch_raise(c, 0, epoch, false);
	for (size_t i = 0; i < list->count && i < LEASES_MOST; i++) {
		struct lease *l = arena_new(&c->mem, struct lease);

		if (!lease_decode(&list->item[i], l) || !lease_is_live(c, l))
			continue;
		out->epoch = reservation_epoch_raise(c, out->epoch, l->epoch, false);
		*tail = l;
		tail = &l->next;
	}
	return ERR_OK;
}

/* The members that the keys do not name. */
static void leases_put_others(struct json *j, const struct value *all, const char *const *keys)
{
	VALUE_EACH(one, all) {
		const char *const *key = keys;

		while (*key && !str_is(one->key, *key))
			key++;
		if (*key)
			continue;
		json_put_member(j, one);
	}
}

static void lease_encode(struct json *j, const struct lease *l)
{
	static const char *const keys[] = { "agent",   "at",    "bead",  "epoch", "id",
					    "machine", "scope", "until", NULL };

	json_object(j);
	json_put_str(j, "agent", l->agent);
	json_put_moment(j, "at", l->at_ms);
	json_put_str(j, "bead", l->bead);
	json_put_int(j, "epoch", l->epoch);
	json_put_str(j, "id", l->id);
	json_put_str(j, "machine", l->machine);
	json_put_str(j, "scope", l->scope);
	json_put_moment(j, "until", l->until_ms);
	leases_put_others(j, l->all, keys);
	json_end(j);
}

struct str leases_encode(struct call *c, const struct leases *l)
{
	static const char *const keys[] = { "epoch", "format", "leases", NULL };
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_int(&j, "epoch", l->epoch);
	json_put_int(&j, "format", LEASES_FORMAT);
	json_put_array(&j, "leases");
	for (const struct lease *one = l->first; one; one = one->next)
		lease_encode(&j, one);
	json_end(&j);
	leases_put_others(&j, l->all, keys);
	json_end(&j);
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}

bool leases_fit(struct call *c, struct str text)
{
	struct leases again;

	if (text.n <= LEASES_BYTES && !leases_parse(c, text, &again))
		return true;
	call_forgive(c);
	return false;
}

/* --- deciding --- */

struct lease *leases_find(const struct leases *l, struct str id)
{
	struct lease *one = l->first;

	while (one && !str_eq(one->id, id))
		one = one->next;
	return one;
}

bool leases_remove(struct leases *l, struct str id)
{
	struct lease **at = &l->first;

	while (*at && !str_eq((*at)->id, id))
		at = &(*at)->next;
	if (!*at)
		return false;
	*at = (*at)->next;
	return true;
}

static struct str lease_shown_scope(const struct lease *l)
{
	return l->scope.n ? l->scope : STR("/");
}

static enum err lease_refuse(struct call *c, enum err code, const struct lease *l,
			     struct str machine)
{
	struct str end = moment_format(&c->mem, l->until_ms);
	struct json j = json_new(&c->mem);

	call_fail(c, code,
		  "'" STR_FMT "' is reserved exclusively by '" STR_FMT "' on " STR_FMT
		  " until " STR_FMT,
		  STR_ARG(lease_shown_scope(l)), STR_ARG(l->agent), STR_ARG(machine), STR_ARG(end));
	json_object(&j);
	json_put_str(&j, "agent_id", l->agent);
	json_put_str(&j, "scope", lease_shown_scope(l));
	json_put_str(&j, "bead_id", l->bead);
	json_put_str(&j, "expires_at", end);
	json_put_int(&j, "epoch", l->epoch);
	json_put_str(&j, "machine", machine);
	json_end(&j);
	return call_detail(c, json_text(&j));
}

/*
 * May the lease of another agent be taken over? Only if that agent is known here and stale: one
 * that is not known may be at work on a machine whose log has not arrived yet.
 */
static enum err lease_may_take(struct call *c, struct agent_files *f, const struct lease *l,
			       const struct lease_ask *ask)
{
	struct registered *a;
	bool stale = f->home.p && !registry_find(c, f, l->agent, &a) &&
		     liveness_of(a->seen_ms, c->now_ms, c->stale_minutes) != LIVENESS_ACTIVE;

	call_forgive(c);
	if (stale && ask->takeover)
		return ERR_OK;
	if (stale) {
		lease_refuse(c, ERR_RESERVATION_STALE_FOUND, l, ask->name(ask->arg, l->machine));
		return call_step(
			c,
			"Check first whether its owner still works. To take it over: bb agent "
			"reserve --exclusive --takeover-stale --agent " STR_FMT " --bead " STR_FMT
			" --scope " STR_FMT,
			STR_ARG(spawn_word(&c->mem, ask->lease.agent)),
			STR_ARG(spawn_word(&c->mem, ask->lease.bead)),
			STR_ARG(spawn_word(&c->mem, lease_shown_scope(&ask->lease))));
	}
	lease_refuse(c, ERR_RESERVATION_CONFLICT, l, ask->name(ask->arg, l->machine));
	return call_step(c, "Work on something else: 'bd ready --claim' claims another bead.");
}

/* The agent may have been renamed since. Its own reservation has the same epoch as the lease. */
static bool lease_is_own(const struct lease *l, const struct lease_ask *ask)
{
	return str_eq(l->machine, ask->lease.machine) &&
	       (str_eq(l->agent, ask->lease.agent) || (ask->own && l->epoch == ask->epoch));
}

static bool lease_overlaps(const struct lease *a, const struct lease *b)
{
	return scope_overlap(a->scope, b->scope) != OVERLAP_DISJOINT;
}

enum err leases_take(struct call *c, struct agent_files *f, struct leases *l,
		     const struct lease_ask *ask, struct lease **out)
{
	size_t count = 0;
	enum err e;

	*out = NULL;
	for (struct lease *one = l->first; one; one = one->next, count++) {
		bool own = lease_is_own(one, ask);

		if (own && ask->own && str_eq(one->scope, ask->lease.scope))
			*out = one;
		if (!own && lease_overlaps(one, &ask->lease) &&
		    (e = lease_may_take(c, f, one, ask)))
			return e;
	}
	for (struct lease **at = &l->first; *at;) {
		bool replaced = *at != *out && lease_overlaps(*at, &ask->lease) &&
				(!lease_is_own(*at, ask) || str_eq((*at)->scope, ask->lease.scope));

		if (replaced)
			*at = (*at)->next;
		else
			at = &(*at)->next;
	}
	if (!*out) {
		if (count >= LEASES_MOST)
			return call_fail(c, ERR_RESERVATION_CONFLICT,
					 "there are %zu exclusive reservations already", count);
		*out = arena_new(&c->mem, struct lease);
		**out = ask->lease;
		(*out)->epoch = ask->own && ask->epoch > l->epoch ? ask->epoch :
				ask->epoch > l->epoch             ? ask->epoch + 1 :
								    l->epoch + 1;
		(*out)->next = l->first;
		l->first = *out;
	}
	(*out)->agent = ask->lease.agent;
	(*out)->bead = ask->lease.bead;
	if ((*out)->until_ms < ask->lease.until_ms)
		(*out)->until_ms = ask->lease.until_ms;
	(*out)->at_ms = ask->lease.at_ms;
	l->epoch = reservation_epoch_raise(c, l->epoch, (*out)->epoch, true);
	return ERR_OK;
}
