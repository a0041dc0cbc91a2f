/*
 * What somebody should look at, most urgent first. Every entry says what is wrong in one sentence,
 * and names a command that shows more or repairs it.
 */
#include "base/moment.h"
#include "base/system/spawn.h"
#include "base/text/value.h"
#include "live/project_status_parts.h"

struct attention {
	const struct project_status *p;
	struct json *j;
	int64_t count;
};

struct attention_entry {
	const char *kind;
	struct str agent, bead, scope, message; /* or absent */
	int64_t at;                             /* since when; 0: not known */
	struct str text, command;
};

static void attention_put(struct attention *a, const struct attention_entry *e)
{
	if (a->count++ >= (int64_t)a->p->limit)
		return;
	json_object(a->j);
	json_put_str(a->j, "kind", str_of(e->kind));
	json_put_str(a->j, "agent_id", e->agent);
	json_put_str(a->j, "bead_id", e->bead);
	json_put_str(a->j, "scope", e->scope);
	json_put_str(a->j, "message_id", e->message);
	json_put_moment(a->j, "since", e->at);
	json_put_str(a->j, "text", e->text);
	json_put_str(a->j, "command", e->command);
	json_end(a->j);
}

static struct str attention_command(const struct attention *a, const char *command, struct str word)
{
	struct arena *mem = &a->p->c->mem;

	return arena_fmt(mem, "%s " STR_FMT, command, STR_ARG(spawn_word(mem, word)));
}

static void attention_add_faults(struct attention *a)
{
	for (const struct store_fault *f = a->p->faults; f; f = f->next)
		attention_put(a,
			      &(struct attention_entry){
				      .kind = "store",
				      .text = arena_fmt(&a->p->c->mem,
							"the store '%s' cannot be read: " STR_FMT,
							f->store, STR_ARG(f->message)),
				      .command = STR("abacus doctor") });
}

static void attention_add_sync(struct attention *a)
{
	const struct sync_state *s = &a->p->sync;

	if (!s->failures)
		return;
	attention_put(a, &(struct attention_entry){
				 .kind = "sync",
				 .at = s->tried_ms,
				 .text = arena_fmt(
					 &a->p->c->mem,
					 "%lld sync%s failed since the last success: " STR_FMT,
					 (long long)s->failures,
					 s->failures == 1 ? " has" : "s have", STR_ARG(s->message)),
				 .command = STR("bd sync") });
}

static void attention_add_lost(struct attention *a)
{
	VALUE_EACH(one, a->p->lost.p ? value_read(&a->p->c->mem, a->p->lost) : NULL) {
		struct str bead = value_str(one, "id");

		attention_put(a, &(struct attention_entry){
					 .kind = "lost_claim",
					 .agent = value_str(one, "holder"),
					 .bead = bead,
					 .text = value_str(one, "message"),
					 .command = attention_command(a, "bd show", bead) });
	}
}

/* Agents that say they are blocked, and messages that ask for input. */
static void attention_add_blocked(struct attention *a)
{
	struct arena *mem = &a->p->c->mem;

	for (size_t i = 0; i < a->p->work.count; i++) {
		const struct agent_work *w = a->p->work.entry[i].value;
		const struct agent *on = w->agent ? &w->agent->shown : NULL;

		if (!on || !on->blockers.n || on->status != AGENT_BLOCKED)
			continue;
		attention_put(a, &(struct attention_entry){
					 .kind = "input",
					 .agent = w->id,
					 .at = on->updated_at,
					 .text = arena_fmt(mem, STR_FMT " is blocked: " STR_FMT,
							   STR_ARG(w->id), STR_ARG(on->blockers)),
					 .command = attention_command(a, "bb status get", w->id) });
	}
}

/*
 * Messages that must be acknowledged and are not: first those that ask for input, then the others.
 */
static void attention_add_mail(struct attention *a, bool input)
{
	struct arena *mem = &a->p->c->mem;

	for (const struct mail *m = a->p->unacked; m; m = m->next) {
		const char *how = input ? "needs input from" : "waits for an acknowledgement from";

		if ((m->category == CATEGORY_BLOCKED) != input)
			continue;
		attention_put(a, &(struct attention_entry){
					 .kind = input ? "input" : "mail",
					 .agent = m->to,
					 .bead = m->bead,
					 .message = m->id,
					 .at = m->created_ms,
					 .text = arena_fmt(mem, STR_FMT " %s " STR_FMT ": " STR_FMT,
							   STR_ARG(m->from), how, STR_ARG(m->to),
							   STR_ARG(m->subject)),
					 .command = attention_command(a, "bb agent inbox --agent",
								      m->to) });
	}
}

