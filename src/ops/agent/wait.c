#include "agents/waiting.h"
#include "base/text/json.h"
#include "machines/share.h"
#include "ops/agent/agent_ops.h"
#include "ops/ops.h"
#include "store/db/bead_words.h"

/* bb agent wait: waits for mail, a free scope or the status of a bead. */

struct body {
	struct str agent, after;
	bool mail;
	struct list freed, beads;
	int64_t timeout;
};

#define AT(member) offsetof(struct body, member)

enum { MINUTE = 60 * 1000 };

static const struct field fields[] = {
	AGENT_FIELD(struct body, agent, "your name"),
	{ "mail", &kind_bool, AT(mail), .help = "wait for unread mail (the default condition)" },
	{ "after", &kind_str, AT(after), .arg = "MESSAGE", .min = 1, .max = 200,
	  .help = "message id; wait for a later message, read or not" },
	{ "freed", &kind_str, AT(freed), FIELD_LIST, .arg = "SCOPE", .min = 1, .max = 4096,
	  .most = 64, .help = "wait until no other agent has reserved any part of this scope" },
	{ "bead", &kind_str, AT(beads), FIELD_LIST, .arg = "ID:STATUS", .min = 1, .max = 200,
	  .most = 64, .help = "wait until the bead has this status (default closed)" },
	{ "timeout", &kind_duration, AT(timeout), .min = 0, .max = 24 * 60 * MINUTE,
	  .help = "maximum time to wait (default 10m; 50s over MCP)" },
	{ 0 },
};

static const struct prop props[] = {
	{ "events:object[] cursor|null timed_out:bool interrupted:bool", NULL },
	{ 0 },
};

/* "bd-a1b2:closed" */
static enum err parse_goals(struct call *c, const struct list *list, struct bead_goal **out)
{
	const struct str *text = list->item;

	*out = arena_array(&c->mem, list->n + 1, sizeof **out);
	for (size_t i = 0; i < list->n; i++) {
		struct str rest = text[i];

		str_next(&rest, ':', &(*out)[i].id);
		(*out)[i].status = rest.p ? names_value(&bead_statuses, rest) : -1;
		if ((*out)[i].status >= 0 && (*out)[i].id.n)
			continue;
		call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a bead and a status",
			  STR_ARG(text[i]));
		return call_step(c, "Write ID:closed, ID:in_progress or ID:open.");
	}
	return ERR_OK;
}

static void put_events(struct json *reply, const struct wait_answer *answer)
{
	json_put_array(reply, "events");
	for (const struct mail *m = answer->mail; m; m = m->next) {
		json_object(reply);
		json_put_str(reply, "kind", STR("mail"));
		json_key(reply, STR("message"));
		mail_encode(reply, m);
		json_end(reply);
	}
	for (size_t i = 0; i < answer->freed_count; i++) {
		json_object(reply);
		json_put_str(reply, "kind", STR("freed"));
		json_put_str(reply, "scope", answer->freed[i]);
		json_end(reply);
	}
	for (size_t i = 0; i < answer->bead_count; i++) {
		json_object(reply);
		json_put_str(reply, "kind", STR("bead"));
		json_put_str(reply, "id", answer->beads[i].id);
		json_put_word(reply, "status", &bead_statuses, answer->beads[i].status);
		json_end(reply);
	}
	json_end(reply);
}

/* With sharing on, the share process looks for changes from other machines meanwhile. */
enum err agent_wait_for(struct call *c, struct agent_files *f, const struct wait_ask *ask,
			struct wait_answer *out)
{
	struct share_wait waiting = share_wait_begin(c);
	struct wait_ask shared = *ask;
	enum err e;

	if (waiting.fd >= 0)
		shared.keep = share_wait_again;
	e = wait_for(c, f, &shared, out);
	share_wait_end(&waiting);
	return e;
}

static enum err agent_wait_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	const struct body *in = body;
	struct bead_goal *goals;
	struct wait_ask ask = {
		.agent = in->agent,
		.mail = in->mail || in->after.p || (!in->freed.n && !in->beads.n),
		.filter = { .state = in->after.p ? -1 : MAIL_UNREAD,
			    .after = in->after,
			    .limit = 50 },
		.oldest = true,
		.scopes = in->freed.item,
		.scope_count = in->freed.n,
		.bead_count = in->beads.n,
		.timeout_ms = in->timeout != ABSENT ? in->timeout :
			      c->wire               ? 50 * 1000 :
						      10 * MINUTE,
	};
	struct wait_answer answer;
	enum err e;

	if ((e = parse_goals(c, &in->beads, &goals)))
		return e;
	ask.beads = goals;
	if ((e = agent_wait_for(c, s->agents, &ask, &answer)))
		return e;
	json_object(reply);
	put_events(reply, &answer);
	json_put_str(reply, "cursor", answer.cursor);
	json_put_bool(reply, "timed_out", answer.timed_out);
	json_put_bool(reply, "interrupted", answer.interrupted);
	json_end(reply);
	return ERR_OK;
}

const struct op op_agent_wait = {
	.name = "agent wait",
	.help = "Wait for mail, a free scope or a bead's status",
	.more = "Returns when any condition holds, and reports which. The reply's cursor is "
		"the id of the newest message, or of the last reported one if there are more than "
		"50. Pass it as --after in the next call, to miss no message and see none twice. "
		"Exits with 1 on a timeout.",
	.examples = "bb agent wait --agent amber-otter --freed 'src/lib/*' --timeout 10m\n"
		    "bb agent wait --agent amber-otter --mail --bead bd-a1b2:closed",
	.flags = AGENT_READ | OP_WAITS,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "waited", props },
	.run = agent_wait_run,
};
