/* Reads the records of the agents for the feed. */
#include "agents/mailbox.h"
#include "agents/registry.h"
#include "base/moment.h"
#include "base/text/value.h"
#include "live/feed_round.h"

/* Copies only the members that say what the line is about. */
static void feed_put_members(struct json *j, const struct value *v, const char *const *names)
{
	for (; *names; names++) {
		const struct value *member = value_find(v, *names);

		if (!member || member->type == VALUE_ARRAY || member->type == VALUE_OBJECT ||
		    member->text.n > 512)
			continue;
		json_name(j, str_of(*names));
		json_value(j, member);
	}
}

static const char *const mail_members[] = { "message_id", "bead_id",      "from_agent",
					    "to_agent",   "category",     "state",
					    "created_at", "requires_ack", NULL };

/* What the sender did, in the words of `last_act` of the overview. */
static struct str feed_mail_act(const struct value *v)
{
	return str_of(category_act(names_exact(&categories, value_str(v, "category"))));
}

static void feed_collect_lines(struct feed_round *t, struct agent_files *f, struct str file,
			       const char *type, const char *const *names)
{
	struct str text, line;
	int64_t size, from;

	feed_round_choose(t, file);
	if (agent_file_size(t->c, f, file, &size)) {
		call_forgive(t->c); /* the next round tries again */
		return;
	}
	if (size == t->at->at[0])
		return;
	if (size < t->at->at[0] || !t->tell) {
		bool lost = t->at->at[0];

		t->at->at[0] = size;
		if (lost)
			feed_round_reset(t);
		return;
	}
	from = t->at->at[0];
	if (agent_file_read_part(t->c, f, file, &from, &text)) {
		call_forgive(t->c);
		return;
	}
	while (text.n && str_next(&text, '\n', &line)) {
		struct arena scratch = { 0 };
		const struct value *v = agent_line_parse(&scratch, line);
		struct json j = feed_round_begin(t->c);

		t->at->at[0] += (int64_t)line.n + 1;
		feed_put_members(&j, v, names);
		if (names == mail_members)
			json_put_str(&j, "what", feed_mail_act(v));
		feed_round_end(t, type, &j);
		arena_release(&scratch);
	}
	t->at->at[0] = from; /* a damaged line may lack its end */
}

static const char *const event_members[] = { "id",       "event_type", "bead_id",    "from_agent",
					     "to_agent", "scope",      "created_at", NULL };
static const char *const reservation_members[] = {
	"reservation_id", "scope", "agent_id", "bead_id", "state", "expires_at", NULL
};
static const char *const agent_members[] = { "agent_id", "display_name", "role", NULL };

/* The agents whose last_seen_at has changed. This has no place: a new service begins anew. */
static void feed_collect_seen(struct feed_round *t, struct agent_files *f, bool first)
{
	struct json j = feed_round_begin(t->c);
	struct registered *a;
	size_t count = 0;

	if (registry_each(t->c, f, STR_NONE, STR_NONE, &a))
		return;
	json_put_object(&j, "agents");
	for (; a; a = a->next) {
		struct str now = moment_format(&t->c->mem, a->seen_ms);

		if ((count == FEED_IDS_MOST && !first) ||
		    !feed_round_has_changed(&t->s->seen, &t->s->mem, a->id, now))
			continue;
		json_key(&j, a->id);
		json_str(&j, now);
		count++;
	}
	json_end(&j);
	json_end(&j);
	if (count && !first && t->tell)
		t->tell(t->arg, "seen", json_text(&j));
}

static const char *const agent_sources[] = { "agents/", "reservations/", "events.jsonl",
					     "messages/", NULL };

void feed_collect_agents(struct feed_round *t, bool look, bool first)
{
	struct agent_files f;
	struct str *agents;
	size_t count;

	if (agent_files_open(t->c, AGENTS_READ, &f))
		return;
	if (!f.home.p) {
		feed_round_gone(t, agent_sources);
		return;
	}
	feed_collect_lines(t, &f, STR("agents/history.jsonl"), "agent", agent_members);
	feed_collect_lines(t, &f, STR("reservations/history.jsonl"), "reservation",
			   reservation_members);
	feed_collect_lines(t, &f, STR("events.jsonl"), "protocol", event_members);
	if (!mailbox_list(t->c, &f, &agents, &count))
		for (size_t i = 0; i < count; i++)
			feed_collect_lines(t, &f, mailbox_file(t->c, agents[i]), "mail",
					   mail_members);
	if (look)
		feed_collect_seen(t, &f, first);
}
