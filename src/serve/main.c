#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agents/liveness.h"
#include "base/id.h"
#include "base/moment.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/lock.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "base/system/signals.h"
#include "base/system/spawn.h"
#include "base/system/watch.h"
#include "base/text/json.h"
#include "live/feed.h"
#include "serve/serve.h"
#include "store/db/db.h"
#include "surface/cli/out.h"
#include "surface/cli/settings.h"
#include "surface/service/service.h"

/*
 * abacus-serve DIR PROJECT PORT IDLE: started by 'abacus serve' and 'abacus open'. 'abacus-serve
 * markdown' is a process of the service itself, see markdown.c. The call of
 * main() lives as long as the service; each round of serve_follow() has a call of its own, whose
 * memory is freed at its end.
 */

static volatile sig_atomic_t stopped;

static void serve_stop(int signal)
{
	(void)signal;
	stopped = 1;
}

/* Signals are delivered only while the first thread sleeps in watch_wait(). */
static void serve_hold_signals(void)
{
	struct sigaction act = { .sa_handler = serve_stop };
	sigset_t held;

	signals_ignore();
	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	sigprocmask(SIG_BLOCK, &held, NULL);
	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
}

struct service {
	struct service_place place;
	struct lock lock;
	struct feed *feed;
	struct workers *workers, *waiters, *writers, *markdown;
	struct streams *streams;
	struct rules_runner rules;
	struct http *http;
	char token[65];
	pthread_mutex_t mutex; /* protects `port` and address.json */
	int port;              /* on the loopback; 0: none */
	int64_t idle_ms;       /* the service ends after this time without a request; 0: never */
};

/* Every connection needs a file descriptor. */
static void raise_limits(void)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most))
		return;
	most.rlim_cur = most.rlim_max < 8192 ? most.rlim_max : 8192;
	setrlimit(RLIMIT_NOFILE, &most);
}

/* The caller holds the lock, so a socket that is there was left by a killed service. */
static int open_socket(struct call *c, struct str path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	mode_t before = umask(077);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(at.sun_path, path.p, path.n);
	unlink(arena_cstr(&c->mem, path));
	if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) ||
	    bind(fd, (struct sockaddr *)&at, sizeof at) || chmod(at.sun_path, 0600) ||
	    listen(fd, 512))
		file_close(&fd);
	umask(before);
	return fd;
}

static enum err write_address(struct call *c, const struct service *s)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_int(&j, "pid", getpid());
	json_put_str(&j, "socket", s->place.socket);
	json_put_str(&j, "url",
		     s->port ? arena_fmt(&c->mem, "http://127.0.0.1:%d/", s->port) : STR_NONE);
	json_put_str(&j, "token", str_of(s->token));
	json_end(&j);
	buf_char(&j.out, '\n');
	return file_own_replace(c, s->place.address, buf_str(&j.out), 0600);
}

/* 'abacus open' may ask for the port while the first thread is still starting, so two threads may
 * write the file; each writes the current state. */
static enum err tell_address(struct call *c, struct service *s, int port)
{
	enum err e;

	pthread_mutex_lock(&s->mutex);
	if (port)
		s->port = port;
	e = write_address(c, s);
	pthread_mutex_unlock(&s->mutex);
	return e;
}

/* Called by the HTTP thread of the Unix socket when a page is opened. */
static bool tell_port(void *arg, int port)
{
	struct call c = { 0 };
	bool told = !tell_address(&c, arg, port);

	call_release(&c);
	return told;
}

static const char *const *worker_argv(struct call *c)
{
	const char **words = arena_array(&c->mem, 5, sizeof *words);
	int n = 0;

	words[n++] = arena_cstr(&c->mem, spawn_beside(&c->mem, STR("bin/abacus")));
	if (c->project.p) {
		words[n++] = "--dir";
		words[n++] = arena_cstr(&c->mem, c->project);
	}
	words[n++] = "pipe";
	return words;
}

