/* Local acts in the records of the agents: registrations and mail. */
#include "agents/mailbox.h"
#include "agents/registry.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "machines/collect.h"

enum { SEEN_ALONE_MS = 5 * 60 * 1000, SEEN_BESIDE_MS = 30 * 1000 };

bool collect_is_local(const struct value *v)
{
	return !value_find(v, "via");
}

enum err collect_lines(struct collecting *k, struct agent_files *f, struct str file,
		       collect_line *each, void *arg)
{
	struct call *c = k->c;
	struct arena parsed = { 0 };
	int64_t from, begin, size;
	struct str text = { 0 }, line;
	enum err e;

	if ((e = collect_place(k, file, &from)) || (e = agent_file_size(c, f, file, &size)))
		return e;
	begin = from = size < from ? 0 : from;
	do {
		struct call part = call_part(c);

		e = from < size ? agent_file_read_part(&part, f, file, &from, &text) : ERR_OK;
		for (struct str rest = text; !e && agent_line_next(&rest, &line);) {
			const struct value *v = agent_line_parse(&parsed, line);

			if (v)
				each(k, f, v, arg);
			arena_reset(&parsed);
		}
		e = call_part_end(c, &part, e);
	} while (!e && text.n && from < size);
	arena_release(&parsed);
	return e || from == begin ? e : collect_set_place(k, file, from);
}

/* --- registrations --- */

static void collect_registered(struct collecting *k, struct agent_files *f, const struct value *v,
			       void *arg)
{
	struct str machine = value_str(v, "machine_id");
	struct json j = json_new(&k->c->mem);

	(void)f, (void)arg;
	if (!collect_is_local(v))
		return;
	json_object(&j);
	json_put_str(&j, "agent", value_str(v, "agent_id"));
	json_put_int(&j, "created", value_moment(v, "created_at"));
	json_put_str(&j, "display", value_str(v, "display_name"));
	if (machine.n) /* the agent was registered there; that fact may arrive after this one */
		json_put_str(&j, "machine", machine);
	json_put_str(&j, "role", value_str(v, "role"));
	json_end(&j);
	collect_add(k, FACT_AGENT_REGISTERED, value_moment(v, "last_seen_at"),
		    value_str(v, "agent_id"), &j);
}

/* --- mail --- */

struct collect_box {
	struct str agent;
	int64_t registered; /* when its owner was registered; 0: unknown */
	struct str machine; /* where */
	struct map last;    /* by message: struct collect_message */
};

/* What the new lines say about a message. */
struct collect_message {
	int state; /* the last one */
	bool wants_ack;
	bool sent; /* one of the lines is that of its sending */
	int64_t created_ms;
};

static void collect_mail_state(struct collecting *k, struct agent_files *f, const struct value *v,
			       void *arg)
{
	struct collect_box *box = arg;
	struct str id = value_str(v, "message_id");
	struct collect_message *m;
	void **at;

	(void)f;
	if (!collect_is_local(v))
		return;
	if (!(at = map_find(&box->last, id))) {
		at = map_put(&box->last, arena_copy(&k->c->mem, id));
		*at = arena_new(&k->c->mem, struct collect_message);
	}
	m = *at;
	m->state = names_exact(&mail_states, value_str(v, "state"));
	m->wants_ack = value_yes(v, "requires_ack");
	m->sent = m->sent || m->state == MAIL_UNREAD;
	m->created_ms = value_moment(v, "created_at");
}

/*
 * Mail that was settled long ago is not exported when sharing begins. But if other machines know a
 * message, they are told that it is settled, however old it is.
 */
static bool collect_mail_is_old(struct collecting *k, const struct collect_box *box, struct str id)
{
	void **at = map_find(&box->last, id);
	const struct collect_message *m = at ? *at : NULL;

	return m && m->sent &&
	       (m->state == MAIL_ACKED || (m->state == MAIL_READ && !m->wants_ack)) &&
	       m->created_ms < k->since_ms;
}

static void collect_sent(struct collecting *k, const struct value *v, const struct collect_box *box)
{
	static const char *const members[] = { "bead_id", "body", "category", "subject",
					       "thread_id" };
	struct json j = json_new(&k->c->mem);

	json_object(&j);
	json_put_str(&j, "id", value_str(v, "message_id"));
	json_put_str(&j, "from", value_str(v, "from_agent"));
	json_put_str(&j, "to", value_str(v, "to_agent"));
	json_put_int(&j, "created", value_moment(v, "created_at"));
	json_put_bool(&j, "requires_ack", value_yes(v, "requires_ack"));
	if (box->registered) {
		json_put_int(&j, "to_registered", box->registered);
		json_put_str(&j, "to_machine", box->machine);
	}
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		json_put_str(&j, members[i], value_str(v, members[i]));
	json_end(&j);
	collect_add(k, FACT_MESSAGE_SENT, value_moment(v, "created_at"), value_str(v, "from_agent"),
		    &j);
}

