/*
 * Runs one command line: parses it, finds the actor and the project, runs the operation and prints
 * its reply, as JSON or through the command's view. Replies go to standard output; errors for
 * people, warnings, progress and questions go to standard error.
 */
#include "surface/cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/spawn.h"
#include "base/system/spool.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "ops/ops.h"
#include "surface/cli/args.h"
#include "surface/cli/candidates.h"
#include "surface/cli/help.h"
#include "surface/cli/out.h"
#include "surface/cli/screen.h"
#include "surface/cli/settings.h"
#include "surface/cli/vybe.h"
#include "surface/service/handoff.h"
#include "surface/view/long.h"
#include "surface/view/view.h"

static const char *cli_env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* Sets the time and the current directory of the call. */
static enum err cli_locate(struct call *c)
{
	char *cwd = getcwd(NULL, 0);

	if (!cwd && errno != ENOENT)
		return file_fail(c, "find the path of", STR("."));
	if (!cwd) {
		call_fail(c, ERR_INVALID_INPUT, "the current directory no longer exists");
		return call_step(c, "Change to another directory, and run the command again.");
	}
	c->dir = c->real = arena_copy(&c->mem, str_of(cwd));
	free(cwd);
	return settings_now(c);
}

/* On a terminal, prints the current step of a command that has run for more than a second. */
static void show_progress(struct call *c, struct str doing)
{
	static int64_t began;
	static char shown[80];
	int64_t now = moment_now();

	(void)c;
	began = began ? began : now;
	if (now - began < 1000 || str_is(str_head(doing, sizeof shown - 1), shown))
		return;
	snprintf(shown, sizeof shown, "%.*s", (int)doing.n, doing.p);
	out_say("%s …", shown);
}

/* The actor comes from the option, else from the environment, else from the face's default. */
static void cli_name_actor(struct call *c, const struct args *a)
{
	const struct face *face = a->face;
	const char *variables[ACTOR_VARIABLES];
	size_t count = face_actor_variables(face, variables);

	c->actor = a->globals.actor;
	c->actor_source = ACTOR_OPTION;
	for (size_t i = 0; i < count && !c->actor.p; i++) {
		c->actor = str_of(cli_env(variables[i]));
		c->actor_source = ACTOR_VARIABLE;
		c->actor_variable = variables[i];
	}
	if (!c->actor.p && face->actor && a->command &&
	    (a->command->op->flags & (OP_ACTOR | OP_READER)))
		c->actor = face->actor(c);
	c->anonymous = !c->actor.p;
	if (!c->actor.p) {
		c->actor = str_of(face->default_actor);
		c->actor_source = ACTOR_DEFAULT;
	}
}

static enum err cli_identify(struct call *c, const struct args *a)
{
	const struct face *face = a->face;
	const struct globals *g = &a->globals;
	const char *dir = face->dir_variable ? cli_env(face->dir_variable) : NULL;

	c->request_id = g->request_id;
	if (!c->request_id.p && face->request_variable)
		c->request_id = str_of(cli_env(face->request_variable));
	c->store = g->store;
	if (!c->store.p && face->store_variable)
		c->store = str_of(cli_env(face->store_variable));
	c->project = g->dir.p ? g->dir : str_of(dir);
	if (!utf8_valid(c->project))
		return call_fail(c, ERR_INVALID_INPUT, "%s is not valid UTF-8", face->dir_variable);
	cli_name_actor(c, a);
	return ERR_OK;
}

/* Whether the command wraps its JSON in an envelope, for errors too. All `bb agent` commands do. */
static bool cli_enveloped(const struct args *a)
{
	if (a->command)
		return a->command->flags & COMMAND_ENVELOPE;
	return a->face == &face_bb &&
	       (str_is(a->words, "agent") || str_starts(a->words, STR("agent ")));
}

static void put_envelope(struct json *j, const struct args *a, struct str data, struct call *failed)
{
	json_object(j);
	json_put_bool(j, "ok", !failed);
	json_put_str(j, "command", a->command ? str_of(a->command->words) : a->words);
	json_put_raw(j, "data", data);
	json_key(j, STR("error"));
	if (failed) {
		json_object(j);
		json_put_str(j, "code", str_of(err_code(failed->code, DIALECT_AGENTS)));
		json_put_str(j, "reason", str_of(err_name(failed->code)));
		json_put_str(j, "message", failed->message);
		json_put_str(j, "hint", call_next_step(failed));
		json_put_raw(j, "details", failed->details.p ? failed->details : STR("{}"));
		json_end(j);
	} else {
		json_null(j);
	}
	json_end(j);
}

