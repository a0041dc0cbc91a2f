#include "surface/cli/run.h"

#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/number.h"
#include "base/system/signals.h"
#include "base/system/spawn.h"
#include "store/slots.h"
#include "surface/cli/out.h"

extern char **environ;

struct body {
	struct list needs, command;
	int64_t timeout;
};

static const struct field fields[] = {
	{ "need", &kind_str, offsetof(struct body, needs), FIELD_LIST | FIELD_COMMAS | FIELD_CLI,
	  .arg = "NAME:N", .most = 20, .min = 1, .max = 200,
	  .help = "resource to wait for, and how many of its slots (default 1)" },
	{ "timeout", &kind_duration, offsetof(struct body, timeout), FIELD_CLI,
	  .help = "how long to wait (default: until they are free)" },
	{ "command", &kind_str, offsetof(struct body, command),
	  FIELD_LIST | FIELD_PLACE | FIELD_REST | FIELD_REQUIRED | FIELD_CLI, .arg = "COMMAND",
	  .help = "command to run, after --" },
	{ 0 },
};

/* "build:2" */
static enum err run_parse_need(struct call *c, struct str text, struct slot_need *out)
{
	struct str rest = text;

	*out = (struct slot_need){ .count = 1 };
	str_next(&rest, ':', &out->name);
	if (slots_name_valid(out->name) &&
	    (!memchr(text.p, ':', text.n) ||
	     (number_int(rest, &out->count) && out->count > 0 && out->count <= SLOTS_MOST)))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "--need is NAME or NAME:N, not '" STR_FMT "'",
		  STR_ARG(text));
	return call_step(c, "Write it like this: --need build:2");
}

static struct str run_text(struct call *c, const struct list *command)
{
	const struct str *word = command->item;
	struct buf out = { .mem = &c->mem };

	for (size_t i = 0; i < command->n; i++)
		buf_fmt(&out, "%s" STR_FMT, i ? " " : "", STR_ARG(word[i]));
	return buf_str(&out);
}

/* The exit statuses of a shell for a command that is not there, or is not a program. */
enum { RUN_ABSENT = 127, RUN_DENIED = 126 };

int run_start(struct call *c, const struct request *r)
{
	const struct body *in = r->body;
	const struct str *text = in->needs.item, *word = in->command.item;
	struct slot_need *needs = arena_array(&c->mem, in->needs.n + 1, sizeof *needs);
	char **argv = arena_array(&c->mem, in->command.n + 1, sizeof *argv);
	int status;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < in->needs.n; i++)
		e = run_parse_need(c, text[i], &needs[i]);
	if (e || (e = slots_take(c, needs, in->needs.n, in->timeout == ABSENT ? 0 : in->timeout,
				 run_text(c, &in->command))))
		return -1;
	for (size_t i = 0; i < in->command.n; i++)
		argv[i] = (char *)arena_cstr(&c->mem, word[i]);
	signals_restore();
	environ = spawn_environment(&c->mem); /* execvp() searches in its PATH */
	execvp(argv[0], argv);
	status = errno == ENOENT ? RUN_ABSENT : RUN_DENIED;
	out_say("cannot run '%s': %s", argv[0], strerror(errno));
	return status;
}

const struct op op_run = {
	.name = "run",
	.help = "Run a command when slots of a resource are free",
	.more = "Waits, first come, first served, until all needed slots are free, then becomes "
		"the command: exit status, signals and terminal are those of the command. The "
		"slots are free again when the command ends, however it ends. 'abacus slots set "
		"NAME N' sets how many slots a resource of this machine has.",
	.examples = "abacus run --need build:2 -- make -j8\n"
		    "abacus run --need gpu --timeout 10m -- ./train",
	.flags = OP_HOST,
	OP_BODY(struct body, fields),
};
