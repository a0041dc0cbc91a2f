/* Puts registrations and mail of other machines into the files of the agents. */
#include "agents/mail_join.h"
#include "agents/registry.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "machines/apply.h"

/*
 * Small, so that commands that wait for the lock get it soon. A mailbox costs a sync to disk, a
 * message the replacement of a small file.
 */
enum { AGENTS_AT_ONCE = 25, MAIL_AT_ONCE = 200, BOXES_AT_ONCE = 20 };

static enum err apply_note_subject(const struct fact_row *row, struct arena *scratch, void *arg)
{
	struct map *all = arg;

	(void)scratch;
	if (!map_find(all, row->subject))
		map_put(all, arena_copy(all->mem, row->subject));
	return ERR_OK;
}

/* Adds subjects to a list: those in `all`, then those of open facts of these kinds. */
static enum err apply_list_open(struct applying *k, const char *const *kinds, struct map *all,
				struct apply_list *out)
{
	struct arena *mem = &k->round->mem;
	enum err e = ERR_OK;

	for (; !e && *kinds; kinds++) {
		struct fact_filter open = { .kind = str_of(*kinds), .open = true };

		e = fact_row_visit_each(k->c, &k->m->db, &open, apply_note_subject, all);
	}
	for (size_t i = 0; i < all->count; i++) {
		out->item = arena_room(mem, out->item, out->count, sizeof *out->item);
		out->item[out->count++] = arena_copy(mem, all->entry[i].key);
	}
	return e;
}

/* --- registry --- */

static const struct str registry_history = { "agents/history.jsonl", 20 };

static enum err apply_registration(struct applying *k, const struct registration *one)
{
	const struct value *data = one->last.data;
	struct registered a = { .id = one->shown,
				.display = value_str(data, "display"),
				.role = value_str(data, "role"),
				.created_ms = one->created_ms,
				.seen_ms = apply_time_of(k, one->created_ms),
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

/* The agent that has this name now, and those that were registered with it and renamed. */
static enum err apply_registrations(struct applying *k, struct str name)
{
	void **at = map_find(&k->agents.names, name);
	struct registration *now = registrations_of_record(&k->agents, name);
	enum err e = now ? apply_registration(k, now) : ERR_OK;

	for (struct registration *one = at ? *at : NULL; !e && one; one = one->next)
		if (one != now && registrations_of_record(&k->agents, one->shown) == one)
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
		e = registry_join(k->c, &k->files, &k->history, a);
		if (e == ERR_INVALID_INPUT) /* another program wrote the agent's file */
			e = call_forgive(k->c);
		if (e)
			return e;
	}
	if ((e = place_row_find(k->c, &k->m->db, key, &text)))
		return e;
	if ((text.p && number_int(text, &known) && known >= seen))
		return ERR_OK;
	return place_row_put(k->c, &k->m->db, key, arena_fmt(&k->c->mem, "%lld", (long long)seen));
}

static enum err apply_note_seen(struct applying *k, void *arg, const struct fact *f)
{
	struct map *latest = arg;
	struct str name = registrations_name(&k->agents, f->machine, f->subject);
	int64_t seen, *last;

	apply_done(k, f);
	if (!apply_time(k, f, "seen", &seen))
		return ERR_OK;
	last = map_number(latest, name);
	if (*last < seen)
		*last = seen;
	return ERR_OK;
}

/* The last-seen time of each agent that any machine knows by this name. */
static enum err apply_all_seen(struct applying *k, struct str subject)
{
	struct map latest = { .mem = &k->c->mem };
	struct fact_filter open = { .kind = STR("agent.seen"), .subject = subject, .open = true };
	enum err e = apply_each(k, &open, apply_note_seen, &latest);

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

static enum err apply_note_done(struct applying *k, void *any, const struct fact *f)
{
	*(bool *)any = true;
	apply_done(k, f);
	return ERR_OK;
}

/*
 * An agent that was changed here since the collection is left for the next round: its change is
 * later than the facts, and would be overwritten by them.
 */
static enum err apply_agent(struct applying *k, struct str name)
{
	struct fact_filter open = { .kind = STR("agent.registered"),
				    .subject = name,
				    .open = true };
	bool any = false;
	enum err e;

	if (apply_is_changed(k, name))
		return ERR_OK;
	if ((e = apply_each(k, &open, apply_note_done, &any)) ||
	    (!any && !map_find(&k->rejoin, name)))
		return e;
	return apply_registrations(k, name);
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
	enum err e;

	for (size_t i = 0; i < k->rejoin.count; i++)
		map_put(&names, k->rejoin.entry[i].key);
	e = apply_list_open(k, registered, &names, &k->roster);
	k->registered = k->roster.count;
	if (e || (e = apply_list_open(k, seen, &again, &k->roster)))
		return e;
	return apply_registry_next(k);
}

/* --- mail --- */

/* Older versions do not name the machine of the recipient. */
const struct registration *apply_recipient(const struct applying *k, const struct fact *sent,
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
	return category >= 0 && apply_time(k, f, "created", &m->created_ms);
}

/* A message that names the registration it was sent to waits until that is known. */
static bool apply_awaits_recipient(struct applying *k, const struct fact *sent)
{
	int64_t registered;

	return !apply_recipient(k, sent, &registered) && registered;
}

static enum err apply_leave_out_mail(struct applying *k, const struct mail *m)
{
	struct str place = arena_fmt(&k->c->mem, "the mailbox of '" STR_FMT "'", STR_ARG(m->to));