static void collect_step(struct collecting *k, const struct value *v, enum fact_kind kind,
			 const char *when)
{
	struct json j = json_new(&k->c->mem);
	int64_t ms = value_moment(v, when);

	json_object(&j);
	json_put_str(&j, "id", value_str(v, "message_id"));
	json_put_int(&j, "when", ms);
	json_end(&j);
	collect_add(k, kind, ms, value_str(v, "to_agent"), &j);
}

static void collect_mail(struct collecting *k, struct agent_files *f, const struct value *v,
			 void *arg)
{
	const struct collect_box *box = arg;

	(void)f;
	if (!collect_is_local(v) || collect_mail_is_old(k, box, value_str(v, "message_id")))
		return;
	switch (names_exact(&mail_states, value_str(v, "state"))) {
	case MAIL_UNREAD:
		collect_sent(k, v, box);
		break;
	case MAIL_READ:
		collect_step(k, v, FACT_MESSAGE_READ, "read_at");
		break;
	case MAIL_ACKED:
		collect_step(k, v, FACT_MESSAGE_ACKED, "acked_at");
		break;
	}
}

/* Two passes: the first finds the last state of each message. */
static enum err collect_box(struct collecting *k, struct agent_files *f, struct str agent)
{
	struct str file = mailbox_file(k->c, agent);
	struct collect_box box = { .agent = agent, .last.mem = &k->c->mem };
	struct registered *a;
	int64_t from, size;
	enum err e;

	if ((e = collect_place(k, file, &from)) || (e = agent_file_size(k->c, f, file, &size)) ||
	    from == size)
		return e;
	if (registry_id_valid(agent) && !registry_find(k->c, f, agent, &a)) {
		box.registered = a->created_ms;
		box.machine = a->machine_id.n ? a->machine_id : k->m->me.self.id;
	}
	call_forgive(k->c);
	if ((e = collect_lines(k, f, file, collect_mail_state, &box)) ||
	    (e = collect_set_place(k, file, from)))
		return e;
	return collect_lines(k, f, file, collect_mail, &box);
}

/* --- all records --- */

static enum err collect_files(struct collecting *k, struct agent_files *f)
{
	struct str *agents;
	size_t count;
	enum err e = collect_lines(k, f, STR("agents/history.jsonl"), collect_registered, NULL);

	if (e || (e = mailbox_list(k->c, f, &agents, &count)))
		return e;
	for (size_t i = 0; !e && i < count; i++)
		e = collect_box(k, f, agents[i]);
	if (e || (e = collect_reservations(k, f)))
		return e;
	return collect_events(k, f);
}

enum err collect_agents(struct collecting *k)
{
	struct agent_files f;
	enum err e = agent_files_open(k->c, AGENTS_READ, &f);

	if (!e && f.home.p)
		e = collect_files(k, &f);
	if (!e)
		agent_files_close(&f);
	return e;
}

/* --- the time an agent was last seen --- */

static enum err collect_seen_one(struct collecting *k, const struct registered *a, int64_t least_ms)
{
	struct json j = json_new(&k->c->mem);
	struct str key = arena_fmt(&k->c->mem, "seen " STR_FMT, STR_ARG(a->id));
	int64_t known;
	enum err e = collect_place(k, key, &known);

	if (e || a->seen_ms < known + least_ms)
		return e;
	json_object(&j);
	json_put_str(&j, "agent", a->id);
	json_put_int(&j, "seen", a->seen_ms);
	json_end(&j);
	collect_add(k, FACT_AGENT_SEEN, a->seen_ms, a->id, &j);
	return collect_set_place(k, key, a->seen_ms);
}

/* Sent together with other facts; alone, at most every five minutes. */
enum err collect_seen(struct collecting *k)
{
	int64_t least = k->first ? SEEN_BESIDE_MS : SEEN_ALONE_MS, looked;
	struct registered *a = NULL;
	struct agent_files f;
	enum err e = collect_place(k, STR("seen"), &looked);

	if (e || (!k->first && k->c->now_ms >= looked && k->c->now_ms - looked < SEEN_BESIDE_MS))
		return e;
	if ((e = agent_files_open(k->c, AGENTS_READ, &f)))
		return e;
	if (f.home.p)
		e = registry_each(k->c, &f, STR_NONE, STR_NONE, &a);
	for (; !e && a; a = a->next)
		e = collect_seen_one(k, a, least);
	agent_files_close(&f);
	return e ? e : collect_set_place(k, STR("seen"), k->c->now_ms);
}
