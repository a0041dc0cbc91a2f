/* Puts registrations and mail of other machines into the files of the agents. */
#include "agents/mail.h"
#include "agents/registry.h"
#include "base/number.h"
#include "base/text/value.h"
#include "machines/apply.h"

enum { MAIL_AT_ONCE = 50 }; /* so that commands that want the lock need not wait for long */

/* --- registry --- */

static enum err apply_registration(struct applying *k, const struct registration *one)
{
	const struct value *data = one->last.data;
	struct registered a = { .id = one->shown,
				.display = value_str(data, "display"),
				.role = value_str(data, "role"),
				.created_ms = one->created_ms,
				.seen_ms = one->created_ms,
				.machine = apply_machine(k, one->machine),
				.via = one->last.machine };
	enum err e;

	if (a.machine.p)
		a.machine_id = one->machine;
	if (str_eq(one->machine, k->m->me.self.id) && str_eq(one->last.machine, one->machine))
		return ERR_OK; /* made and last changed here */
	if (!a.display.n)
		a.display = a.id;
	e = registry_join(k->c, &k->files, &a);
	return e == ERR_INVALID_INPUT ? call_forgive(k->c) : e;
}

/* Notes the time, so that the agent's last-seen time is not exported as if it had acted here. */
static enum err apply_seen(struct applying *k, const struct fact *f)
{
	struct str name = registrations_name(&k->agents, f->machine, f->subject, 0);
	struct str key = arena_fmt(&k->c->mem, "seen " STR_FMT, STR_ARG(name)), text;
	struct registered *a;
	int64_t seen, known = 0;
	enum err e;

	if (!value_int(f->data, "seen", &seen) || seen <= 0)
		return ERR_OK;
	if (!registry_id_valid(name) || registry_find(k->c, &k->files, name, &a))
		return call_forgive(k->c);
	if (seen > a->seen_ms) {
		a->seen_ms = seen;
		if ((e = registry_join(k->c, &k->files, a)))
			return e;
	}
	if ((e = place_row_find(k->c, &k->m->db, key, &text)))
		return e;
	if ((text.p && number_int(text, &known) && known >= seen))
		return ERR_OK;
	return place_row_put(k->c, &k->m->db, key, arena_fmt(&k->c->mem, "%lld", (long long)seen));
}

enum err apply_registry(struct applying *k)
{
	struct fact *f;
	enum err e = apply_facts(k, STR("agent.registered"), STR_NONE, true, &f);

	for (; !e && f; f = f->next) {
		void **at = map_find(&k->agents.names, f->subject);

		for (struct registration *one = at ? *at : NULL; !e && one; one = one->next)
			e = apply_registration(k, one);
		apply_done(k, f);
	}
	if (e || (e = apply_facts(k, STR("agent.seen"), STR_NONE, true, &f)))
		return e;
	for (; !e && f; f = f->next) {
		e = apply_seen(k, f);
		apply_done(k, f);
	}
	return e;
}

/* --- mail --- */

static bool apply_read_mail(struct applying *k, const struct fact *f, struct mail *m)
{
	const struct value *ack = value_find(f->data, "requires_ack");
	int category = names_exact(&categories, value_str(f->data, "category"));
	int64_t registered = 0;

	value_int(f->data, "to_registered", &registered);
	*m = (struct mail){ .id = f->subject,
			    .thread = value_str(f->data, "thread_id"),
			    .bead = value_str(f->data, "bead_id"),
			    .subject = value_str(f->data, "subject"),
			    .body = value_str(f->data, "body"),
			    .category = (enum category)category,
			    .requires_ack = ack && ack->type == VALUE_BOOL && ack->yes,
			    .machine = apply_machine(k, f->machine),
			    .via = f->machine };
	m->from = registrations_name(&k->agents, f->machine, value_str(f->data, "from"), 0);
	m->to = registrations_name(&k->agents, f->machine, value_str(f->data, "to"), registered);
	return category >= 0 && value_int(f->data, "created", &m->created_ms) && m->created_ms > 0;
}

static void apply_step(struct mail *m, const struct fact *f)
{
	int64_t when = 0, *at = f->kind == FACT_MESSAGE_READ ? &m->read_ms : &m->acked_ms;
	enum mail_state state = f->kind == FACT_MESSAGE_READ ? MAIL_READ : MAIL_ACKED;

	if (!value_int(f->data, "when", &when) || when <= 0)
		return;
	if (state > m->state) {
		m->state = state;
		m->via = f->machine;
	}
	*at = *at && *at < when ? *at : when;
	if (state == MAIL_ACKED && (!m->read_ms || m->read_ms > when))
		m->read_ms = when;
}

/* A message names the registration that it was sent to, which has to be known. */
static bool apply_awaits_recipient(struct applying *k, const struct fact *sent)
{
	int64_t registered = 0;

	return value_int(sent->data, "to_registered", &registered) && registered &&
	       !registrations_find(&k->agents, value_str(sent->data, "to"), registered);
}

/*
 * Joins all facts about one message; once more when the message itself arrives after its ack. A
 * message waits for the registration of its recipient.
 */
static enum err apply_message(struct applying *k, struct str id, size_t *joined)
{
	const struct fact *sent = NULL;
	struct fact *facts;
	struct mail m;
	bool changed;
	enum err e = apply_facts(k, STR_NONE, id, false, &facts);

	for (const struct fact *f = facts; !e && f; f = f->next)
		if (f->kind == FACT_MESSAGE_SENT && (!sent || fact_cmp(f, sent) < 0))
			sent = f;
	if (e || (sent && apply_awaits_recipient(k, sent)))
		return e;
	if (sent && apply_read_mail(k, sent, &m)) {
		for (const struct fact *f = facts; f; f = f->next)
			if (f->kind == FACT_MESSAGE_READ || f->kind == FACT_MESSAGE_ACKED)
				apply_step(&m, f);
		e = mail_join(k->c, &k->files, &m, &changed);
		++*joined;
	}
	for (const struct fact *f = facts; !e && f; f = f->next)
		apply_done(k, f);
	return e;
}

enum err apply_mail(struct applying *k)
{
	static const char *const kinds[] = { "message.sent", "message.read", "message.acked" };
	struct map ids = { .mem = &k->c->mem };
	size_t joined = 0;
	struct fact *f;
	enum err e = ERR_OK;

	for (size_t i = 0; i < k->again.count; i++)
		map_put(&ids, k->again.entry[i].key);
	for (size_t i = 0; !e && i < sizeof kinds / sizeof *kinds; i++) {
		e = apply_facts(k, str_of(kinds[i]), STR_NONE, true, &f);
		for (; !e && f; f = f->next)
			map_put(&ids, f->subject);
	}
	k->more = false;
	for (size_t i = 0; !e && i < ids.count && !k->more; i++) {
		e = apply_message(k, ids.entry[i].key, &joined);
		k->more = joined == MAIL_AT_ONCE && i >= k->again.count;
	}
	return e;
}
