/*
 * Every command reads all live reservations, of which it needs only a few, so the lines are not
 * parsed as JSON if they have the exact form that reservation_line() gives an active reservation:
 * the members in its order, no white space, and strings of printable ASCII without escapes.
 * reservation_scan() recognises that form and declines every other line, which is parsed as JSON
 * then. A quote inside a JSON string follows a backslash, so `,"name":"` begins a member wherever
 * it occurs.
 */
#include "agents/reservation_text.h"

#include "base/moment.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"

const struct names reservation_states =
	NAMES_OF([RESERVATION_ACTIVE] = "active", [RESERVATION_RELEASED] = "released",
		 [RESERVATION_EXPIRED] = "expired", [RESERVATION_CONTESTED] = "contested");

/* False: there is no word. */
static bool reservation_read_state(struct str word, enum reservation_state *out)
{
	int value = names_exact(&reservation_states, word);

	*out = value < 0 ? RESERVATION_OTHER : (enum reservation_state)value;
	return word.n;
}

int64_t reservation_epoch_raise(const struct call *c, int64_t highest, int64_t seen, bool own)
{
	static const int64_t least = INT64_C(1) << 40, day = 24 * 3600 * 1000;
	int64_t limit = (c->now_ms > least ? c->now_ms : least) + (own ? day : 0);

	return seen > highest && seen < limit ? seen : highest;
}

bool reservation_epoch_valid(int64_t epoch)
{
	return epoch >= 0 && epoch < INT64_MAX / 2;
}

void reservation_expire(struct reservation *r)
{
	r->text = STR_NONE;
	r->state = RESERVATION_EXPIRED;
}

/* --- writing --- */

static void reservation_put_members(struct json *j, const struct reservation *r)
{
	if (r->text.p) {
		json_put_members(j, r->text);
		return;
	}
	json_put_str(j, "reservation_id", r->id);
	json_put_str(j, "scope", r->scope);
	json_put_str(j, "agent_id", r->agent);
	json_put_str(j, "bead_id", r->bead);
	json_put_word(j, "state", &reservation_states, r->state);
	json_put_moment(j, "created_at", r->created_ms);
	json_put_moment(j, "expires_at", r->expires_ms);
	json_put_moment(j, "released_at", r->released_ms);
	json_put_int(j, "epoch", r->epoch);
	json_put_present(j, "machine", r->machine);
}

void reservation_put(struct json *j, const struct call *c, const struct reservation *r)
{
	reservation_put_members(j, r);
	json_put_bool(j, "expired", r->expires_ms <= c->now_ms || r->state == RESERVATION_EXPIRED);
}

void reservation_encode(struct json *j, const struct call *c, const struct reservation *r)
{
	json_object(j);
	reservation_put(j, c, r);
	json_end(j);
}

struct str reservation_line(struct call *c, const struct reservation *r)
{
	struct json j = json_new(&c->mem);

	if (r->text.p)
		return r->text;
	json_object(&j);
	reservation_put_members(&j, r);
	json_put_present(&j, "request", r->request);
	json_put_present(&j, "via", r->via);
	json_end(&j);
	return json_text(&j);
}

struct str reservation_member(struct call *c, const char *name, struct str value)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, name, value);
	json_end(&j);
	return str_skip(str_head(json_text(&j), json_text(&j).n - 1), 1);
}

/* --- scanning --- */

#define FIRST_MEMBER  STR("{\"reservation_id\":\"")
#define SCOPE_MEMBER  STR(",\"scope\":\"")
#define EXPIRY_MEMBER STR(",\"expires_at\":\"")

/* Takes a string member from the head of `rest`: false if another member is there, or if its value
 * is not plain text. */
static bool reservation_take(struct str *rest, struct str member, struct str *out)
{
	const char *end;

	if (!str_starts(*rest, member))
		return false;
	*rest = str_skip(*rest, member.n);
	end = memchr(rest->p, '"', rest->n);
	if (!end)
		return false;
	*out = (struct str){ rest->p, (size_t)(end - rest->p) };
	*rest = str_skip(*rest, out->n + 1);
	return utf8_plain(*out) == out->n && !memchr(out->p, '\\', out->n);
}

