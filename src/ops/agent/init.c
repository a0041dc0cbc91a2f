#include "agents/session.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "ops/agent/agent_ops.h"
#include "ops/ops.h"

/*
 * bb-init, bb agent init: which agent this session is. It asks one question, and only at a
 * terminal: whether to adopt an agent without evidence of unfinished work.
 */

struct body {
	struct str name, display, role, adopt;
	struct session_filter filter;
	bool quietly;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "register", &kind_str, AT(name), .arg = "ID", .min = 1, .max = 200,
	  .help = "register a new agent with this id" },
	{ "adopt", &kind_str, AT(adopt), .arg = "AGENT", .min = 1, .max = 200,
	  .help = "resume as this agent, if it left unfinished work here" },
	{ "scope", &kind_str, AT(filter.scope), .arg = "PATH", .min = 1, .max = 4096,
	  .help = "scope in which to look for unfinished work" },
	{ "bead", &kind_str, AT(filter.bead), .arg = "BEAD", .min = 1, .max = 200,
	  .help = "bead for which to look for unfinished work" },
	{ "role", &kind_str, AT(role), .arg = "TEXT", .min = 1, .max = 200, .preset = "agent",
	  .help = "role, such as backend" },
	{ "display", &kind_str, AT(display), .arg = "TEXT", .min = 1, .max = 200,
	  .help = "display name (default: the id)" },
	{ "non_interactive", &kind_bool, AT(quietly), .help = "never ask for confirmation" },
	{ 0 },
};

static const struct prop evidence_props[] = {
	{ "agent_id liveness reason evidence bead_id scope|null", NULL },
	{ 0 },
};

static const struct prop recommendation_props[] = { { "action agent_id reason", NULL }, { 0 } };

static const struct prop props[] = {
	{ "decision", NULL },
	{ "agent", registered_props },
	{ "resumed|null", evidence_props },
	{ "recommendation", recommendation_props },
	{ "candidates[]", evidence_props },
	{ "reservations[]", reservation_props },
	{ 0 },
};

/* --- the recommendation, which depends on the evidence alone --- */

struct advice {
	bool adopt;
	struct str agent, reason;
	struct evidence *candidates;
};

static enum err agent_init_advise(struct call *c, struct agent_files *f, const struct body *in,
				  struct advice *out)
{
	const struct evidence *gone;
	enum err e = session_evidence(c, f, &in->filter, &out->candidates);

	if (e)
		return e;
	for (gone = out->candidates; gone && gone->liveness == LIVENESS_ACTIVE;)
		gone = gone->next;
	out->adopt = gone;
	if (gone) {
		out->agent = gone->agent->id;
		out->reason = arena_fmt(&c->mem, "'" STR_FMT "' is %s and has left work: " STR_FMT,
					STR_ARG(gone->agent->id),
					names_word(&liveness_words, (int)gone->liveness),
					STR_ARG(gone->text));
		return ERR_OK;
	}
	out->reason = out->candidates ? STR("every agent with work here is active") :
					STR("no unfinished work here");
	return session_name(c, f, &out->agent);
}

static void put_evidence(struct json *j, const struct evidence *e)
{
	json_object(j);
	json_put_str(j, "agent_id", e->agent->id);
	json_put_word(j, "liveness", &liveness_words, e->liveness);
	json_put_word(j, "reason", &resume_reasons, e->reason);
	json_put_str(j, "evidence", e->text);
	json_put_str(j, "bead_id", e->bead);
	json_put_str(j, "scope", e->scope);
	json_end(j);
}

static void put_advice(struct json *j, const struct advice *a)
{
	json_put_object(j, "recommendation");
	json_put_str(j, "action", a->adopt ? STR("adopt") : STR("register"));
	json_put_str(j, "agent_id", a->agent);
	json_put_str(j, "reason", a->reason);
	json_end(j);
	json_put_array(j, "candidates");
	for (const struct evidence *e = a->candidates; e; e = e->next)
		put_evidence(j, e);
	json_end(j);
}

static enum err with_advice(struct call *c, const struct advice *a)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	put_advice(&j, a);
	json_end(&j);
	return call_detail(c, json_text(&j));
}

/* --- the decision --- */

static enum err agent_init_ambiguous(struct call *c, const struct advice *a)
{
	call_fail(c, ERR_AMBIGUOUS_SESSION,
		  "this session may continue '" STR_FMT "', or be a new agent", STR_ARG(a->agent));
	call_step(c,
		  "Run 'bb agent init --adopt " STR_FMT
		  "', or 'bb agent init --register NAME' with a new name.",
		  STR_ARG(spawn_word(&c->mem, a->agent)));
	return with_advice(c, a);
}

