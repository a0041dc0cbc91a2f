#include "serve/http.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/id.h"
#include "base/moment.h"
#include "base/system/file.h"
#include "base/text/json.h"

/* Requests, from the request line to the response. */
enum {
	CONNECTIONS = 1000,        /* maximum on each listening socket; see http_most() */
	BODY_MOST = 4 << 20,       /* bytes */
	READ_MOST = 16 << 20,      /* bytes read of a body that is too large */
	IDLE_S = 30,               /* a connection without a request is closed after this time */
	CONNECTION_MEMORY = 24576, /* bytes; the headers have to fit */
};

/* The strictest level at which the library still accepts common clients. */
#if MHD_VERSION >= 0x00097701
#define HTTP_STRICT MHD_OPTION_CLIENT_DISCIPLINE_LVL, 2
#else
#define HTTP_STRICT MHD_OPTION_STRICT_FOR_CLIENT, 1
#endif

/* --- responses --- */

/* Only files that are embedded in the program: no path leads to the file system. */
static enum MHD_Result send_file(struct http_request *r, struct MHD_Connection *connection,
				 const char *path)
{
	const struct page_file *f = page_files;

	if (!strcmp(path, "/"))
		path = "/index.html";
	while (f->path && strcmp(f->path, path) != 0)
		f++;
	if (!f->path)
		return answer_refuse(r, connection,
				     &(const struct refusal){
					     MHD_HTTP_NOT_FOUND, "NOT_FOUND",
					     "there is nothing at this address",
					     "The page is at '/', the operations below '/api/'." });
	return send_tagged(
		r, connection,
		MHD_create_response_from_buffer(f->n, (void *)f->p, MHD_RESPMEM_PERSISTENT),
		str_of(f->tag), f->type);
}

static enum MHD_Result send_events(struct http_request *r, struct MHD_Connection *connection)
{
	struct str after = answer_header(connection, "Last-Event-ID"),
		   asked = answer_argument(connection, "after");
	struct MHD_Response *response =
		streams_new(r->h->with.streams, connection, after.n ? after : asked);

	if (!response)
		return answer_refuse(r, connection,
				     &(const struct refusal){
					     MHD_HTTP_SERVICE_UNAVAILABLE, "BUSY",
					     "too many follow the events already",
					     "Close a page or a program that you do not need." });
	MHD_add_response_header(response, "Cache-Control", "no-store");
	sign_answer(r, response, MHD_HTTP_OK, STR("stream"));
	return send_off(r, connection, MHD_HTTP_OK, response, "text/event-stream");
}

/* The page asks for this to see the signature of the response. */
static enum MHD_Result send_proof(struct http_request *r, struct MHD_Connection *connection)
{
	struct json j = json_new(&r->mem);

	json_object(&j);
	json_put_object(&j, "data");
	json_end(&j);
	json_end(&j);
	return send_text(r, connection, MHD_HTTP_OK, json_text(&j), json_type);
}

/* --- commands of 'abacus open' and 'abacus serve --stop', and handed-over requests --- */

/* `browse`: with a file that redirects a browser. */
static enum MHD_Result send_invitation(struct http_request *r, struct MHD_Connection *connection,
				       bool browse)
{
	struct json j = json_new(&r->mem);
	struct http *h = r->h;
	struct str file = { 0 };

	errno = 0;
	if (!h->port && (http_listen(h, 0) < 0 || !h->with.tell(h->with.arg, h->port)))
		return answer_refuse(
			r, connection,
			&(const struct refusal){
				MHD_HTTP_INTERNAL_SERVER_ERROR, "INTERNAL_ERROR",
				arena_fmt(&r->mem, "the service cannot listen on the loopback: %s",
					  errno ? strerror(errno) : "no reason is known")
					.p,
				"Run 'abacus serve --stop', then 'abacus open' again." });
	json_object(&j);
	json_put_str(&j, "url", http_invitation(h, &r->mem, browse ? &file : NULL));
	json_put_str(&j, "file", file);
	json_end(&j);
	return send_text(r, connection, MHD_HTTP_OK, json_text(&j), json_type);
}

static enum MHD_Result send_stopping(struct http_request *r, struct MHD_Connection *connection)
{
	struct json j = json_new(&r->mem);

	json_object(&j);
	json_put_bool(&j, "stopping", true);
	json_end(&j);
	kill(getpid(), SIGTERM);
	return send_text(r, connection, MHD_HTTP_OK, json_text(&j), json_type);
}

static enum MHD_Result answer_command(struct http_request *r, struct MHD_Connection *connection,
				      const char *path)
{
	if (!strcmp(path, "/service/open"))
		return send_invitation(r, connection, false);
	if (!strcmp(path, "/service/browse"))
		return send_invitation(r, connection, true);
	if (!strcmp(path, "/service/stop"))
		return send_stopping(r, connection);
	if (!strcmp(path, "/service/run"))
		return begin_handed_over(r, connection);
	return answer_refuse(r, connection,
			     &(const struct refusal){ MHD_HTTP_NOT_FOUND, "NOT_FOUND",
						      "there is no such command",
						      "See 'abacus serve --help'." });
}

