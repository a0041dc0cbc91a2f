#include "surface/service/service.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/lock.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "live/open.h"
#include "store/agent_files.h"
#include "store/board/board_db.h"
#include "surface/cli/out.h"
#include "surface/view/view.h"

/* --- abacus serve --- */

struct serve_body {
	int64_t port, idle;
	bool stop;
};

static const struct field serve_fields[] = {
	{ "port", &kind_int, offsetof(struct serve_body, port), .min = 0, .max = 65535,
	  .help = "loopback port to listen on too, with a token; 0 chooses a free one" },
	{ "idle", &kind_duration, offsetof(struct serve_body, idle),
	  .help = "idle time after which the service ends" },
	{ "stop", &kind_bool, offsetof(struct serve_body, stop),
	  .help = "stop the running service" },
	{ 0 },
};

static const char **service_words_of(struct call *c, int64_t port, int64_t idle)
{
	const char **words = arena_array(&c->mem, 6, sizeof *words);

	words[0] = arena_cstr(&c->mem, spawn_beside(&c->mem, STR("libexec/abacus-serve")));
	words[1] = arena_cstr(&c->mem, c->dir);
	words[2] = c->project.p ? arena_cstr(&c->mem, c->project) : "";
	words[3] = arena_fmt(&c->mem, "%lld", (long long)port).p;
	words[4] = arena_fmt(&c->mem, "%lld", (long long)idle).p;
	return words;
}

/*
 * Raises the limit of open files as far as the service can use it: it needs several for each
 * thread, store and worker, and one for each connection.
 */
static enum err service_allow_files(struct call *c)
{
	enum { FILES_LEAST = 64, FILES_WANTED = 4096 };
	struct rlimit most, more;

	if (getrlimit(RLIMIT_NOFILE, &most) || most.rlim_cur >= FILES_WANTED)
		return ERR_OK;
	more = most;
	more.rlim_cur = most.rlim_max < FILES_WANTED ? most.rlim_max : FILES_WANTED;
	if ((!setrlimit(RLIMIT_NOFILE, &more) ? more : most).rlim_cur >= FILES_LEAST)
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT,
		  "the limit of open files is too low: the service needs %d, the limit is %llu",
		  FILES_LEAST, (unsigned long long)most.rlim_max);
	return call_step(c, "Run the command in a new shell that allows more ('ulimit -n' shows "
			    "the limit).");
}

static int no_program(struct call *c, const char *path)
{
	call_fail(c, ERR_INTERNAL_ERROR, "cannot start '%s'", path);
	call_step(c, "The installation may be incomplete. Run './quickstart' to install it again.");
	return -1;
}

static int stop_service(struct call *c, const struct service_place *at)
{
	enum { PATIENCE_MS = 5000, STEP_MS = 20 };
	struct str reply;

	if (service_ask(c, at, "/service/stop", &reply))
		return -1;
	if (!reply.p && !lock_held(c, at->lock))
		return out_text(&c->mem, STR("No service is running for this project.\n"), 0);
	for (int i = 0; i < PATIENCE_MS / STEP_MS && lock_held(c, at->lock); i++)
		moment_sleep(STEP_MS);
	if (!lock_held(c, at->lock))
		return out_text(&c->mem, STR("The service has stopped.\n"), 0);
	call_fail(c, ERR_DATABASE_BUSY, "the service is still running");
	call_step(c, "It stops when its running requests are done. Run the command again.");
	return -1;
}

int serve_start(struct call *c, const struct request *r)
{
	const struct serve_body *in = r->body;
	struct service_place at;
	const char **words;

	if (service_allow_files(c) || service_place(c, &at))
		return -1;
	if (in->stop)
		return stop_service(c, &at);
	if (lock_held(c, at.lock)) {
		call_fail(c, ERR_ALREADY_EXISTS, "a service runs for this project already");
		call_step(c, "'abacus open' opens its page; 'abacus serve --stop' ends it.");
		return -1;
	}
	words = service_words_of(c, in->port == ABSENT ? -1 : in->port,
				 in->idle == ABSENT ? 0 : in->idle);
	execv(words[0], (char *const *)words);
	return no_program(c, words[0]);
}

const struct op op_serve = {
	.name = "serve",
	.help = "Serve the page and an HTTP API to this user",
	.more = "Listens on a socket that only this user can reach, and with --port on the "
		"loopback interface too. No command needs the service. It ends on SIGTERM, or "
		"after --idle without a request.",
	.examples = "abacus serve\n"
		    "abacus serve --port 0\n"
		    "curl --unix-socket .git/abacus/serve/socket http://localhost/api/bead/ready",
	OP_BODY(struct serve_body, serve_fields),
};

/* --- abacus open --- */

struct open_body {
	bool print;
};

static const struct field open_fields[] = {
	{ "print", &kind_bool, offsetof(struct open_body, print),
	  .help = "print the address without opening a browser" },
	{ 0 },
};

/*
 * An address of the page, and a file, readable only by this user, that redirects a browser to it.
 */
struct invited {
	struct str url, file;
};

/* The code works once; the host name is new at each start of the service. */
static bool service_url_valid(struct call *c, struct str url)
{
	char name[17], port[6], code[65];
	int n = 0;

	sscanf(arena_cstr(&c->mem, url),
	       "http://abacus-%16[0-9a-f].localhost:%5[0-9]/enter?code=%64[0-9a-f]%n", name, port,
	       code, &n);
	return n && (size_t)n == url.n;
}

/*
 * Parses the service's reply; the members are absent if it has not replied yet. A program in a
 * sandbox that may write to the store could reply in place of the service, so the address must be
 * one of the page, and the next step is not the one in the reply.
 */
