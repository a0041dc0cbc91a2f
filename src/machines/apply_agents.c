/* Puts registrations and mail of other machines into the files of the agents. */
#include "agents/mail_join.h"
#include "agents/registry.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "machines/apply.h"
#include "machines/log.h"

/* Small, so that commands that wait for the lock get it soon. A mailbox costs a sync to disk, a message
 * the replacement of a small file. */
enum { AGENTS_AT_ONCE = 25, MAIL_AT_ONCE = 200, BOXES_AT_ONCE = 20 };

/* Adds subjects to a list: those in `all`, then those of open facts of these kinds. */
static enum err apply_list_open(struct applying *k, const char *const *kinds, struct map *all,
				struct apply_list *out)
{
	struct arena *mem = &k->round->mem;
	struct fact_row *row;
	enum err e = ERR_OK;

	for (; !e && *kinds; kinds++) {
		struct fact_filter open = { .kind = str_of(*kinds), .open = true };

		e = fact_row_each(k->c, &k->m->db, &open, &row);
		for (; !e && row; row = row->next)
			map_put(all, row->subject);
	}
	for (size_t i = 0; i < all->count; i++) {
		out->item = arena_room(mem, out->item, out->count, sizeof *out->item);
		out->item[out->count++] = arena_copy(mem, all->entry[i].key);
	}
	return e;
}

/* --- registry --- */

/* Clocks may be wrong by a day. A time further in the future would keep a dead agent alive. */
static bool apply_is_possible(const struct applying *k, int64_t seen_ms)
{
	return seen_ms <= k->c->now_ms + LOG_CURRENT_DAYS * INT64_C(86400000);
}

static const struct str registry_history = { "agents/history.jsonl", 20 };

static enum err apply_registration(struct applying *k, const struct registration *one)
{
	const struct value *data = one->last.data;
	struct registered a = { .id = one->shown,
				.display = value_str(data, "display"),
				.role = value_str(data, "role"),
				.created_ms = one->created_ms,
				.seen_ms = apply_is_possible(k, one->created_ms) ? one->created_ms :
										   k->c->now_ms,
				.machine = apply_machine(k, one->machine),
				.via = one->last.machine };
	int64_t size;
	enum err e;

	if (a.machine.p)
		a.machine_id = one->machine;
	if (str_eq(one->machine, k->m->me.self.id) && str_eq(one->last.machine, one->machine))
		return ERR_OK; /* made and last changed here */
	if (!a.display.n)
		a.display = a.id;
	if ((e = agent_file_size(k->c, &k->files, registry_history, &size)))
		return e;
	if (size > AGENT_RECORD_FULL / 3 * 2) /* the rest is for the agents of this machine */
		return apply_leave_out(k, STR("the record of agents"), "agents", a.via,
				       registry_history);
	e = registry_join(k->c, &k->files, &k->history, &a);
	return e == ERR_INVALID_INPUT ? call_forgive(k->c) : e;
}

/* If several registrations of one machine have the same name now, the earliest one counts. */
static enum err apply_registrations(struct applying *k, struct str name)
{
	void **at = map_find(&k->agents.names, name);
	struct registration *one = at ? *at : NULL;
	enum err e = ERR_OK;

	if (!one && (at = map_find(&k->agents.renamed, name)))
		one = *at; /* another machine changed it under its new name */
	if (one)
		e = apply_registration(k, one);
	while (!e && one && (one = one->next))
		if ((at = map_find(&k->agents.renamed, one->shown)) && *at == one)
			e = apply_registration(k, one);
	return e;
}

/* Notes the time, so that the agent's last-seen time is not exported as if it had acted here. */
static enum err apply_seen(struct applying *k, struct str name, int64_t seen)
{
	struct str key = arena_fmt(&k->c->mem, "seen " STR_FMT, STR_ARG(name)), text;
	struct registered *a;
	int64_t known = 0;
	enum err e;