/* --- requests --- */

static enum MHD_Result http_answer(struct http_request *r, struct MHD_Connection *connection,
				   const char *path, bool post)
{
	if (post && r->local && !strncmp(path, "/service/", 9))
		return answer_command(r, connection, path);
	if (!post && !strcmp(path, "/api/events"))
		return send_events(r, connection);
	if (!post && !strcmp(path, "/api/proof"))
		return send_proof(r, connection);
	if (is_api(path))
		return begin_job(r, connection, path, post);
	return send_file(r, connection, path);
}

static enum MHD_Result http_too_large(struct http_request *r, struct MHD_Connection *connection)
{
	return answer_refuse(r, connection,
			     &(const struct refusal){ MHD_HTTP_CONTENT_TOO_LARGE, "INVALID_INPUT",
						      "the body is larger than 4 MiB",
						      "Send less at once." });
}

static enum MHD_Result http_admit(struct http_request *r, struct MHD_Connection *connection,
				  const char *path, bool post)
{
	struct str type = answer_header(connection, "Content-Type");
	struct refusal trailers = check_trailers(connection);

	if (trailers.status) {
		r->closes = true;
		return answer_refuse(r, connection, &trailers);
	}
	if (invite_is_address(r, path))
		return invite_redeem_page(r, connection);
	if (r->too_large)
		return http_too_large(r, connection);
	if (!body_is_signed(r))
		return answer_refuse(
			r, connection,
			&(const struct refusal){ MHD_HTTP_BAD_REQUEST, "INVALID_INPUT",
						 "the body is not the one that was signed",
						 "Load the page again." });
	if (post && !str_starts(type, STR("application/json")))
		return answer_refuse(
			r, connection,
			&(const struct refusal){ MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "INVALID_INPUT",
						 "the Content-Type is not application/json",
						 "Send JSON, and say so." });
	return http_answer(r, connection, path, post);
}

/* False if the body exceeds even READ_MOST. */
static bool take_body(struct http_request *r, const char *p, size_t n)
{
	size_t at = r->n;
	char *more;

	r->n += n;
	if (r->too_large || r->n > BODY_MOST || !(more = realloc(r->body, r->n))) {
		r->too_large = true;
		return r->n <= READ_MOST;
	}
	r->body = more;
	memcpy(r->body + at, p, n);
	return true;
}

static bool announces_too_much(struct MHD_Connection *connection)
{
	struct str length = answer_header(connection, "Content-Length");

	return length.n > 9 || (length.n && strtoll(length.p, NULL, 10) > BODY_MOST);
}

/* Without a key, a body would be kept in memory for any user of the machine. */
static bool has_body(struct MHD_Connection *connection)
{
	struct str length = answer_header(connection, "Content-Length");

	return (length.n && !str_is(length, "0")) ||
	       answer_header(connection, "Transfer-Encoding").p;
}

/* The library calls this with the request line, before it decodes the target. */
static void *http_connected(void *arg, const char *target, struct MHD_Connection *connection)
{
	const struct transport *on = arg;
	struct http_request *r = calloc(1, sizeof *r);
	char *copy = strdup(
		target); /* not in the arena: a client that sends nothing more must cost little */

	(void)connection;
	if (!r || !copy) {
		free(copy);
		free(r);
		return NULL;
	}
	r->h = on->h;
	r->local = on->local;
	r->target = str_of(copy);
	return r;
}

/* Checks the headers before the body is read, so that a refused request's body is not read. */
static enum MHD_Result http_look_at(struct http_request *r, struct MHD_Connection *connection,
				    const char *path, const char *method, const char *version)
{
	struct refusal refusal = check_request(r, connection, method, version);

	r->looked_at = true;
	r->closes = refusal.status; /* the bytes that follow may not be a request */
	if (refusal.status)
		return answer_refuse(r, connection, &refusal);
	refusal = auth_check(r, connection, path, method);
	if (refusal.status)
		return invite_refuse(r, connection, path, &refusal);
	r->admitted = r->local || is_api(path);
	if (!r->admitted && has_body(connection)) {
		r->closes = true;
		return answer_refuse(
			r, connection,
			&(const struct refusal){ MHD_HTTP_BAD_REQUEST, "INVALID_INPUT",
						 "a request for a file of the page has a body",
						 "Send it without a body." });
	}
	if (announces_too_much(connection))
		return http_too_large(r, connection);
	return MHD_YES;
}

static enum MHD_Result http_handle(void *arg, struct MHD_Connection *connection, const char *path,
				   const char *method, const char *version, const char *data,
				   size_t *size, void **context)
{
	struct http_request *r = *context;
	bool post = !strcmp(method, "POST"),
	     get = !strcmp(method, "GET") || !strcmp(method, "HEAD");

	(void)arg;
	if (!r)
		return MHD_NO; /* out of memory */
	if (!r->looked_at)
		return http_look_at(r, connection, path, method, version);
	if (*size) {
		if (!take_body(r, data, *size))
			return MHD_NO;
		*size = 0;
		return MHD_YES;
	}
	connection_expect(connection, !r->admitted, r->admitted);
	if (r->begun)
		return send_reply(r, connection, get);
	if (invite_is_address(r, path) ? strcmp(method, "GET") != 0 : !get && !post)
		return answer_refuse(
			r, connection,
			&(const struct refusal){ MHD_HTTP_METHOD_NOT_ALLOWED, "INVALID_INPUT",
						 "this method is not allowed here",
						 "Use GET, or POST for an operation." });
	return http_admit(r, connection, path, post);
}

