#include "agents/reservation.h"
#include "agents/current.h"
#include "agents/mail.h"
#include "agents/stuck.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "machines/lease_given.h"
#include "machines/lease_notes.h"
#include "machines/share.h"
#include "ops/agent/agent_ops.h"
#include "ops/ops.h"

/* bb agent reserve, release, status: reservations of files and folders. */

struct body {
	struct reserve_ask ask;
	int64_t epoch, timeout;
	int exclusive;
};

#define AT(member) offsetof(struct body, member)

/* clang-format off */
#define SCOPE_FIELD(text) \
	{ "scope", &kind_str, AT(ask.scope), FIELD_REQUIRED, .arg = "PATH", .min = 1, \
	  .max = 4096, .help = text }
/* clang-format on */

static const struct field reserve_fields[] = {
	AGENT_FIELD(struct body, ask.agent, "your name"),
	SCOPE_FIELD("file or folder to reserve, such as src/lib, src/lib/* or README.md"),
	{ "bead", &kind_str, AT(ask.bead), FIELD_REQUIRED | FIELD_ASSUMED, .arg = "BEAD",
	  .max = 200, .missing = ERR_MISSING_BEAD_ID,
	  .help = "bead that the files are reserved for (default: that of 'abacus work')" },
	{ "ttl", &kind_span, AT(ask.minutes), .unit = 60 * 1000, .min = 5, .max = 1440,
	  .preset = "120",
	  .help = "duration of the reservation, such as 30m or 2h; a bare number is minutes" },
	{ "takeover_stale", &kind_bool, AT(ask.takeover),
	  .help = "take over a reservation that has expired or whose owner is stale" },
	{ "strict", &kind_bool, AT(ask.strict),
	  .help = "refuse if another agent has reserved any part of it" },
	{ "exclusive", &kind_switch, AT(exclusive), .role = ROLE_EXCLUSIVE,
	  .help = "reserve at the Git remote first; refuse if any agent, on any machine, has "
		  "reserved any part of it exclusively" },
	{ "timeout", &kind_duration, AT(timeout), FIELD_CLI, .min = 1000, .max = 3600000,
	  .preset = "30s", .help = "maximum time to wait for the remote, with --exclusive" },
	{ 0 },
};

static const struct field release_fields[] = {
	AGENT_FIELD(struct body, ask.agent, "your name"),
	SCOPE_FIELD("scope to release, as it was reserved"),
	{ "epoch", &kind_int, AT(epoch), .min = 1, .arg = "N",
	  .help = "epoch of your reservation; refuse if it is stale" },
	{ 0 },
};

static const struct field status_fields[] = {
	{ "bead", &kind_str, AT(ask.bead), .arg = "BEAD", .min = 1, .max = 200,
	  .help = "show only those for this bead" },
	{ "agent", &kind_str, AT(ask.agent), FIELD_AGENT, .arg = "AGENT", .min = 1, .max = 200,
	  .help = "show only those of this agent" },
	{ 0 },
};

#define RESERVATION_MEMBERS                                                                   \
	"reservation_id scope agent_id bead_id state created_at expires_at released_at|null " \
	"epoch:int machine? expired:bool"

const struct prop reservation_props[] = { { RESERVATION_MEMBERS, NULL }, { 0 } };

static const struct prop incursion_props[] = {
	{ "kind owner_liveness", NULL },
	{ "reservation", reservation_props },
	{ 0 },
};

static const struct prop reserved_props[] = {
	{ RESERVATION_MEMBERS, NULL },
	{ "incursions[]", incursion_props },
	{ "durability?", NULL },
	{ 0 },
};

static const struct prop status_props[] = {
	{ "reservations[]", reservation_props },
	{ "stuck[]", stuck_props },
	{ "unacked:object[] unacked_required_messages:object[] counts:object", NULL },
	{ "summary:object", NULL },
	{ 0 },
};

/* The default is the bead that the agent works on. Nobody else may have a part of an exclusive
 * scope. */
static enum err agent_reservation_ask(struct call *c, const struct body *in,
				      struct reserve_ask *out)
{
	*out = in->ask;
	out->strict = in->ask.strict || in->exclusive > 0;
	if (!out->bead.p && !(out->bead = current_bead(c)).p)
		return call_fail(c, ERR_MISSING_BEAD_ID, "%s is missing",
				 c->wire ? "bead" : "--bead");
	out->bead = str_trim(out->bead);
	return ERR_OK;
}