	if (!registry_id_valid(name))
		return ERR_OK;
	if (registry_find_in(k->c, &k->files, &k->history, name, &a) || !a)
		return call_forgive(k->c);
	if (seen > a->seen_ms) {
		a->seen_ms = seen;
		if ((e = registry_join(k->c, &k->files, &k->history, a)))
			return e;
	}
	if ((e = place_row_find(k->c, &k->m->db, key, &text)))
		return e;
	if ((text.p && number_int(text, &known) && known >= seen))
		return ERR_OK;
	return place_row_put(k->c, &k->m->db, key, arena_fmt(&k->c->mem, "%lld", (long long)seen));
}

/* The last-seen time of each agent that any machine knows by this name. */
static enum err apply_all_seen(struct applying *k, struct str subject)
{
	struct map latest = { .mem = &k->c->mem };
	struct fact *f;
	enum err e = apply_facts(k, STR("agent.seen"), subject, true, &f);

	for (; !e && f; f = f->next) {
		int64_t *seen = arena_new(&k->c->mem, int64_t), **at;

		apply_done(k, f);
		if (!value_int(f->data, "seen", seen) || *seen <= 0 || !apply_is_possible(k, *seen))
			continue;
		at = (int64_t **)map_put(&latest,
					 registrations_name(&k->agents, f->machine, subject));
		if (!*at || **at < *seen)
			*at = seen;
	}
	for (size_t i = 0; !e && i < latest.count; i++)
		e = apply_seen(k, latest.entry[i].key, *(int64_t *)latest.entry[i].value);
	return e;
}

/*
 * Adds the agents that a command has registered or changed here since the collection. The passes
 * before have read the file up to `changed_offset`. What follows is what they and commands have
 * appended since, so each line is read once, however many passes there are.
 */
static enum err apply_find_changed(struct applying *k)
{
	struct str file = registry_history, text, line;
	enum err e = k->changed_offset ? ERR_OK : apply_place(k->c, k->m, file, &k->changed_offset);

	if (!e && !(e = agent_file_read_from(k->c, &k->files, file, k->changed_offset, &text)))
		k->changed_offset += (int64_t)text.n;
	while (!e && agent_line_next(&text, &line)) {
		const struct value *v = agent_line_parse(&k->c->mem, line);

		if (v && !value_find(v, "via"))
			map_put(&k->changed, arena_copy(k->changed.mem, value_str(v, "agent_id")));
	}
	return e;
}

/* Is one of the agents that have this name, or had it, among those that were changed here? */
static bool apply_is_changed(const struct applying *k, struct str name)
{
	void **at = map_find(&k->agents.names, name);
	bool is = map_find(&k->changed, name);

	for (const struct registration *one = at ? *at : NULL; one && !is; one = one->next)
		is = map_find(&k->changed, one->shown);
	return is;
}

/*
 * An agent that was changed here since the collection is left for the next round: its change is
 * later than the facts, and would be overwritten by them.
 */
static enum err apply_agent(struct applying *k, struct str name)
{
	struct fact *f;
	enum err e;

	if (apply_is_changed(k, name))
		return ERR_OK;
	if (!(e = apply_facts(k, STR("agent.registered"), name, true, &f)) && f)
		e = apply_registrations(k, name);
	for (; !e && f; f = f->next)
		apply_done(k, f);
	return e;
}

/* All registrations are joined first, because a last-seen time needs a known agent. */
enum err apply_registry_next(struct applying *k)
{
	struct apply_list *l = &k->roster;
	enum err e = l->next < k->registered ? apply_find_changed(k) : ERR_OK;

	for (size_t i = 0; !e && i < AGENTS_AT_ONCE && l->next < l->count; i++) {
		struct str name = l->item[l->next];

		e = l->next++ < k->registered ? apply_agent(k, name) : apply_all_seen(k, name);
	}
	return e;
}

enum err apply_registry(struct applying *k)
{
	static const char *const registered[] = { "agent.registered", NULL };
	static const char *const seen[] = { "agent.seen", NULL };
	struct map names = { .mem = &k->c->mem }, again = names;
	enum err e = apply_list_open(k, registered, &names, &k->roster);

	k->registered = k->roster.count;
	if (e || (e = apply_list_open(k, seen, &again, &k->roster)))
		return e;
	return apply_registry_next(k);
}

/* --- mail --- */

