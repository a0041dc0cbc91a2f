#include "surface/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/utf8.h"
#include "surface/args.h"
#include "surface/help.h"
#include "surface/out.h"
#include "surface/view.h"

static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* The instant and the place of the call. */
static enum err locate(struct call *c)
{
	const char *now = env("ABACUS_NOW");
	char *cwd = getcwd(NULL, 0);

	if (!cwd) {
		call_fail(c, ERR_INVALID_INPUT,
			  "the current directory is not there any more");
		return call_step(c, "Change to one that is, and run the command again.");
	}
	c->now_ms = moment_now();
	c->dir = arena_copy(&c->mem, str_of(cwd));
	free(cwd);
	if (!now || moment_parse(str_of(now), &c->now_ms))
		return ERR_OK;

	char *end;
	long long ms = strtoll(now, &end, 10);

	if (*end)
		return call_fail(c, ERR_INVALID_INPUT,
				 "ABACUS_NOW is '%s', which is neither RFC 3339 nor "
				 "milliseconds",
				 now);
	c->now_ms = ms;
	return ERR_OK;
}

/* Who acts and where, from the options, else the environment, else the face's default. */
static enum err identify(struct call *c, const struct face *face, const struct globals *g)
{
	const char *actor = env("BB_AGENT_ID"), *dir = env("BB_DIR");

	c->request_id = g->request_id;
	c->project = g->dir.p ? g->dir : str_of(dir);
	c->actor = g->actor.p ? g->actor : str_of(actor);
	c->anonymous = !c->actor.p;
	if (!c->actor.p)
		c->actor = str_of(face->default_actor);
	if (!utf8_valid(c->project))
		return call_fail(c, ERR_INVALID_INPUT, "BB_DIR is not valid UTF-8");
	return ERR_OK;
}

static struct view view_new(struct call *c)
{
	struct winsize size = { 0 };
	bool terminal = isatty(STDOUT_FILENO);