static bool reservation_scan(struct str line, struct reservation *out)
{
	const struct str tail = STR(",\"released_at\":null,\"epoch\":");
	struct str rest = line, state, created, expires;

	*out = (struct reservation){ 0 };
	return reservation_take(&rest, FIRST_MEMBER, &out->id) &&
	       reservation_take(&rest, SCOPE_MEMBER, &out->scope) &&
	       reservation_take(&rest, STR(",\"agent_id\":\""), &out->agent) &&
	       reservation_take(&rest, STR(",\"bead_id\":\""), &out->bead) &&
	       reservation_take(&rest, STR(",\"state\":\""), &state) &&
	       reservation_read_state(state, &out->state) &&
	       reservation_take(&rest, STR(",\"created_at\":\""), &created) &&
	       reservation_take(&rest, EXPIRY_MEMBER, &expires) && str_starts(rest, tail) &&
	       str_ends(rest, STR("}")) && rest.p[tail.n] > '0' && /* JSON has no "+1" and "01" */
	       number_int((struct str){ rest.p + tail.n, rest.n - tail.n - 1 }, &out->epoch) &&
	       moment_parse(created, &out->created_ms) && moment_parse(expires, &out->expires_ms);
}

/* --- reading --- */

static bool reservation_read(const struct value *v, struct reservation *out)
{
	struct str released = value_str(v, "released_at");

	*out = (struct reservation){ .id = value_str(v, "reservation_id"),
				     .scope = value_str(v, "scope"),
				     .agent = value_str(v, "agent_id"),
				     .bead = value_str(v, "bead_id"),
				     .request = value_str(v, "request"),
				     .machine = value_str(v, "machine"),
				     .via = value_str(v, "via") };
	return v && out->id.n && out->agent.n && out->bead.n &&
	       reservation_read_state(value_str(v, "state"), &out->state) &&
	       moment_parse(value_str(v, "created_at"), &out->created_ms) &&
	       moment_parse(value_str(v, "expires_at"), &out->expires_ms) &&
	       (!released.p || moment_parse(released, &out->released_ms)) &&
	       (!value_find(v, "epoch") || value_int(v, "epoch", &out->epoch));
}

static bool reservation_find_key(struct call *c, struct str scope, struct str *key)
{
	return scope_parse(&c->mem, STR("/"), scope, key) == SCOPE_FINE;
}

bool reservation_decode(struct call *c, struct str root, const struct value *v,
			struct reservation *out)
{
	if (!reservation_read(v, out) || !reservation_epoch_valid(out->epoch))
		return false;
	if (!str_starts(out->scope, STR("/")) ||
	    scope_parse(&c->mem, root, out->scope, &out->key) != SCOPE_FINE)
		return reservation_find_key(c, out->scope, &out->key);
	out->scope = out->key.n ? out->key : STR("/");
	return true;
}

bool reservation_parse(struct call *c, struct str line, struct str key, struct reservation *out)
{
	struct arena before = arena_mark(&c->mem);
	bool well;

	line = str_trim(line); /* an editor may have added blanks */
	well = reservation_scan(line, out) ||
	       reservation_read(agent_line_parse(&c->mem, line), out);
	out->text = out->via.p ? STR_NONE : line; /* a reply does not have all of its members */
	out->key = key;
	if (well && reservation_epoch_valid(out->epoch) &&
	    (key.p || reservation_find_key(c, out->scope, &out->key)))
		return true;
	arena_rewind(&c->mem, before);
	return false;
}

bool reservation_line_key(struct call *c, struct str line, struct str *key)
{
	struct str rest = line, id, scope;
	struct reservation r;

	if (reservation_take(&rest, FIRST_MEMBER, &id) &&
	    reservation_take(&rest, SCOPE_MEMBER, &scope))
		return reservation_find_key(c, scope, key);
	if (!reservation_parse(c, line, STR_NONE, &r))
		return false;
	*key = r.key;
	return true;
}

bool reservation_line_over(struct call *c, struct str line, struct str key)
{
	const char *at = str_find(line, EXPIRY_MEMBER);
	struct reservation r;
	struct str rest, text;
	int64_t end;

	if (at) {
		rest = str_skip(line, (size_t)(at - line.p) + EXPIRY_MEMBER.n);
		if (str_next(&rest, '"', &text) && moment_parse(text, &end))
			return end <= c->now_ms;
	}
	return reservation_parse(c, line, key, &r) && r.expires_ms <= c->now_ms;
}