static void cli_put_error(struct json *j, struct call *c, enum dialect dialect, struct str preview)
{
	json_object(j);
	json_put_object(j, "error");
	json_put_str(j, "code", str_of(err_code(c->code, dialect)));
	json_put_str(j, "message", c->message);
	if (dialect == DIALECT_BEADS) {
		json_put_str(j, "hint", call_next_step(c));
		json_put_bool(j, "retryable", err_retryable(c->code));
		json_put_raw(j, "details", c->details.p ? c->details : STR("{}"));
	} else {
		json_put_object(j, "details");
		json_put_str(j, "next_step", call_next_step(c));
		if (preview.p)
			json_put_raw(j, "preview", preview);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

/* Prints warnings and metadata as lines of JSON, for programs that read logs. */
static void print_log(struct call *c)
{
	struct json j = json_new(&c->mem);

	if (c->warning.p) {
		json_object(&j);
		json_put_str(&j, "level", STR("warn"));
		json_put_str(&j, "msg", c->warning);
		json_end(&j);
		out_say_json(&c->mem, json_text(&j));
	}
	if (c->meta.p)
		out_say_json(&c->mem, c->meta);
}

/*
 * Whether metadata goes to standard error as lines of a log: vybe's programs expect JSON there too.
 */
static bool cli_logs(const struct args *a)
{
	return a->face->dialect == DIALECT_VYBE && a->globals.json;
}

/*
 * Prints unread counts and other metadata to standard error, so that parsers of the reply never see
 * them.
 */
static void print_beside(struct call *c, const struct args *a)
{
	const struct globals *g = &a->globals;
	const struct value *meta = c->meta.p ? value_read(&c->mem, c->meta) : NULL;
	const struct value *unread = value_find(meta, "unread"), *mail = value_find(meta, "mail");
	int64_t count = value_count(unread, "count"), unread_mail = value_count(mail, "unread"),
		unacked = value_count(mail, "to_accept");

	if (cli_logs(a)) {
		print_log(c);
		return;
	}
	if (g->quiet || (!count && !mail && !(g->json && value_find(meta, "lost_claims"))))
		return;
	if (g->json) {
		out_say_json(&c->mem, c->meta);
		return;
	}
	if (count)
		out_say("%lld unread post%s, highest priority " STR_FMT ": bb%s" STR_FMT
			" log --unread",
			(long long)count, count == 1 ? "" : "s",
			STR_ARG(value_str(unread, "highest_priority")), g->actor.p ? " --as " : "",
			STR_ARG(g->actor.p ? spawn_word(&c->mem, g->actor) : g->actor));
	if (mail &&
	    a->command->op != &op_agent_inbox) /* the inbox itself has just shown the mail */
		out_say("%lld unread message%s in your mail, %lld to acknowledge: bb agent inbox "
			"--agent " STR_FMT,
			(long long)unread_mail, unread_mail == 1 ? "" : "s", (long long)unacked,
			STR_ARG(spawn_word(&c->mem, c->actor)));
}

static void print_warnings(struct call *c, const struct args *a)
{
	if (c->warning.p && !cli_logs(a))
		out_say("warning: %s", c->warning.p);
	print_beside(c, a);
}

/* An error about an argument that has no better next step names the command's help. */
static void cli_name_help(struct call *c, const struct args *a)
{
	if (c->step.p || c->remedy.p || !a->command)
		return;
	if (c->code == ERR_USAGE || c->code == ERR_INVALID_INPUT)
		call_step(c, "Run '%s %s --help' to see its arguments.", a->face->name,
			  a->command->words);
}

static bool cli_translates(struct call *c, const struct args *a)
{
	return a->face->translates && a->face->translates(c);
}

static int print_error(struct call *c, const struct args *a, struct str preview)
{
	enum dialect dialect = cli_enveloped(a) ? DIALECT_AGENTS : a->face->dialect;
	int status = err_exit(c->code, dialect);
	struct json j = json_new(&c->mem);

	cli_name_help(c, a);
	if (a->command && (a->command->flags & COMMAND_SILENT))
		return 0;
	if (a->command && (a->command->flags & COMMAND_VERDICT) && status == 1 &&
	    c->code != ERR_RESERVATION_CONFLICT && c->code != ERR_STALE_EPOCH)
		status = 3;

	if (cli_logs(a))
		return out_json(&c->mem, vybe_envelope(c, STR_NONE), status);
	if (a->globals.json) {
		if (cli_enveloped(a))
			put_envelope(&j, a, STR_NONE, c);
		else
			cli_put_error(&j, c, dialect, preview);
		buf_char(&j.out, '\n');
		status = out_json(&c->mem, buf_str(&j.out), status);
		if (cli_translates(c, a)) /* upstream's clients read errors there */
			out_say("Error: %s. %s", c->message.p, call_next_step(c).p);
		print_beside(c, a);
		return status;
	}
	if (c->code == ERR_NOT_INITIALIZED && a->face == &face_bb && dialect == DIALECT_BOARD) {
		out_say("%s %s", c->message.p, call_next_step(c).p);
	} else {
		out_say("error: %s", c->message.p);
		out_say("%s", call_next_step(c).p);
	}
	if (c->minted && c->stored)
		out_say("A part of it may be stored. To repeat it safely, run it again with "
			"--request-id " STR_FMT,
			STR_ARG(spawn_word(&c->mem, c->request_id)));
	print_beside(c, a);
	return status;
}

/* Fails because the reply is not JSON: it quotes stored data, which may be damaged. */
static enum err cli_unreadable(struct call *c)
{
	call_fail(c, ERR_DAMAGED, "the stored data is damaged: the reply is not JSON");
	return call_step(
		c, "Run 'abacus doctor' to find the damaged file, or add --json to see the raw "
		   "reply.");
}

static enum err cli_render(struct call *c, struct view *v, const struct command *cmd,
			   struct str reply)
{
	const struct value *data = view_parse(v, reply);

	if (!data)
		return cli_unreadable(c);
	cmd->view(v, data);
	return ERR_OK;
}

/* Prints only the ids of the beads in the reply. */
static void cli_put_id(struct view *v, const struct value *one)
{
	struct str id = value_str(one, "id");

	if (id.p)
		view_line(v, STR_FMT, STR_ARG(id));
}

static enum err render_ids(struct call *c, struct view *v, struct str reply)
{
	const struct value *data = view_parse(v, reply);

	if (!data)
		return cli_unreadable(c);
	view_each(v, data, cli_put_id);
	return ERR_OK;
}

/*
 * The exit status of commands that check something: 1 if the reply has "ok" false or "timed_out"
 * true.
 */
static int cli_verdict(struct call *c, const struct command *cmd, struct str reply)
{
	const struct value *data, *ok, *late;

	if (!(cmd->flags & COMMAND_CHECKS))
		return 0;
	data = value_read(&c->mem, reply);
	ok = value_find(data, "ok");
	late = value_find(data, "timed_out");
	return (ok && ok->type == VALUE_BOOL && !ok->yes) || (late && late->yes);
}

/* Whether to print JSON. A command without a view has no other output. */
static bool wants_json(const struct args *a)
{
	return a->globals.json ||
	       (!a->command->view && !(a->command->flags & COMMAND_IDS) && !a->globals.silent);
}

/* The line of JSON that is printed for a reply: in an envelope, if the command has one. */
static struct str cli_reply_line(struct call *c, const struct args *a, struct str reply)
{
	struct json j = json_new(&c->mem);

	if (a->face->dialect == DIALECT_VYBE)
		return vybe_envelope(c, reply);
	if (a->globals.json && cli_enveloped(a))
		put_envelope(&j, a, reply, NULL);
	else
		buf_put(&j.out, reply);
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}

/*
 * Whether a large reply may be kept in a file while it is made, because nothing here reads it as a
 * whole: it is JSON for a program, and printed as it is, or a view reads its items one by one.
 */
static bool cli_spools(const struct call *c, const struct args *a)
{
	bool apt = wants_json(a) ? !isatty(STDOUT_FILENO) && !vybe_indents() :
				   a->command->flags & COMMAND_LONG;

	return apt && !c->request_id.p &&
	       !(a->command->flags & (COMMAND_CHECKS | COMMAND_CONFIRM)) &&
	       !(a->command->op->flags & OP_WRITE);
}

/* Prints a reply whose beginning is in a file, with its envelope around it. */
static int print_spooled(struct call *c, const struct args *a, struct json *reply)
{
	struct str place =
		STR("\x01"); /* where the reply belongs; JSON has no control characters */
	struct str around = cli_reply_line(c, a, place), head;
	int status;

	str_next(&around, *place.p, &head);
	if ((status = out_json(&c->mem, head, 0)) || (status = out_large(&reply->out, 0)))
		return status;
	status = out_json(&c->mem, around, 0);
	print_warnings(c, a);
	return status;
}

static bool cli_prints_ids(const struct args *a)
{
	return a->globals.silent || (a->command->flags & COMMAND_IDS);
}

/* Is it a list, and its beginning in a file? */
static bool cli_is_long_list(const struct json *reply)
{
	const struct spool *file = reply->out.spool;
	char first = '\0';

	return file && file->size && spool_read_some(file, 0, &first, 1) && first == '[';
}

/* Prints such a list for people. */
static int print_long(struct call *c, const struct args *a, struct json *reply)
{
	struct view v = screen_view(c);
	struct view_long l;
	const struct value *data = view_begin_long(&v, &l, &reply->out);
	int status;

	v.asked = &a->request;
	if (cli_prints_ids(a))
		view_each(&v, data, cli_put_id);
	else
		a->command->view(&v, data);
	if (l.items.damaged) {
		cli_unreadable(c);
		status = print_error(c, a, STR_NONE);
	} else {
		status = out_view(&v, 0);
		print_warnings(c, a);
	}
	view_end_long(&v);
	return status;
}

static int print_reply(struct call *c, const struct args *a, struct str reply)
{
	struct view v = screen_view(c);
	int status = cli_verdict(c, a->command, reply);
	bool ids = cli_prints_ids(a);

	if ((a->globals.json || a->command->op == &op_bead_version) && cli_translates(c, a))
		reply = a->face->render(c, &a->request, reply);
	if (c->text && buf_filled(c->text)) {
		status = out_large(c->text, status);
	} else if (wants_json(a)) {
		status = out_json(&c->mem, cli_reply_line(c, a, reply), status);
	} else if (ids || !a->globals.quiet || !(a->command->op->flags & OP_WRITE)) {
		v.asked = &a->request;
		if (ids ? render_ids(c, &v, reply) : cli_render(c, &v, a->command, reply))
			return print_error(c, a, STR_NONE);
		if (c->minted)
			view_line(&v, "Request id: " STR_FMT, STR_ARG(c->request_id));
		status = out_view(&v, status);
	}
	print_warnings(c, a);
	return status;
}

static const struct names yes_words = NAMES_OF("y", "Y", "yes", "Yes", "YES");

static bool answers_yes(void)
{
	char line[16];

	out_ask("Go on? [y/N] ");
	return fgets(line, sizeof line, stdin) && names_has(&yes_words, str_trim(str_of(line)));
}

/* Asks for confirmation on behalf of an operation. */
static bool ask_person(struct call *c, struct str question)
{
	(void)c;
	out_say(STR_FMT, STR_ARG(question));
	return answers_yes();
}

static bool only_looked(struct call *c, const struct command *cmd, struct str reply)
{
	const struct value *data, *confirmed;

	if (!(cmd->flags & COMMAND_CONFIRM))
		return false;
	data = value_read(&c->mem, reply);
	confirmed = value_find(data, "confirmed");
	VALUE_EACH(one, data)
		if (one->type == VALUE_NUMBER && !str_is(one->text, "0"))
			return confirmed && !confirmed->yes;
	return confirmed && !confirmed->yes && !(cmd->flags & COMMAND_ASKS);
}

/* Shows what would be done, and does it after confirmation on a terminal. */
static int cli_confirm(struct call *c, struct args *a, struct str reply)
{
	struct view v = screen_view(c);
	bool ask = (a->command->flags & COMMAND_ASKS) && isatty(STDIN_FILENO) &&
		   isatty(STDERR_FILENO) && !a->globals.json;
	struct json done = json_new(&c->mem);

	if (!a->globals.json) {
		if (cli_render(c, &v, a->command, reply))
			return print_error(c, a, STR_NONE);
		out_view(&v, 0);
	}
	if (ask && answers_yes()) {
		request_set_role(c, &a->request, ROLE_CONFIRM, STR("true"));
		if (request_run(c, &a->request, &done))
			return print_error(c, a, STR_NONE);
		return print_reply(c, a, json_text(&done));
	}
	c->stored = STORED_NOTHING; /* the preview is a transaction too, but changed nothing */
	call_fail(c, ERR_INVALID_INPUT,
		  ask ? "nothing was deleted" : "nothing was deleted: --confirm is required");
	call_step(c, "Run the command again with --confirm to delete. 'bb export' prints a copy "
		     "of everything first.");
	return print_error(c, a, reply);
}

/* Another command may run while the person reads the preview: only what it showed may be done. */
static void cli_expect(struct call *c, const struct args *a, struct str preview)
{
	struct request run = a->request;
	struct json j = json_new(&c->mem);
	const struct value *write = value_find(value_read(&c->mem, preview), "write");

	if (!write || !request_value(&run, ROLE_EXPECTED))
		return;
	json_value(&j, write);
	request_set_role(c, &run, ROLE_EXPECTED, json_text(&j));
}

/* Runs the request as a dry run. False: it failed; the real run reports the error. */
static bool cli_preview(struct call *c, const struct args *a, struct request *look,
			struct json *reply)
{
	struct str id = c->request_id;
	bool failed;

	*look = a->request;
	look->body = arena_grow(&c->mem, NULL, 0, look->op->body_size);
	memcpy(look->body, a->request.body, look->op->body_size);
	request_set_role(c, look, ROLE_DRY_RUN, STR("true"));
	c->request_id = STR_NONE;
	failed = request_run(c, look, reply);
	c->request_id = id;
	if (failed)
		call_forgive(c);
	return !failed;
}

/* The command line as typed, with the program's name. */
static struct str cli_line(struct call *c, const struct args *a)
{
	struct buf b = { .mem = &c->mem };

	buf_put(&b, str_of(a->face->name));
	for (char **arg = a->argv; *arg; arg++)
		buf_fmt(&b, " " STR_FMT, STR_ARG(spawn_word(b.mem, str_of(*arg))));
	return buf_str(&b);
}

/* Fails after a preview that nobody could confirm, because there is no terminal. */
static int cli_unconfirmed(struct call *c, const struct args *a, struct str preview)
{
	struct json details = json_new(&c->mem);

	json_object(&details);
	json_put_raw(&details, "preview", preview);
	json_end(&details);
	call_fail(c, ERR_INVALID_INPUT, "nothing was deleted: --yes is required");
	call_step(c, "If these are the right beads: " STR_FMT " --yes", STR_ARG(cli_line(c, a)));
	call_detail(c, json_text(&details));
	return print_error(c, a, STR_NONE);
}

/*
 * Shows a preview of the command, and asks for confirmation on a terminal. Elsewhere nobody can be
 * asked: a command that has an option for the confirmation fails, any other just runs. Returns -1
 * to go on, or the exit status.
 */
static int cli_agrees(struct call *c, const struct args *a)
{
	bool terminal = !a->globals.json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	struct view v = screen_view(c);
	struct json reply = json_new(&c->mem);
	struct request look;

	if (request_bool(&a->request, ROLE_FORCE) || request_bool(&a->request, ROLE_CONFIRM) ||
	    request_bool(&a->request, ROLE_DRY_RUN) ||
	    (!terminal && !request_value(&a->request, ROLE_CONFIRM)) ||
	    !cli_preview(c, a, &look, &reply))
		return -1;
	if (a->globals.json)
		return cli_unconfirmed(c, a, json_text(&reply));
	v.asked = &look;
	if (cli_render(c, &v, a->command, json_text(&reply))) {
		call_forgive(c);
		return -1;
	}
	out_view(&v, 0);
	if (!terminal)
		return cli_unconfirmed(c, a, json_text(&reply));
	cli_expect(c, a, json_text(&reply));
	return answers_yes() ? -1 : 1;
}

/* Requests only the fields that the view shows, because reading fewer is faster. */
static void ask_less(struct call *c, struct args *a)
{
	const struct list *given = request_value(&a->request, ROLE_FIELDS);

	if (given && !given->item && !request_bool(&a->request, ROLE_LONG) &&
	    !request_bool(&a->request, ROLE_CLAIM))
		request_set_role(c, &a->request, ROLE_FIELDS, str_of(a->command->fields));
}

static int print_help(struct call *c, const struct args *a)
{
	struct view v = screen_view(c);

	if (a->command)
		help_command(&v, a->face, a->command);
	else
		help_face(&v, a->face, a->words, a->globals.all);
	return out_view(&v, 0);
}

static int cli_print_version(struct call *c, const struct args *a)
{
	if (a->face->version && !isatty(STDOUT_FILENO))
		return a->face->version(c);
	return out_text(&c->mem,
			arena_fmt(&c->mem, "%s version %s\n", a->face->name, ABACUS_VERSION), 0);
}

/* Where a sandbox forbids this process to write, a service of the user may. */
static enum err cli_request(struct call *c, const struct args *a, struct json *reply)
{
	struct handoff_actor actor = { c->actor, c->anonymous };
	enum err e = request_run(c, &a->request, reply);

	return e == ERR_READ_ONLY ? handoff_run(c, &actor, &a->request, reply) : e;
}

static int cli_run(struct call *c, struct args *a)
{
	struct json reply = json_new(&c->mem);
	struct spool spool = { 0 };
	struct buf text = { .mem = &c->mem, .spool = &spool };
	int agreed;

	if (!a->command && a->face->index && a->globals.json && !a->globals.help &&
	    !a->globals.version)
		return a->face->index(c, a->words);
	if (a->globals.help || (!a->command && !a->globals.version && !a->globals.mcp))
		return print_help(c, a);
	if (a->globals.mcp)
		a->command = face_command(a->face, STR("mcp"));
	else if (a->globals.version && !cli_translates(c, a))
		return cli_print_version(c, a);
	else if (a->globals.version)
		a->command = face_command(a->face, STR("version"));
	if (a->request.op != a->command->op)
		a->request = request_new(c, a->command->op);
	if (cli_identify(c, a))
		return print_error(c, a, STR_NONE);
	if (a->command->start) {
		int status = a->command->start(c, &a->request);

		return status < 0 ? print_error(c, a, STR_NONE) : status;
	}
	if (a->command->follow && request_bool(&a->request, ROLE_FOLLOW)) {
		int status = a->command->follow(c, &a->request, a->globals.json);

		return status < 0 ? print_error(c, a, STR_NONE) : status;
	}
	if (a->command->fields && !a->globals.json)
		ask_less(c, a);
	if ((a->command->flags & COMMAND_PREVIEWS) && (agreed = cli_agrees(c, a)) >= 0)
		return agreed;
	if (cli_spools(c, a))
		reply.out.spool = &spool;
	else if (a->command->flags & COMMAND_TEXT)
		c->text = &text;
	if (cli_request(c, a, &reply))
		return print_error(c, a, STR_NONE);
	if (cli_is_long_list(&reply) && !wants_json(a))
		return print_long(c, a, &reply);
	if (reply.out.spool && spool.size && !(a->globals.json && cli_translates(c, a)))
		return print_spooled(c, a, &reply);
	if (only_looked(c, a->command, json_text(&reply)))
		return cli_confirm(c, a, json_text(&reply));
	return print_reply(c, a, json_text(&reply));
}

/* For the scripts of 'abacus completion': prints the candidates for the last word. */
static int cli_complete(struct call *c, const struct face *face, char **argv)
{
	const struct face *other = argv[0] && argv[1] ? face_find(str_of(argv[0])) : NULL;
	struct args_end end;

	if (face == &face_abacus && other) { /* 'abacus bd …' equals 'bd …' */
		face = other;
		argv++;
	}
	candidates_read(c, face, argv, &end);
	return cli_identify(c, &end.args) ? 0 : candidates_print(c, &end);
}

static int cli_parse_and_run(struct call *c, struct args *a, char **argv, enum err lost)
{
	enum err e = args_parse(c, a->face, argv, a);

	/* vybe prints JSON, unless a person reads it */
	if (a->face->dialect == DIALECT_VYBE && (!isatty(STDOUT_FILENO) || vybe_indents()))
		a->globals.json = true;
	return e || lost ? print_error(c, a, STR_NONE) : cli_run(c, a);
}

int cli_main(const struct face *face, char **argv)
{
	struct call c = { 0 };
	struct args args = { .face = face };
	enum err lost;
	int status;

	if (isatty(STDERR_FILENO))
		c.progress = show_progress;
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO))
		c.ask = ask_person;
	/* before parsing, because arguments such as "2h" are relative to the time of the call */
	lost = cli_locate(&c);
	settings_read(&c);
	if (argv[0] && !strcmp(argv[0], "__complete"))
		status = lost ? 0 : cli_complete(&c, face, argv + 1);
	else
		status = cli_parse_and_run(&c, &args, argv, lost);
	call_release(&c);
	return status;
}