static enum err read_invitation(struct call *c, struct str reply, struct invited *out)
{
	struct value_error error;
	const struct value *v = reply.p ? value_parse(&c->mem, reply, &error) : NULL,
			   *refused = value_find(v, "error");

	out->url = value_str(v, "url");
	out->file = value_str(v, "file");
	if (refused)
		call_fail(c, ERR_INTERNAL_ERROR, "the service replied: " STR_FMT,
			  STR_ARG(value_str(refused, "message")));
	else if (out->url.p && !service_url_valid(c, out->url))
		call_fail(c, ERR_INTERNAL_ERROR,
			  "the service replied with an address that is not of its page");
	else
		return ERR_OK;
	return call_step(c, "Run 'abacus serve --stop', then 'abacus open' again.");
}

/*
 * Asks the service for an address, and starts the service if it is not running. A service that is
 * shutting down still has the lock, so starting is retried. A service started here exits after
 * IDLE_MS without a page.
 */
static enum err service_invitation(struct call *c, const struct service_place *at, const char *path,
				   struct invited *out)
{
	enum { PATIENCE_MS = 10 * 1000, STEP_MS = 20, AGAIN_MS = 1000 };
	enum { IDLE_MS = 15 * 60 * 1000 };
	int64_t end = moment_ticks() + PATIENCE_MS, next = 0;
	struct str reply;
	enum err e;

	for (;;) {
		if ((e = service_ask(c, at, path, &reply)) ||
		    (e = read_invitation(c, reply, out)) || out->url.p)
			return e;
		if (moment_ticks() > end)
			break;
		if (moment_ticks() >= next && !lock_held(c, at->lock)) {
			if (!spawn_away(service_words_of(c, -1, IDLE_MS)))
				return call_fail(c, ERR_INTERNAL_ERROR,
						 "cannot start abacus-serve");
			next = moment_ticks() + AGAIN_MS;
		}
		moment_sleep(STEP_MS);
	}
	call_fail(c, ERR_INTERNAL_ERROR, "the service does not answer");
	return call_step(c, "Run 'abacus serve' to start it in the foreground and see the error.");
}

/* A program in a sandbox that may write to the store could answer in the name of the service, and
 * name a file that the desktop would run. */
static bool service_file_valid(const struct service_place *at, struct str file)
{
	return at->page.p && file.n > at->page.n && str_starts(file, at->page) &&
	       str_ends(file, STR(".html")) &&
	       !memchr(file.p + at->page.n, '/', file.n - at->page.n);
}

/* Opens the file, not the address, in a browser: all users can read a process's arguments. */
static bool service_browse(struct call *c, const struct service_place *at, struct str file)
{
	static const char *const programs[] = { "/usr/bin/xdg-open", "/usr/bin/open",
						"/usr/bin/sensible-browser" };
	const char *browser = getenv("BROWSER");
	const char *words[3] = { NULL, arena_cstr(&c->mem, file), NULL };

	if (browser && *browser == '/')
		words[0] = browser;
	for (size_t i = 0; !words[0] && i < sizeof programs / sizeof *programs; i++)
		if (file_exists(&c->mem, str_of(programs[i])))
			words[0] = programs[i];
	return service_file_valid(at, file) && words[0] && spawn_away(words);
}

/* NOT_A_REPOSITORY if there is no project here whose page could be opened. */
static enum err service_check_project(struct call *c)
{
	struct agent_files files = { 0 };
	struct beads beads = { 0 };
	struct board board;
	bool there = false;
	enum err e = beads_home(c, &beads);

	if (e != ERR_NOT_A_REPOSITORY)
		return e;
	call_forgive(c);
	if ((e = live_open_board(c, &board, &there)))
		return e;
	if (there)
		board_close(&board);
	else if ((e = agent_files_open(c, AGENTS_READ, &files)))
		return e;
	if (there || files.home.p)
		return ERR_OK;
	call_fail(c, ERR_NOT_A_REPOSITORY,
		  "'" STR_FMT "' is not in a Git repository, and has no board", STR_ARG(c->dir));
	return call_step(c, "Change to the folder of a project, or run 'git init' and 'abacus "
			    "init' here.");
}

static enum err run_open(struct call *c, struct stores *s, const void *body, struct json *reply)
{
	const struct open_body *in = body;
	const char *path = in->print ? "/service/open" : "/service/browse";
	struct service_place at;
	struct invited to;
	enum err e;

	(void)s;
	if ((e = service_check_project(c)) || (e = service_allow_files(c)) ||
	    (e = service_place(c, &at)) || (e = service_invitation(c, &at, path, &to)))
		return e;
	json_object(reply);
	json_put_str(reply, "url", to.url);
	json_put_bool(reply, "opened", service_browse(c, &at, to.file));
	json_end(reply);
	return ERR_OK;
}

void view_open(struct view *v, const struct value *data)
{
	if (value_yes(data, "opened"))
		view_line(v, "Opening the page in your browser. If it does not appear, use this "
			     "address within a minute:");
	view_say(v, data, "{url}");
}

static const struct prop open_props[] = { { "url opened:bool", NULL }, { 0 } };

const struct op op_open = {
	.name = "open",
	.help = "Open the project's page in your browser",
	.more = "Starts the service if it is not running; it then ends after 15 minutes without "
		"a page. The address works for one browser, once, within a minute. The browser "
		"reads it from a file that only you can read, because other users can see a "
		"program's arguments. Use --print for a browser that cannot read the file or "
		"runs on another machine.",
	.examples = "abacus open\n"
		    "abacus open --print",
	OP_BODY(struct open_body, open_fields),
	.reply = &(const struct prop){ "page", open_props },
	.run = run_open,
};