/* Before the agents' files are locked: the remote may take long. */
static enum err agent_reservation_look(struct call *c, struct stores *s, const void *body)
{
	const struct body *in = body;
	struct reserve_ask ask;
	struct reservation_outlook outlook;
	enum err e;

	if (in->exclusive <= 0)
		return ERR_OK;
	if ((e = lease_check(c)) || (e = agent_reservation_ask(c, in, &ask)) ||
	    (e = lease_begin(c, in->timeout, &s->looked)) ||
	    (e = reservation_look(c, s->agents, &ask, &outlook)))
		return e;
	s->seen = arena_new(&c->mem, struct lease_given);
	return lease_reserve(c, &ask, &outlook, in->timeout, s->seen);
}

/* An exclusive reservation that is renewed without --exclusive keeps its end: the remote gives the
 * scope to others when its lease is over. */
static enum err agent_reservation_keep_end(struct call *c, struct stores *s,
					   struct reserve_ask *ask)
{
	struct reservation *r;
	struct str key;
	enum err e;

	if (!share_is_on(c) || !s->agents->home.p)
		return ERR_OK;
	if ((e = scope_normalise(c, s->agents->root, ask->scope, &key)) ||
	    (e = reservation_each(c, s->agents, ask->agent, STR_NONE, &r)))
		return e;
	while (r && !str_eq(r->key, key))
		r = r->next;
	if (!r || !lease_is_noted(c, r))
		return ERR_OK;
	ask->until_ms = r->expires_ms;
	call_warn(c, "it is reserved exclusively, until %s at the latest; --exclusive extends it",
		  moment_format(&c->mem, r->expires_ms).p);
	return ERR_OK;
}

static enum err agent_reservation_over(struct call *c, struct str scope)
{
	call_fail(c, ERR_SYNC_TIMEOUT,
		  "the lease of '" STR_FMT "' was over before it could be used", STR_ARG(scope));
	return call_step(c, "Nothing was reserved. Run the same command again.");
}

/* The agents' files have the last word: another agent of this machine may have been faster. */
static enum err agent_reservation_make(struct call *c, struct stores *s, const struct body *in,
				       struct reservation **out, struct incursion **incursions)
{
	const struct lease_given *given = s->seen;
	struct reserve_ask ask;
	enum err e = agent_reservation_ask(c, in, &ask);

	if (e)
		return e;
	if (!given && (e = agent_reservation_keep_end(c, s, &ask)))
		return e;
	if (given) {
		ask.epoch = given->epoch;
		ask.until_ms = given->until_ms;
		if (given->until_ms <= c->now_ms)
			return agent_reservation_over(c, ask.scope);
	}
	return reservation_make(c, s->agents, &ask, out, incursions);
}

static enum err agent_reservation_run_reserve(struct call *c, struct stores *s, const void *body,
					      struct json *reply)
{
	const struct body *in = body;
	struct reservation *r;
	struct incursion *i;
	enum err e = agent_reservation_make(c, s, in, &r, &i);

	if (e)
		return e;
	json_object(reply);
	reservation_put(reply, c, r);
	json_put_array(reply, "incursions");
	for (; i; i = i->next) {
		json_object(reply);
		json_put_word(reply, "kind", &overlaps, i->kind);
		json_put_word(reply, "owner_liveness", &liveness_words, i->owner);
		json_key(reply, STR("reservation"));
		reservation_encode(reply, c, &i->with);
		json_end(reply);
	}
	json_end(reply);
	if (in->exclusive > 0)
		json_put_str(reply, "durability", STR("remote"));
	json_end(reply);
	return ERR_OK;
}

static enum err agent_reservation_run_release(struct call *c, struct stores *s, const void *body,
					      struct json *reply)
{
	const struct body *in = body;
	struct reservation *r;
	enum err e = reservation_release(c, s->agents, in->ask.agent, in->ask.scope,
					 in->epoch == ABSENT ? 0 : in->epoch, &r);

	if (!e)
		reservation_encode(reply, c, r);
	return e;
}