static const char *const *markdown_argv(struct call *c)
{
	const char **words = arena_array(&c->mem, 3, sizeof *words);

	words[0] = arena_cstr(&c->mem, spawn_beside(&c->mem, STR("libexec/abacus-serve")));
	words[1] = "markdown";
	return words;
}

/* ALREADY_EXISTS if a service runs for this project. */
static enum err serve_take_place(struct call *c, struct service *s)
{
	enum { LOCK_MS = 500 }; /* a process that tests the lock holds it for a moment */
	enum err e;

	if ((e = service_place(c, &s->place)))
		return e;
	e = lock_take(c, s->place.lock, LOCK_MS, &s->lock);
	if (e != ERR_DATABASE_BUSY)
		return e;
	call_fail(c, ERR_ALREADY_EXISTS, "a service runs for this project already");
	return call_step(c, "'abacus open' opens its page; 'abacus serve --stop' ends it.");
}

static enum err open_parts(struct call *c, struct service *s)
{
	enum {
		WORKERS = 15,
		MARKDOWN = 2
	}; /* more than cores: a write mostly waits for the disk */
	struct http_ask ask = { .tell = tell_port, .arg = s };
	enum err e;

	/* Earlier versions kept a token in the file 'door'. */
	if ((e = feed_open(c, s->place.dir, &s->feed)) ||
	    (e = file_remove(c, path_join(&c->mem, s->place.dir, STR("door")))))
		return e;
	memcpy(s->token, id_random(&c->mem, sizeof s->token - 1).p, sizeof s->token - 1);
	ask.streams = s->streams = streams_open(s->feed);
	ask.workers = s->workers = workers_open(worker_argv(c), WORKERS);
	ask.waiters = s->waiters = workers_open(worker_argv(c), WORKERS_MOST);
	ask.writers = s->writers = workers_open_grouped(worker_argv(c));
	ask.markdown = s->markdown = workers_open(markdown_argv(c), MARKDOWN);
	ask.page_file = s->place.page.p ? arena_cstr(&c->mem, s->place.page) : NULL;
	ask.socket = open_socket(c, s->place.socket);
	memcpy(ask.token, s->token, sizeof ask.token);
	if (ask.socket < 0)
		return file_fail(c, "listen on", s->place.socket);
	errno = 0;
	s->http = http_open(&ask);
	return s->http ? ERR_OK :
			 call_fail(c, ERR_INTERNAL_ERROR, "the service cannot be started: %s",
				   errno ? strerror(errno) : "libmicrohttpd gives no reason");
}

static enum err serve_begin(struct call *c, struct service *s, int port)
{
	struct buf text = { .mem = &c->mem };
	struct str page;
	enum err e;

	if ((e = serve_take_place(c, s)) || (e = open_parts(c, s)))
		return e;
	if (port >= 0 && (port = http_listen(s->http, port)) < 0) {
		call_fail(c, ERR_INVALID_INPUT, "cannot listen on that port: %s", strerror(errno));
		return call_step(c, "Choose another --port; 0 takes one that is free.");
	}
	if ((e = tell_address(c, s, port > 0 ? port : 0)))
		return e;
	buf_fmt(&text, "Serving '" STR_FMT "' on " STR_FMT "\n",
		STR_ARG(c->project.p ? c->project : c->dir), STR_ARG(s->place.socket));
	if (port > 0) {
		page = http_invitation(s->http, &c->mem, NULL);
		buf_fmt(&text, "Page:   " STR_FMT "\n", STR_ARG(page));
	}
	out_text(&c->mem, buf_str(&text), 0);
	return ERR_OK;
}

/* --- the first thread's work --- */

enum { LOOK_MS = 500, PAUSE_MS = 5 };