/* Chooses the name under the lock, so that it is still free when it is registered. */
static enum err agent_init_register(struct call *c, struct agent_files *f, const struct body *in,
				    struct advice *a, struct registered **out)
{
	enum err e;

	if (in->name.p)
		return registry_add(c, f, in->name, in->display, in->role, false, out);
	if ((e = agent_files_begin(c, f)) || (e = registry_find_requested(c, f, out)))
		return e;
	if (*out) {
		a->agent = a->adopt ? a->agent : (*out)->id;
		return registry_acted(c, f, *out);
	}
	if (a->adopt)
		return agent_init_ambiguous(c, a);
	if ((e = session_name(c, f, &a->agent)))
		return e;
	return registry_add(c, f, a->agent, in->display, in->role, false, out);
}

static bool has_left(const struct advice *a, struct str agent)
{
	for (const struct evidence *e = a->candidates; e; e = e->next)
		if (str_eq(e->agent->id, agent))
			return true;
	return false;
}

static enum err ask_for_adoption(struct call *c, struct agent_files *f, const struct body *in,
				 struct advice *a)
{
	struct evidence *confirmed;
	enum err e;

	if (!in->adopt.p || in->quietly || !c->ask || has_left(a, in->adopt))
		return ERR_OK;
	if ((e = session_confirmed(c, f, in->adopt, &in->filter, &confirmed)))
		return e;
	if (!c->ask(c,
		    arena_fmt(&c->mem,
			      "'" STR_FMT "' is %s and has left no unfinished work here. You would "
			      "continue under its name.",
			      STR_ARG(in->adopt),
			      names_word(&liveness_words, (int)confirmed->liveness))))
		return ERR_OK;
	confirmed->next = a->candidates;
	a->candidates = confirmed;
	return ERR_OK;
}

static enum err agent_init_put_reservations(struct call *c, struct agent_files *f, struct str agent,
					    struct json *reply)
{
	struct reservation *r;
	enum err e = reservation_each_held(c, f, agent, STR_NONE, &r);

	json_put_array(reply, "reservations");
	for (; !e && r; r = r->next)
		reservation_encode(reply, c, r);
	json_end(reply);
	return e;
}

/* No lock is held while Git runs or a person is asked: both may take long. */
static enum err agent_init_look(struct call *c, struct stores *s, const void *body)
{
	const struct body *in = body;
	struct advice *advice = arena_new(&c->mem, struct advice);
	enum err e;

	s->seen = advice;
	if (in->name.p && in->adopt.p)
		return call_fail(c, ERR_USAGE, "--register and --adopt can't be combined");
	if ((e = agent_init_advise(c, s->agents, in, advice)))
		return e;
	return ask_for_adoption(c, s->agents, in, advice) ? with_advice(c, advice) : ERR_OK;
}

static enum err agent_init_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	const struct body *in = body;
	struct evidence *resumed = NULL;
	struct registered *agent = NULL;
	struct advice *advice = s->seen;
	enum err e;

	if (in->adopt.p)
		e = session_adopt(c, s->agents, in->adopt, advice->candidates, &resumed);
	else
		e = agent_init_register(c, s->agents, in, advice, &agent);
	if (e)
		return c->details.p ? e : with_advice(c, advice);
	agent = resumed ? resumed->agent : agent;
	c->actor = agent->id;
	c->anonymous = false;
	json_object(reply);
	json_put_str(reply, "decision", resumed ? STR("adopted") : STR("registered"));
	json_key(reply, STR("agent"));
	registered_encode(reply, c, agent, NULL);
	json_key(reply, STR("resumed"));
	if (resumed)
		put_evidence(reply, resumed);
	else
		json_null(reply);
	put_advice(reply, advice);
	e = agent_init_put_reservations(c, s->agents, agent->id, reply);
	json_end(reply);
	return e;
}

const struct op op_agent_init = {
	.name = "agent init",
	.help = "Start a session, or resume a dead agent's work",
	.more = "Without --register and --adopt, a free name is registered. If a stale or "
		"evicted agent left changed files in its reserved scope, or a bead in progress, "
		"the command fails instead and recommends what to do. An agent without "
		"unfinished work is not adopted, unless a person confirms it on a terminal. "
		"'bb-init' is the same command and always answers with JSON.",
	.examples = "bb-init --non-interactive\n"
		    "bb-init --register amber-otter --role ui\n"
		    "bb-init --adopt amber-otter",
	.flags = AGENT_WRITE,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "session", props },
	.run = agent_init_run,
	.look = agent_init_look,
};