	if (!terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		size.ws_col = 80;
	return (struct view){
		.out.mem = &c->mem,
		.colour = terminal && !getenv("NO_COLOR") &&
			  !str_is(str_of(getenv("TERM")), "dumb"),
		.width = size.ws_col,
		.now_ms = c->now_ms,
	};
}

static void put_error(struct json *j, const struct call *c, struct str preview)
{
	json_object(j);
	json_put_object(j, "error");
	json_put_str(j, "code", str_of(err_code(c->code)));
	json_put_str(j, "message", c->message);
	json_put_object(j, "details");
	json_put_str(j, "next_step", call_next_step(c));
	if (preview.p)
		json_put_raw(j, "preview", preview);
	json_end(j);
	json_end(j);
	json_end(j);
}

static int print_error(struct call *c, const struct globals *g, struct str preview)
{
	int status = err_exit(c->code);
	struct json j = { .out.mem = &c->mem };

	if (g->json) {
		put_error(&j, c, preview);
		buf_char(&j.out, '\n');
		return out_print(buf_str(&j.out), status);
	}
	if (c->code == ERR_NOT_INITIALIZED)
		fprintf(stderr, "%s %s\n", c->message.p, call_next_step(c).p);
	else
		fprintf(stderr, "error: %s\n%s\n", c->message.p, call_next_step(c).p);
	return status;
}

/* What rides beside the reply goes to stderr, where no parser trips over it. */
static void print_beside(struct call *c, const struct globals *g)
{
	struct value_error error;
	const struct value *meta =
		c->meta.p ? value_parse(&c->mem, c->meta, &error) : NULL;
	const struct value *unread = value_find(meta, "unread");
	int64_t count = 0;

	if (c->warning.p)
		fprintf(stderr, "warning: %s\n", c->warning.p);
	if (g->quiet || !value_int(unread, "count", &count) || !count)
		return;
	if (g->json)
		fprintf(stderr, "%s\n", c->meta.p);
	else
		fprintf(stderr,
			"%lld unread message%s, highest priority " STR_FMT
			": bb%s" STR_FMT " log --unread\n",
			(long long)count, count == 1 ? "" : "s",
			STR_ARG(value_str(unread, "highest_priority")),
			g->actor.p ? " --as " : "", STR_ARG(g->actor));
}

/* A pretty text of the reply where a command has no view of its own, or data only. */
static void render(struct view *v, const struct command *cmd, struct str reply)
{
	struct value_error error;

	if (cmd->view) {
		cmd->view(v, value_parse(v->out.mem, reply, &error));
		return;
	}
	buf_put(&v->out, reply);
	buf_char(&v->out, '\n');
}

static int print_reply(struct call *c, const struct args *a, struct str reply)
{
	struct view v = view_new(c);
	int status;

	if (a->globals.json) {
		buf_put(&v.out, reply);
		buf_char(&v.out, '\n');
	} else if (!a->globals.quiet || !(a->command->op->flags & OP_WRITE)) {
		render(&v, a->command, reply);
	}
	status = out_print(buf_str(&v.out), 0);
	print_beside(c, &a->globals);
	return status;
}

static bool answers_yes(void)
{
	static const char *const words[] = { "y", "Y", "yes", "Yes", "YES" };
	static const struct names yes = { words, sizeof words / sizeof *words };
	char line[16];

	fputs("Go on? [y/N] ", stderr);
	fflush(stderr);
	return fgets(line, sizeof line, stdin) &&
	       names_value(&yes, str_trim(str_of(line))) >= 0;
}

static bool only_looked(struct call *c, const struct command *cmd, struct str reply)
{
	struct value_error error;
	const struct value *data, *confirmed;

	if (!(cmd->flags & COMMAND_CONFIRM))
		return false;
	data = value_parse(&c->mem, reply, &error);
	confirmed = value_find(data, "confirmed");
	for (size_t i = 0; i < data->count; i++)
		if (data->item[i].type == VALUE_NUMBER &&
		    !str_is(data->item[i].text, "0"))
			return confirmed && !confirmed->yes;
	return confirmed && !confirmed->yes && !(cmd->flags & COMMAND_ASKS);
}

/* Says what would be done; does it if somebody at a terminal says yes. */
static int confirm(struct call *c, struct args *a, struct str reply)
{
	struct view v = view_new(c);
	bool ask = (a->command->flags & COMMAND_ASKS) && isatty(STDIN_FILENO) &&
		   isatty(STDERR_FILENO) && !a->globals.json;
	struct json done = { .out.mem = &c->mem };

	if (!a->globals.json) {
		render(&v, a->command, reply);
		out_print(buf_str(&v.out), 0);
	}
	if (ask && answers_yes()) {
		for (size_t i = 0; a->command->op->fields[i].name; i++)
			if (!strcmp(a->command->op->fields[i].name, "confirm"))
				request_set(c, &a->request, i, STR("true"));
		if (request_run(c, &a->request, &done))
			return print_error(c, &a->globals, (struct str){ 0 });
		return print_reply(c, a, json_text(&done));
	}
	call_fail(c, ERR_INVALID_INPUT, "nothing was deleted: that needs --confirm");
	call_step(c, "'bb export > board.json' keeps a copy of all that is there.");
	return print_error(c, &a->globals, reply);
}

static int print_help(struct call *c, const struct args *a)
{
	struct view v = view_new(c);

	if (a->command)
		help_command(&v, a->face, a->command);
	else
		help_face(&v, a->face, a->words);
	return out_print(buf_str(&v.out), 0);
}

static int print_version(struct call *c, const struct args *a)
{
	return out_print(
		arena_fmt(&c->mem, "%s version %s\n", a->face->name, ABACUS_VERSION), 0);
}

static int run(struct call *c, struct args *a)
{
	struct json reply = { .out.mem = &c->mem };

	if (a->globals.help || (!a->command && !a->globals.version && !a->globals.mcp))
		return print_help(c, a);
	if (a->globals.mcp)
		a->command = face_command(a->face, STR("mcp"));
	else if (a->globals.version)
		return print_version(c, a);
	if (a->request.op != a->command->op)
		a->request = request_new(c, a->command->op);
	if (identify(c, a->face, &a->globals))
		return print_error(c, &a->globals, (struct str){ 0 });
	if (a->command->start)
		return a->command->start(c, &a->request);
	if (request_run(c, &a->request, &reply))
		return print_error(c, &a->globals, (struct str){ 0 });
	if (only_looked(c, a->command, json_text(&reply)))
		return confirm(c, a, json_text(&reply));
	return print_reply(c, a, json_text(&reply));
}

int cli_main(const struct face *face, char **argv)
{
	struct call c = { 0 };
	struct args args = { 0 };
	int status;

	if (args_parse(&c, face, argv, &args) || locate(&c))
		status = print_error(&c, &args.globals, (struct str){ 0 });
	else
		status = run(&c, &args);
	call_release(&c);
	return status;
}