/* One round: arms the watch, collects new events, and sleeps until a store changes. */
static void serve_follow(const struct call *start, struct service *s)
{
	struct call c = call_part(start);
	struct watch_at at[FEED_WATCHED];
	size_t count = 0;
	AUTO_WATCH w;

	if (!c.still)
		c.now_ms = moment_now();
	feed_watched(&c, at);
	watch_open(&w, &c.mem, at, FEED_WATCHED);
	if (!feed_collect(&c, s->feed, &count) && count)
		streams_wake(s->streams);
	/* After events were collected, the next round comes soon: more may be waiting. */
	watch_wait(&w, count ? 1 : LOOK_MS, -1);
	/*
	 * The pause lets changes in quick succession share a round. A signal ends it only if no
	 * events were collected: the place after them is recorded by the next round.
	 */
	if (count)
		moment_sleep(PAUSE_MS);
	else
		watch_pause(PAUSE_MS);
	call_release(&c);
}

static void serve_tick(const struct call *start, struct service *s, int64_t *beat)
{
	int64_t now = moment_ticks();

	http_sweep(s->http);
	if (now - *beat > 2000) { /* a woken stream notices that its client has gone */
		*beat = now;
		streams_wake(s->streams);
		rules_tick(start, s->workers, &s->rules);
	}
	if (s->idle_ms && now - http_quiet_since(s->http) > s->idle_ms)
		stopped = 1;
}

/* If the folder was removed, another service may have started in a new one. */
static bool serve_still_ours(struct call *c, const struct service *s)
{
	struct stat held;

	return !fstat(s->lock.fd, &held) &&
	       file_number(&c->mem, s->place.lock) == (uint64_t)held.st_ino;
}

static int64_t left_ms(int64_t until)
{
	int64_t left = until - moment_ticks();

	return left > 0 ? left : 0;
}

static void serve_end(struct call *c, struct service *s)
{
	enum { FINISH_MS = 600 };
	int64_t until = moment_ticks() + FINISH_MS;

	if (s->http)
		http_stop_listening(s->http);
	rules_stop(&s->rules);
	if (s->streams)
		streams_close(s->streams);
	if (s->workers)
		workers_close(s->workers, FINISH_MS);
	if (s->writers)
		workers_close(s->writers, left_ms(until));
	if (s->markdown)
		workers_close(s->markdown, 0);
	if (s->waiters)
		workers_close(s->waiters, left_ms(until));
	if (s->http) {
		http_close(s->http);
		if (serve_still_ours(c, s)) {
			unlink(arena_cstr(&c->mem, s->place.socket));
			unlink(arena_cstr(&c->mem, s->place.address));
		}
	}
	free(s->streams); /* no thread is left that uses them */
	free(s->workers);
	free(s->waiters);
	free(s->writers);
	free(s->markdown);
	if (s->feed)
		feed_close(s->feed);
	lock_drop(&s->lock);
}

static int say_failure(struct call *c)
{
	out_say("error: %s", c->message.p);
	out_say("%s", call_next_step(c).p);
	return 1;
}

int main(int argc, char **argv)
{
	struct call c = { 0 };
	struct service s = { .lock = LOCK_NONE, .mutex = PTHREAD_MUTEX_INITIALIZER };
	int64_t port, beat = 0;
	int status = 0;

	if (argc == 2 && !strcmp(argv[1], "markdown"))
		return markdown_start();
	if (argc < 5 || !number_int(str_of(argv[3]), &port) ||
	    !number_int(str_of(argv[4]), &s.idle_ms)) {
		out_say("abacus-serve is started by abacus; see 'abacus serve --help'");
		return 2;
	}
	serve_hold_signals();
	raise_limits();
	db_keep();
	platform_give_back();
	c.dir = str_of(argv[1]);
	if (argv[2][0])
		c.project = str_of(argv[2]);
	settings_read(&c);
	if (settings_now(&c) || liveness_check(&c) || serve_begin(&c, &s, (int)port))
		status = say_failure(&c);
	while (!status && !stopped) {
		serve_follow(&c, &s);
		serve_tick(&c, &s, &beat);
	}
	serve_end(&c, &s);
	call_release(&c);
	return status;
}