	return apply_leave_out(k, place, "messages, reads and acks", m->via, m->to);
}

/* The facts about one message. */
struct mail_facts {
	struct applying *k;
	struct mail_joining *boxes;
	struct map senders; /* by machine: the first fact that sends a message under this id */
	struct mail steps;  /* its state and times; `via`: the last other machine that changed it */
	const struct fact *owner; /* the sender whose message has the id */
	struct str text;          /* the owner's fact, if there are other senders */
};

static void apply_note_sender(struct mail_facts *m, const struct fact *f)
{
	static const char *const members[] = { "to", "to_machine", "to_registered", NULL };
	struct fact **at = (struct fact **)map_find(&m->senders, f->machine), *kept;

	if (at && fact_cmp(f, *at) >= 0)
		return;
	kept = fact_keep(m->senders.mem, f, members);
	*map_put(&m->senders, kept->machine) = kept;
}

static void apply_note_step(struct applying *k, struct mail_facts *m, const struct fact *f)
{
	enum mail_state state = f->kind == FACT_MESSAGE_READ ? MAIL_READ : MAIL_ACKED;
	struct mail *steps = &m->steps;
	int64_t when = 0, *at = state == MAIL_READ ? &steps->read_ms : &steps->acked_ms;

	if (!apply_time(k, f, "when", &when))
		return;
	if (state > steps->state)
		steps->state = state;
	if (!str_eq(f->machine, k->m->me.self.id) && !str_eq(f->machine, steps->via))
		steps->via = arena_copy(m->senders.mem, f->machine);
	*at = *at && *at < when ? *at : when;
	if (state == MAIL_ACKED && (!steps->read_ms || steps->read_ms > when))
		steps->read_ms = when;
}

/* A fact of another kind may have the same subject, and is joined elsewhere. */
static enum err apply_note_mail(struct applying *k, void *arg, const struct fact *f)
{
	struct mail_facts *m = arg;
	bool sent = f->kind == FACT_MESSAGE_SENT;

	if (sent)
		apply_note_sender(m, f);
	else if (f->kind == FACT_MESSAGE_READ || f->kind == FACT_MESSAGE_ACKED)
		apply_note_step(k, m, f);
	else
		return ERR_OK;
	if (!sent || !apply_awaits_recipient(k, f))
		apply_done(k, f);
	return ERR_OK;
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

/*
 * The step counts towards the share of the machine that sent the message; if that is this machine,
 * towards the share of the machine that took the step.
 */
static void apply_steps(struct mail *m, const struct mail *steps)
{
	m->state = steps->state;
	m->read_ms = steps->read_ms;
	m->acked_ms = steps->acked_ms;
	if (!m->machine.p && steps->via.p)
		m->via = steps->via;
}

static enum err apply_owner_text(struct applying *k, void *arg, const struct fact *sent)
{
	struct mail_facts *m = arg;

	(void)k;
	m->text = json_canonical_text(m->senders.mem, sent->data);
	return ERR_OK;
}

/*
 * A clone and its copy, which has its own id by now, may both have the fact of one message: then it
 * is not a second message. The call's memory is that of the mailboxes, which outlive this message.
 */
static enum err apply_sent(const struct fact_row *row, struct arena *scratch, void *arg)
{
	const struct mail_facts *m = arg;
	struct applying *k = m->k;
	bool owner = m->owner && str_eq(row->machine, m->owner->machine), left_out = false;
	struct mail mail;
	struct fact f;
	enum err e;

	if (fact_parse(scratch, row->machine, row->line, &f) != FACT_KNOWN ||
	    (!owner && str_eq(m->text, json_canonical_text(scratch, f.data))) ||
	    !apply_read_mail(k, &f, &mail))
		return ERR_OK;
	if (owner)
		apply_steps(&mail, &m->steps);
	else
		mail.id = apply_other_id(k, &f);
	e = mail_join(m->boxes, &mail, &left_out);
	return !e && left_out ? apply_leave_out_mail(k, &mail) : e;
}

static enum err apply_all_sent(struct mail_facts *m)
{
	struct applying *k = m->k;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < m->senders.count; i++) {
		const struct fact *f = m->senders.entry[i].value;
		struct fact_filter one = { .machine = f->machine, .seq = f->seq };

		if (!apply_awaits_recipient(k, f))
			e = fact_row_visit_each(k->c, &k->m->db, &one, apply_sent, m);
	}
	return e;
}

/*
 * Joins all facts about one message, and again if the message arrives after its ack. A message is
 * joined only once the registration of its recipient is known.
 */
static enum err apply_message(struct applying *k, struct mail_joining *boxes, struct str id)
{
	struct mail_facts m = { .k = k, .boxes = boxes, .senders.mem = &k->c->mem };
	struct fact_filter about = { .subject = id };
	enum err e = apply_each(k, &about, apply_note_mail, &m);

	if (e || (e = apply_find_owner(k, id, &m.senders, &m.owner)) ||
	    (m.owner && m.senders.count > 1 && (e = apply_again(k, m.owner, apply_owner_text, &m))))
		return e;
	return apply_all_sent(&m);
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