static void attention_add_holders(struct attention *a)
{
	const struct project_status *p = a->p;
	struct arena *mem = &p->c->mem;

	for (const struct bead_row *row = p->held; row; row = row->next) {
		bool expired = row->lease && row->lease <= p->c->now_ms;
		enum liveness liveness = LIVENESS_ACTIVE;

		project_status_liveness(p, row->assignee, &liveness);
		if (!expired &&
		    (liveness == LIVENESS_ACTIVE || stuck_find(p->stuck, row->assignee)))
			continue;
		attention_put(
			a,
			&(struct attention_entry){
				.kind = "holder",
				.agent = row->assignee,
				.bead = row->id,
				.at = expired ? row->lease : 0,
				.text = arena_fmt(mem,
						  expired ? "the claim of " STR_FMT " on " STR_FMT
							    " has expired: " STR_FMT :
							    STR_FMT " has claimed " STR_FMT
								    " and is not active: " STR_FMT,
						  STR_ARG(row->assignee), STR_ARG(row->id),
						  STR_ARG(row->title)),
				.command = attention_command(a, expired ? "bd claim" : "bd show",
							     row->id) });
	}
}

static void attention_add_stuck(struct attention *a)
{
	struct call *c = a->p->c;

	for (const struct stuck *s = a->p->stuck; s; s = s->next)
		attention_put(
			a, &(struct attention_entry){
				   .kind = "stuck",
				   .agent = s->agent,
				   .bead = s->bead,
				   .at = s->since_ms,
				   .text = arena_fmt(
					   &c->mem, STR_FMT " is stuck on " STR_FMT ": it " STR_FMT,
					   STR_ARG(s->agent), STR_ARG(s->bead),
					   STR_ARG(stuck_text(c, s))),
				   .command = arena_fmt(&c->mem,
							"bd claim " STR_FMT " --takeover-stuck",
							STR_ARG(spawn_word(&c->mem, s->bead))) });
}

/* Reservations of different agents that overlap now. */
static void attention_add_incursions(struct attention *a)
{
	enum { MOST = 300 }; /* compared with each other */
	const struct project_status *p = a->p;
	size_t i = 0;

	for (const struct reservation *r = p->reserved; r && i < MOST; r = r->next, i++) {
		size_t k = i + 1;

		for (const struct reservation *o = r->next; o && k < MOST; o = o->next, k++) {
			const struct reservation *late = o->epoch > r->epoch ? o : r,
						 *early = late == o ? r : o;

			if (str_eq(r->agent, o->agent) || r->expires_ms <= p->c->now_ms ||
			    o->expires_ms <= p->c->now_ms ||
			    scope_overlap(r->key, o->key) == OVERLAP_DISJOINT)
				continue;
			attention_put(
				a,
				&(struct attention_entry){
					.kind = "incursion",
					.agent = late->agent,
					.bead = late->bead,
					.scope = late->scope,
					.at = late->created_ms,
					.text = arena_fmt(
						&p->c->mem,
						STR_FMT " has reserved " STR_FMT
							", which overlaps " STR_FMT " of " STR_FMT,
						STR_ARG(late->agent), STR_ARG(late->scope),
						STR_ARG(early->scope), STR_ARG(early->agent)),
					.command = STR("bb agent events --type "
						       "INCURSION") });
		}
	}
}

static void attention_add_reservations(struct attention *a)
{
	const struct project_status *p = a->p;

	for (const struct reservation *r = p->reserved; r; r = r->next) {
		bool expired = r->expires_ms <= p->c->now_ms;
		enum liveness liveness = LIVENESS_EVICTED;

		project_status_liveness(p, r->agent, &liveness);
		if (!expired && liveness == LIVENESS_ACTIVE)
			continue;
		attention_put(a,
			      &(struct attention_entry){
				      .kind = "reservation",
				      .agent = r->agent,
				      .bead = r->bead,
				      .scope = r->scope,
				      .at = expired ? r->expires_ms : 0,
				      .text = arena_fmt(&p->c->mem,
							expired ? "the reservation of " STR_FMT
								  " by " STR_FMT " has expired" :
								  STR_FMT " is reserved by " STR_FMT
									  ", which is not active",
							STR_ARG(r->scope), STR_ARG(r->agent)),
				      .command = attention_command(a, "bb agent status --agent",
								   r->agent) });
	}
}

void project_attention_put(const struct project_status *p, struct json *j)
{
	struct attention a = { .p = p, .j = j };

	json_put_array(j, "attention");
	attention_add_faults(&a);
	attention_add_sync(&a);
	attention_add_lost(&a);
	attention_add_blocked(&a);
	attention_add_mail(&a, true);
	attention_add_stuck(&a);
	attention_add_holders(&a);
	attention_add_incursions(&a);
	attention_add_reservations(&a);
	attention_add_mail(&a, false);
	json_end(j);
	json_put_int(j, "attention_total", a.count);
}