/* The registration that a message was sent to. Older versions do not name its machine. */
static const struct registration *apply_recipient(const struct applying *k, const struct fact *sent,
						  int64_t *registered)
{
	struct str machine = value_str(sent->data, "to_machine");

	*registered = 0;
	if (!value_int(sent->data, "to_registered", registered) || !*registered)
		return NULL;
	return registrations_find(&k->agents, machine, value_str(sent->data, "to"), *registered);
}

static bool apply_read_mail(struct applying *k, const struct fact *f, struct mail *m)
{
	int category = names_exact(&categories, value_str(f->data, "category"));
	int64_t registered;
	const struct registration *to = apply_recipient(k, f, &registered);

	*m = (struct mail){ .id = f->subject,
			    .thread = value_str(f->data, "thread_id"),
			    .bead = value_str(f->data, "bead_id"),
			    .subject = value_str(f->data, "subject"),
			    .body = value_str(f->data, "body"),
			    .category = (enum category)category,
			    .requires_ack = value_yes(f->data, "requires_ack"),
			    .machine = apply_machine(k, f->machine),
			    .via = f->machine };
	m->from = registrations_name(&k->agents, f->machine, value_str(f->data, "from"));
	m->to = to ? to->shown :
		     registrations_name(&k->agents, f->machine, value_str(f->data, "to"));
	return category >= 0 && value_int(f->data, "created", &m->created_ms) && m->created_ms > 0;
}

/* The step counts towards the share of the machine that sent the message; if that is this machine,
 * towards the share of the machine that took the step. */
static void apply_step(struct applying *k, struct mail *m, const struct fact *f)
{
	int64_t when = 0, *at = f->kind == FACT_MESSAGE_READ ? &m->read_ms : &m->acked_ms;
	enum mail_state state = f->kind == FACT_MESSAGE_READ ? MAIL_READ : MAIL_ACKED;

	if (!value_int(f->data, "when", &when) || when <= 0)
		return;
	if (state > m->state)
		m->state = state;
	if (!m->machine.p && !str_eq(f->machine, k->m->me.self.id))
		m->via = f->machine;
	*at = *at && *at < when ? *at : when;
	if (state == MAIL_ACKED && (!m->read_ms || m->read_ms > when))
		m->read_ms = when;
}

/* A message that names the registration it was sent to waits until that is known. */
static bool apply_awaits_recipient(struct applying *k, const struct fact *sent)
{
	int64_t registered;

	return !apply_recipient(k, sent, &registered) && registered;
}

/* A fact of another kind may have the same subject, and is joined elsewhere. */
static bool fact_is_about_message(const struct fact *f)
{
	return f->kind == FACT_MESSAGE_SENT || f->kind == FACT_MESSAGE_READ ||
	       f->kind == FACT_MESSAGE_ACKED;
}

static enum err apply_leave_out_mail(struct applying *k, const struct mail *m)
{
	struct str place = arena_fmt(&k->c->mem, "the mailbox of '" STR_FMT "'", STR_ARG(m->to));

	return apply_leave_out(k, place, "messages, reads and acks", m->via, m->to);
}

/* The first fact of each machine that sends a message under this id. */
static struct map apply_senders(struct applying *k, struct fact *facts)
{
	struct map first = { .mem = &k->c->mem };

	for (struct fact *f = facts; f; f = f->next) {
		struct fact **at = f->kind == FACT_MESSAGE_SENT ?
					   (struct fact **)map_put(&first, f->machine) :
					   NULL;

		if (at && (!*at || fact_cmp(f, *at) < 0))
			*at = f;
	}
	return first;
}

/*
 * Anybody who can push can send a message under the id of another one. Both are delivered: the one
 * that was here first has the id, whatever their stamps, and the others get an id of their own.
 */