static void http_disconnected(void *arg, struct MHD_Connection *connection, void **context,
			      enum MHD_RequestTerminationCode why)
{
	struct http_request *r = *context;

	(void)arg, (void)why;
	connection_expect(connection, true, r && r->admitted);
	if (!r)
		return;
	arena_release(&r->mem);
	free(r->job.reply);
	free(r->body);
	free((char *)r->target.p);
	free(r);
}

/* --- opening and closing --- */

/*
 * How many connections a listening socket may have. Every user of the machine can open some on the
 * loopback; they must not use up the descriptors that the workers, the stores and the Unix socket
 * need.
 */
static unsigned http_most(void)
{
	enum { LISTENERS = 3, RESERVE = 160, LEAST = 4 };
	struct rlimit files;
	rlim_t rest;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur == RLIM_INFINITY)
		return CONNECTIONS;
	rest = files.rlim_cur > 2 * RESERVE ? files.rlim_cur - RESERVE : files.rlim_cur / 4;
	rest /= LISTENERS;
	return rest > CONNECTIONS ? CONNECTIONS : rest > LEAST ? (unsigned)rest : LEAST;
}

static struct MHD_Daemon *listen_on(struct transport *on, int fd)
{
	return MHD_start_daemon(
		MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, http_handle,
		NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, http_most(),
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, HTTP_STRICT, MHD_OPTION_URI_LOG_CALLBACK, http_connected,
		on, MHD_OPTION_NOTIFY_COMPLETED, http_disconnected, NULL,
		MHD_OPTION_NOTIFY_CONNECTION, connection_notify, on->h, MHD_OPTION_END);
}

static void make_secrets(struct http *h)
{
	struct arena mem = { 0 };

	memcpy(h->key, id_random(&mem, TOKEN).p, TOKEN);
	snprintf(h->name, sizeof h->name, "abacus-%s.localhost", id_random(&mem, 16).p);
	arena_release(&mem);
}

struct http *http_open(const struct http_ask *ask)
{
	struct http *h = calloc(1, sizeof *h);

	if (!h)
		abort();
	h->with = *ask;
	h->on_socket = (struct transport){ h, true };
	h->on_loopback = (struct transport){ h, false };
	make_secrets(h);
	invitations_open(h);
	h->last = moment_ticks();
	pthread_mutex_init(&h->listening, NULL);
	pthread_mutex_init(&h->mutex, NULL);
	h->local = listen_on(&h->on_socket, ask->socket);
	if (h->local)
		return h;
	free(h);
	return NULL;
}

static int listen_loopback(struct http *h, int port)
{
	int fd, fd6;

	if (!loopback_bind(&port, &fd, &fd6))
		return -1;
	atomic_store(&h->port, port);
	h->loopback = listen_on(&h->on_loopback, fd);
	h->loopback6 = h->loopback && fd6 >= 0 ? listen_on(&h->on_loopback, fd6) : NULL;
	if (h->loopback && (h->loopback6 || fd6 < 0))
		return port;
	if (h->loopback)
		MHD_stop_daemon(h->loopback);
	else
		close(fd);
	file_close(&fd6);
	h->loopback = NULL;
	atomic_store(&h->port, 0);
	return -1;
}

int http_listen(struct http *h, int port)
{
	pthread_mutex_lock(&h->listening);
	port = h->port ? h->port : listen_loopback(h, port);
	pthread_mutex_unlock(&h->listening);
	return port;
}

int64_t http_quiet_since(struct http *h)
{
	int64_t last;

	pthread_mutex_lock(&h->mutex);
	last = h->last;
	for (struct connection *one = h->connections; one; one = one->next)
		if (!one->expected) /* a request is running, or a stream is open */
			last = moment_ticks();
	pthread_mutex_unlock(&h->mutex);
	return last;
}

void http_stop_listening(struct http *h)
{
	MHD_socket fd;

	if (h->local && (fd = MHD_quiesce_daemon(h->local)) >= 0)
		close(fd);
	if (h->loopback && (fd = MHD_quiesce_daemon(h->loopback)) >= 0)
		close(fd);
	if (h->loopback6 && (fd = MHD_quiesce_daemon(h->loopback6)) >= 0)
		close(fd);
}

void http_close(struct http *h)
{
	MHD_stop_daemon(h->local);
	if (h->loopback)
		MHD_stop_daemon(h->loopback);
	if (h->loopback6)
		MHD_stop_daemon(h->loopback6);
	invitations_close(h);
	pthread_mutex_destroy(&h->listening);
	pthread_mutex_destroy(&h->mutex);
	free(h);
}
