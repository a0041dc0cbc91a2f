#include "base/system/lock.h"
#include "base/text/json.h"
#include "live/rule.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

/* abacus on: rules that run a command when something changes. */

struct body {
	int event; /* of rule_events; -1: none */
	struct list labels, command;
	int64_t remove, jobs;
	bool run, tied;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "event", &kind_word, AT(event), FIELD_PLACE | FIELD_CLI, .arg = "EVENT",
	  .words = &rule_events, .help = "event to wait for",
	  .hint = "Write it like this: abacus on bead.closed -- ./announce.sh" },
	{ "label", &kind_str, AT(labels), FIELD_LIST | FIELD_COMMAS | FIELD_CLI, .letter = 'l',
	  .arg = "LABEL", .most = 20, .min = 1, .max = MAX_WORD,
	  .help = "labels that the bead must have, all of them" },
	{ "remove", &kind_int, AT(remove), FIELD_CLI, .min = 1, .arg = "N",
	  .help = "remove a rule" },
	{ "run", &kind_bool, AT(run), FIELD_CLI, .role = ROLE_FOLLOW,
	  .help = "run the commands of all rules, until interrupted" },
	{ "tied", &kind_bool, AT(tied), FIELD_CLI | FIELD_HIDDEN, .role = ROLE_TIED,
	  .help = "end at the end of standard input" },
	{ "jobs", &kind_int, AT(jobs), FIELD_CLI, .role = ROLE_LIMIT, .letter = 'j', .min = 1,
	  .max = 100, .preset = "4", .help = "maximum number of commands at a time, with --run" },
	{ "command", &kind_str, AT(command), FIELD_LIST | FIELD_PLACE | FIELD_REST | FIELD_CLI,
	  .arg = "COMMAND", .most = 100, .max = 65536, .help = "command to run, after --" },
	{ 0 },
};

static const struct prop props[] = {
	{ "rule:int event labels[] command[] by|null added_at|null running:bool", NULL },
	{ 0 },
};

static enum err project_on_list(struct call *c, struct json *reply)
{
	struct str folder;
	struct rule *r;
	enum err e = rule_each(c, &r);

	if (!e)
		e = rule_folder(c, &folder);
	json_array(reply);
	for (; !e && r; r = r->next) {
		struct json one = json_new(&c->mem);

		rule_encode(&one, r);
		json_object(reply);
		json_put_members(reply, json_text(&one));
		json_put_bool(reply, "running", lock_held(c, rule_lock(c, folder, r->n)));
		json_end(reply);
	}
	json_end(reply);
	return e;
}

static enum err project_on_add(struct call *c, const struct body *in)
{
	struct rule r = { .labels = in->labels.item,
			  .label_count = in->labels.n,
			  .command = in->command.item,
			  .words = in->command.n,
			  .by = c->actor };

	if (in->event < 0 || !in->command.n) {
		call_fail(c, ERR_USAGE, "a rule has an event and a command");
		return call_step(c, "Write it like this: abacus on bead.closed -- ./announce.sh");
	}
	r.event = str_of(names_word(&rule_events, in->event));
	return rule_add(c, &r);
}

static enum err project_on_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	const struct body *in = body;
	bool adds = in->event >= 0 || in->command.n || in->labels.n, removes = in->remove != ABSENT;
	enum err e = ERR_OK;

	(void)s;
	if (adds && removes)
		return call_fail(c, ERR_INVALID_INPUT,
				 "--remove can't be combined with a new rule");
	if (adds)
		e = project_on_add(c, in);
	else if (removes)
		e = rule_remove(c, in->remove);
	return e ? e : project_on_list(c, reply);
}

const struct op op_project_on = {
	.name = "project on",
	.help = "Run a command when something changes",
	.more = "With an event and a command, adds a rule; without, lists the rules. 'abacus on "
		"--run' runs them in the foreground; the service of 'abacus open' runs them, "
		"too. The command gets ABACUS_EVENT, ABACUS_BEAD and ABACUS_BY in its "
		"environment, and the event as JSON on its standard input; it runs in the "
		"project's folder, without a shell. The event bead.* stands for every event "
		"that begins with bead. Changes from other machines count, too. The command "
		"runs at least once for each change since the rule was added, including changes "
		"made while no runner was running; a runner that was killed repeats the "
		"commands that had not ended. A command that fails is not repeated. A rule is "
		"run by one process at a time; a second 'abacus on --run' waits, and takes over "
		"when the first one ends. Rules belong to this clone at its present path, "
		"and are kept in ~/.local/state/abacus/on: no pull can add one, and neither can "
		"HTTP, MCP or a process in a sandbox.",
	.examples = "abacus on bead.closed --label release -- ./announce.sh\n"
		    "abacus on --run\n"
		    "abacus on --remove 1",
	.flags = OP_WRITE | OP_HOST | OP_PERSON,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "rules[]", props },
	.run = project_on_run,
};