static enum err apply_find_owner(struct applying *k, struct str id, const struct map *senders,
				 const struct fact **out)
{
	struct str kind = STR("message");
	bool known = senders->count == 1;
	enum err e = ERR_OK;

	*out = known ? senders->entry[0].value : NULL;
	for (size_t i = 0; !e && !known && i < senders->count; i++) {
		const struct fact *f = senders->entry[i].value;

		e = value_row_find(k->c, &k->m->db, kind, id, f->machine, &known);
		if (known)
			*out = f;
		else if (!apply_awaits_recipient(k, f) &&
			 (!*out || f->done > (*out)->done ||
			  (f->done == (*out)->done && fact_cmp(f, *out) < 0)))
			*out = f;
	}
	return e || known || !*out ? e : value_row_put(k->c, &k->m->db, kind, id, (*out)->machine);
}

static struct str apply_other_id(struct applying *k, const struct fact *sent)
{
	enum { RANDOM = 16 }; /* the last digits of an id */
	struct arena *mem = &k->c->mem;
	struct str both = arena_fmt(mem, STR_FMT " " STR_FMT, STR_ARG(sent->subject),
				    STR_ARG(sent->machine)),
		   id = sent->subject;

	return id.n < RANDOM ? id :
			       arena_fmt(mem, STR_FMT "%.16s", STR_ARG(str_head(id, id.n - RANDOM)),
					 sha256_hex(mem, both).p);
}

/* A clone and its copy, which has an id of its own by now, may both send what was sent before. */
static bool apply_is_same(struct applying *k, const struct fact *a, const struct fact *b)
{
	struct json one = json_new(&k->c->mem), other = json_new(&k->c->mem);

	if (!a)
		return false;
	json_canonical(&one, a->data);
	json_canonical(&other, b->data);
	return str_eq(json_text(&one), json_text(&other));
}

static enum err apply_sent(struct applying *k, struct mail_joining *boxes, const struct fact *sent,
			   const struct fact *facts, bool owner)
{
	bool left_out = false;
	struct mail m;
	enum err e;

	if (!apply_read_mail(k, sent, &m))
		return ERR_OK;
	if (!owner)
		m.id = apply_other_id(k, sent);
	for (const struct fact *f = facts; owner && f; f = f->next)
		if (f->kind == FACT_MESSAGE_READ || f->kind == FACT_MESSAGE_ACKED)
			apply_step(k, &m, f);
	e = mail_join(boxes, &m, &left_out);
	return !e && left_out ? apply_leave_out_mail(k, &m) : e;
}

/*
 * Joins all facts about one message, and again if the message arrives after its ack. A message is
 * joined only once the registration of its recipient is known.
 */
static enum err apply_message(struct applying *k, struct mail_joining *boxes, struct str id)
{
	const struct fact *owner;
	struct map senders;
	struct fact *facts;
	enum err e = apply_facts(k, STR_NONE, id, false, &facts);

	if (e)
		return e;
	senders = apply_senders(k, facts);
	e = apply_find_owner(k, id, &senders, &owner);
	for (size_t i = 0; !e && i < senders.count; i++) {
		const struct fact *f = senders.entry[i].value;

		if (!apply_awaits_recipient(k, f) && (f == owner || !apply_is_same(k, owner, f)))
			e = apply_sent(k, boxes, f, facts, f == owner);
	}
	for (const struct fact *f = facts; !e && f; f = f->next)
		if (fact_is_about_message(f) &&
		    (f->kind != FACT_MESSAGE_SENT || !apply_awaits_recipient(k, f)))
			apply_done(k, f);
	return e;
}

enum err apply_mail_next(struct applying *k)
{
	struct mail_joining boxes = { .c = k->c, .files = &k->files, .boxes.mem = &k->c->mem };
	struct apply_list *l = &k->mail;
	size_t joined = 0;
	enum err e = ERR_OK;

	for (;
	     !e && l->next < l->count &&
	     (l->next < k->renames || (joined < MAIL_AT_ONCE && boxes.boxes.count < BOXES_AT_ONCE));
	     joined++)
		e = apply_message(k, &boxes, l->item[l->next++]);
	return e ? e : mail_join_end(&boxes);
}

enum err apply_mail(struct applying *k)
{
	static const char *const kinds[] = { "message.sent", "message.read", "message.acked",
					     NULL };
	enum err e;

	k->renames = k->again.count;
	e = apply_list_open(k, kinds, &k->again, &k->mail);
	return e ? e : apply_mail_next(k);
}