/* The unacked messages, under this program's key and under that of the original. */
static void put_unacked(struct json *reply, const struct mail *unacked)
{
	static const char *const keys[] = { "unacked", "unacked_required_messages" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		json_put_array(reply, keys[i]);
		for (const struct mail *m = unacked; m; m = m->next)
			mail_encode(reply, m);
		json_end(reply);
	}
}

static void put_summary(struct json *reply, const struct reservation_counts *reserved,
			const struct mail *unacked)
{
	int64_t count = 0;

	for (; unacked; unacked = unacked->next)
		count++;
	json_put_object(reply, "summary");
	json_put_int(reply, "active", reserved->active);
	json_put_int(reply, "released", reserved->released);
	json_put_int(reply, "expired", reserved->expired);
	json_put_int(reply, "unacked_required_messages", count);
	json_end(reply);
}

static void put_stuck(struct call *c, struct json *reply, const struct stuck *stuck,
		      struct str agent, struct str bead)
{
	json_put_array(reply, "stuck");
	for (; stuck; stuck = stuck->next)
		if ((!agent.p || str_eq(agent, stuck->agent)) &&
		    (!bead.p || str_eq(bead, stuck->bead)))
			stuck_encode(reply, c, stuck);
	json_end(reply);
}

static enum err agent_reservation_run_status(struct call *c, struct stores *s, const void *body,
					     struct json *reply)
{
	const struct body *in = body;
	struct str agent = in->ask.agent, bead = in->ask.bead;
	struct reservation_counts reserved;
	struct mail_totals mail;
	struct reservation *r;
	struct registered *a;
	enum err e;

	if ((agent.p && (e = registry_find(c, s->agents, agent, &a))) ||
	    (e = reservation_count(c, s->agents, agent, bead, &reserved, &r)) ||
	    (e = mail_totals(c, s->agents, agent, bead, &mail)))
		return e;
	json_object(reply);
	json_put_array(reply, "reservations");
	for (; r; r = r->next)
		reservation_encode(reply, c, r);
	json_end(reply);
	put_stuck(c, reply, stuck_shown(c), agent, bead);
	put_unacked(reply, mail.unacked);
	json_put_object(reply, "counts");
	for (int i = 0; i < MAIL_STATES; i++)
		json_put_int(reply, names_word(&mail_states, i), mail.count[i]);
	json_end(reply);
	put_summary(reply, &reserved, mail.unacked);
	json_end(reply);
	return ERR_OK;
}

const struct op op_agent_reserve = {
	.name = "agent reserve",
	.help = "Reserve a file or folder for an agent",
	.examples = "bb agent reserve --scope 'src/parser/*' --bead bd-a1b2 --as amber-otter\n"
		    "bb agent reserve README.md --bead bd-a1b2 --ttl 30m --as amber-otter",
	.more = "A scope can be reserved by one agent at a time. Overlapping reservations are "
		"allowed, reported to both agents, and recorded as protocol events. With "
		"--exclusive, the Git remote decides before the command returns: of all machines "
		"that reserve overlapping scopes exclusively, one succeeds. That needs 'abacus share "
		"on'. Only --exclusive extends an exclusive reservation. Its lease at the remote lasts "
		"a minute longer than the reservation, so that two clocks may differ by as much; a "
		"release reaches the remote with the next sync.",
	.flags = AGENT_WRITE,
	OP_BODY(struct body, reserve_fields),
	.reply = &(const struct prop){ "reserved", reserved_props },
	.run = agent_reservation_run_reserve,
	.look = agent_reservation_look,
};

const struct op op_agent_release = {
	.name = "agent release",
	.help = "Release a reservation",
	.examples = "bb agent release --scope 'src/parser/*' --as amber-otter",
	.flags = AGENT_WRITE,
	OP_BODY(struct body, release_fields),
	.reply = &(const struct prop){ "reservation", reservation_props },
	.run = agent_reservation_run_release,
};

const struct op op_agent_status = {
	.name = "agent status",
	.help = "Show reservations and unacknowledged messages",
	.flags = AGENT_READ,
	OP_BODY(struct body, status_fields),
	.reply = &(const struct prop){ "status", status_props },
	.run = agent_reservation_run_status,
};
