#include "base/buf.h"
#include "base/text/json.h"
#include "base/text/quote.h"
#include "continuity/brief.h"
#include "continuity/resume.h"
#include "hosts/hooks.h"
#include "op/op.h"
#include "ops/ops.h"

/* bd prime: upstream's entries in hosts' settings run it when a session starts or compacts. */

struct body {
	bool full, mcp, stealth, standard, only_memories, no_memories, hook_json;
	int64_t most_memories, most_bytes;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "hook_json", &kind_bool, AT(hook_json), .help = "print the JSON of a SessionStart hook" },
	{ "mcp", &kind_bool, AT(mcp), .help = "print less: the host has the tools" },
	{ "full", &kind_bool, AT(full), .help = "print everything" },
	{ "memories_only", &kind_bool, AT(only_memories),
	  .help = "print only the remembered facts" },
	{ "no_memories", &kind_bool, AT(no_memories), .help = "leave out the remembered facts" },
	{ "max_memories", &kind_int, AT(most_memories), .min = 0,
	  .help = "maximum number of memories" },
	{ "max_memory_chars", &kind_int, AT(most_bytes), .min = 0,
	  .help = "maximum size of all memories in bytes" },
	{ "stealth", &kind_bool, AT(stealth), FIELD_HIDDEN, .help = "accepted, without effect" },
	{ "export", &kind_bool, AT(standard), FIELD_HIDDEN, .help = "accepted, without effect" },
	{ 0 },
};

static const struct prop props[] = { { "text|null answer|null", NULL }, { 0 } };

static const char rules[] = "# Work items of this project\n"
			    "Work is tracked as beads, with `bd`. Use it instead of TODO lists.\n";

static const char commands[] =
	"- `bd ready` lists beads to work on; `bd ready --claim --json` claims the next one.\n"
	"- `bd show ID` shows a bead, `bd update ID --claim` claims it.\n"
	"- `bd create \"title\" -p 2 --deps discovered-from:ID` records work that you discover.\n"
	"- `bd comment ID \"text\"` adds a comment, `bd dep add A B` makes A wait for B.\n"
	"- `bd close ID --reason \"what was done\"` closes a finished bead.\n"
	"- `bd remember \"text\"` keeps a fact for later sessions, `bd memories` lists them.\n"
	"- `bd list`, `bd search WORDS`, `bd blocked`, `bd stats` and `bd help` show more.\n"
	"Beads are published in the background; `bd sync` publishes and fetches them at once.\n";

static void prime_put_tasks(struct call *c, struct buf *b, const char *title, const struct task *t)
{
	if (t)
		buf_fmt(b, "%s\n", title);
	for (; t; t = t->next)
		buf_put(b, quote_line(&c->mem,
				      arena_fmt(&c->mem, STR_FMT " " STR_FMT, STR_ARG(t->id),
						STR_ARG(t->title)),
				      140));
}

static void prime_put_state(struct call *c, struct buf *b, const struct brief *of)
{
	struct task one;

	buf_fmt(b, "Now: %lld open, %lld in progress, %lld blocked.\n",
		(long long)of->counts[TASK_PENDING], (long long)of->counts[TASK_IN_PROGRESS],
		(long long)of->counts[TASK_BLOCKED]);
	if (of->task) {
		one = *of->task;
		one.next = NULL;
		prime_put_tasks(
			c, b,
			one.status == TASK_IN_PROGRESS ? "You work on:" : "Next for you:", &one);
	}
	prime_put_tasks(c, b, "Then ready:", of->pipeline);
}

static void prime_put_memories(struct call *c, struct buf *b, const struct body *in,
			       const struct memory_row *m)
{
	int64_t count = in->most_memories > 0 ? in->most_memories : INT64_MAX;
	int64_t bytes = in->most_bytes > 0 ? in->most_bytes : INT64_MAX;
	bool first = true;

	if (m)
		buf_put(b, STR("Remembered:\n"));
	for (; m && count--; m = m->next) {
		struct str line = quote_line(&c->mem,
					     arena_fmt(&c->mem, STR_FMT ": " STR_FMT,
						       STR_ARG(m->key), STR_ARG(m->value)),
					     320);

		if (!first && (int64_t)line.n > bytes)
			break;
		buf_put(b, line);
		bytes -= (int64_t)line.n;
		first = false;
	}
	if (m)
		buf_put(b, STR("`bd memories` lists the rest.\n"));
}

static struct str prime_text(struct call *c, const struct body *in, const struct brief *of)
{
	struct buf b = { .mem = &c->mem };

	if (!in->only_memories)
		buf_put(&b, str_of(rules));
	if (!in->only_memories && of->protected.p)
		buf_fmt(&b, STR_FMT "\n", STR_ARG(brief_protected(c, of->protected)));
	else if (!in->only_memories && (!in->mcp || in->full))
		buf_put(&b, str_of(commands));
	if (of->task || of->pipeline || (of->memory && !in->no_memories))
		buf_put(&b, STR(QUOTE_RULE));
	if (!in->only_memories)
		prime_put_state(c, &b, of);
	if (!in->no_memories || in->only_memories)
		prime_put_memories(c, &b, in, of->memory);
	return buf_str(&b);
}

static enum err upstream_prime_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	struct resume_ask ask = { .limit = 1 };
	struct brief of = { 0 };
	struct beads *beads;
	struct resume r;
	struct str text = { 0 };
	enum err e;

	if ((e = continuity_tasks(c, s->vybe, &beads)))
		return e;
	if (beads) {
		if ((e = continuity_project(c, STR_NONE, &ask.project)) ||
		    (e = resume_peek(c, s->vybe, &ask, &r)))
			return e;
		of = (struct brief){ .task = r.focus, .project = r.agent.project };
		if ((e = brief_read(c, s->vybe, &of)))
			return e;
		text = prime_text(c, in, &of);
	}
	json_object(reply);
	json_put_str(reply, "text", text);
	json_put_str(reply, "answer",
		     in->hook_json && text.n ?
			     hooks_answer(c, HOST_CLAUDE, STR("SessionStart"), text) :
			     text);
	json_end(reply);
	return ERR_OK;
}

const struct op op_upstream_prime = {
	.name = "upstream prime",
	.help = "Print how to work with beads here, for a model",
	.more = "Prints nothing outside of a store. Upstream's entries in the settings of hosts "
		"run it at SessionStart and PreCompact, so it never fails.",
	.flags = OP_VYBE | OP_READER | OP_HOST,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "prime", props },
	.run = upstream_prime_run,
};
