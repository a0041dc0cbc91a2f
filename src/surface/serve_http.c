#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/id.h"
#include "base/json.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/peer.h"
#include "base/value.h"
#include "ops/ops.h"
#include "surface/openapi.h"
#include "surface/pipe.h"
#include "surface/serve.h"

/*
 * Who may speak to us: over our socket, this user's processes; over the loopback, whoever
 * has the token, in a cookie that no other site can have sent. What they may say is
 * small, and has to come soon.
 */
enum {
	CONNECTIONS = 1000,        /* on each of the two */
	BODY_MOST = 4 << 20,       /* bytes */
	READ_MOST = 16 << 20,      /* of a body that is too large anyway */
	HEAD_S = 10,               /* for a request to come */
	IDLE_S = 30,               /* for a connection without one */
	CONNECTION_MEMORY = 24576, /* headers have to fit in there */
	INVITATIONS = 8,
	INVITATION_MS = 60 * 1000,
	TOKEN = 64, /* hexadecimal digits */
};

/* A connection, while it is there. */
struct guest {
	struct http *h;
	int fd;
	bool stranger; /* another user's */
	bool expected; /* a request is to come, or the rest of it */
	int64_t since; /* ticks */
	struct guest *next, **link;
};

struct invitation {
	char code[TOKEN + 1];
	int64_t until;
};

struct http {
	struct http_ask with;
	struct MHD_Daemon *local, *loopback;
	atomic_int port; /* 0: not on the loopback */
	char cookie[32];
	pthread_mutex_t mutex; /* of what follows */
	struct guest *guests;
	struct invitation invitation[INVITATIONS];
	int64_t last;
};

/* A request, until its answer is on its way. */
struct visit {
	struct http *h;
	struct arena mem;
	bool local;
	char *body;
	size_t n;
	bool too_large;
	struct job job;
	bool begun; /* it is at a desk */
	bool plain; /* its data is the answer, as it is */
};

/* --- answers --- */

static const char *const headers[][2] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' "
	  "data:; "
	  "connect-src 'self'; base-uri 'none'; form-action 'none'; "
	  "frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "X-Frame-Options", "DENY" },
};

static enum MHD_Result send_off(struct MHD_Connection *connection, unsigned status,
				struct MHD_Response *response, const char *type)
{
	enum MHD_Result sent;

	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	MHD_add_response_header(response, "Content-Type", type);
	sent = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return sent;
}

static const char json_type[] = "application/json; charset=utf-8";
static const char html_type[] = "text/html; charset=utf-8";

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status,
				 struct str text, const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		text.n, (void *)text.p, MHD_RESPMEM_MUST_COPY);

	if (response)
		MHD_add_response_header(response, "Cache-Control", "no-store");
	return send_off(connection, status, response, type);
}

static enum MHD_Result refuse(struct visit *v, struct MHD_Connection *connection,
			      unsigned status, const char *code, const char *message,
			      const char *hint)
{
	struct json j = { .out.mem = &v->mem };

	json_object(&j);
	json_put_object(&j, "error");
	json_put_str(&j, "code", str_of(code));
	json_put_str(&j, "message", str_of(message));
	json_put_str(&j, "hint", str_of(hint));
	json_put_bool(&j, "retryable", status == MHD_HTTP_SERVICE_UNAVAILABLE);
	json_put_int(&j, "status", status);
	json_put_object(&j, "details");
	json_end(&j);
	json_end(&j);
	json_end(&j);
	return send_text(connection, status, json_text(&j), json_type);
}

/* --- who may come in --- */

static struct str header(struct MHD_Connection *connection, const char *name)
{
	return str_of(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name));
}

/* A name that leads here, and not one that somebody has made lead here. */
static bool host_is_ours(const struct http *h, struct str host)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	char text[64];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(text, sizeof text, "%s:%d", names[i], h->port);
		if (str_is(host, text))
			return true;
	}
	return false;
}

static bool origin_is_ours(const struct http *h, struct str origin)
{
	return str_starts(origin, STR("http://")) &&
	       host_is_ours(h, str_skip(origin, sizeof "http://" - 1));
}

static bool same(struct str given, const char *secret)
{
	return given.n == TOKEN && !sodium_memcmp(given.p, secret, TOKEN);
}

static bool has_token(const struct http *h, struct MHD_Connection *connection)
{
	struct str cookie = str_of(
		MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, h->cookie));
	struct str bearer = header(connection, "Authorization");

	if (str_starts(bearer, STR("Bearer ")))
		return same(str_skip(bearer, 7), h->with.token);
	return cookie.p && same(cookie, h->with.token);
}

struct verdict {
	unsigned status; /* 0: may come in */
	const char *code, *message, *hint;
};

static struct verdict judge_local(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	const struct guest *guest = info ? info->socket_context : NULL;

	if (!guest || guest->stranger)
		return (struct verdict){ MHD_HTTP_FORBIDDEN, "FORBIDDEN",
					 "this socket is another user's",
					 "Start a service of your own: 'abacus serve'." };
	if (header(connection, "Origin").p)
		return (struct verdict){ MHD_HTTP_FORBIDDEN, "FORBIDDEN",
					 "no page speaks over this socket",
					 "Leave the Origin header out." };
	return (struct verdict){ 0 };
}

static struct verdict judge_loopback(const struct http *h,
				     struct MHD_Connection *connection, bool entering)
{
	struct str origin = header(connection, "Origin"),
		   site = header(connection, "Sec-Fetch-Site");

	if (!host_is_ours(h, header(connection, "Host")))
		return (struct verdict){ MHD_HTTP_MISDIRECTED_REQUEST, "FORBIDDEN",
					 "the Host header names somebody else",
					 "Use the address that 'abacus open' prints." };
	if ((origin.p && !origin_is_ours(h, origin)) ||
	    (site.p && !entering && !str_is(site, "same-origin") &&
	     !str_is(site, "none")))
		return (struct verdict){ MHD_HTTP_FORBIDDEN, "FORBIDDEN",
					 "another site sent this request",
					 "Open the page itself: 'abacus open'." };
	if (!entering && !has_token(h, connection))
		return (struct verdict){
			MHD_HTTP_UNAUTHORIZED, "UNAUTHORIZED",
			"the token is missing, or is not of this service",
			"Run 'abacus open': it lets your browser in. Programs find the "
			"token in the file that 'abacus serve' names."
		};
	return (struct verdict){ 0 };
}

/* --- the way in --- */

static const char entered[] = "<!doctype html><meta charset=utf-8><link rel=icon "
			      "href=data:,><meta http-equiv=refresh content='0;url=/'>"
			      "<title>Abacus</title><p><a href='/'>Go on</a></p>";
static const char shut[] = "<!doctype html><meta "
			   "charset=utf-8><title>Abacus</title><p>This link was used, or "
			   "is too old. Run <code>abacus open</code> again.</p>";
static const char who_are_you[] =
	"<!doctype html><meta charset=utf-8><link rel=icon "
	"href=data:,><title>Abacus</title><p>Run <code>abacus "
	"open</code> in the project: it lets this browser in.</p>";

static bool redeem(struct http *h, struct str code)
{
	int64_t now = moment_ticks();
	bool good = false;

	pthread_mutex_lock(&h->mutex);
	for (int i = 0; code.p && i < INVITATIONS; i++) {
		struct invitation *one = &h->invitation[i];

		if (!one->code[0] || one->until < now || !same(code, one->code))
			continue;
		good = true;
		*one = (struct invitation){ 0 };
	}
	pthread_mutex_unlock(&h->mutex);
	return good;
}

/* A page, not a redirect: the cookie is then sent by a request of our own site. */
static enum MHD_Result enter(struct http *h, struct MHD_Connection *connection)
{
	struct str code = str_of(
		MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "code"));
	struct MHD_Response *response;
	char cookie[192];

	if (!redeem(h, code))
		return send_text(connection, MHD_HTTP_UNAUTHORIZED, str_of(shut),
				 html_type);
	response = MHD_create_response_from_buffer(sizeof entered - 1, (void *)entered,
						   MHD_RESPMEM_PERSISTENT);
	snprintf(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/",
		 h->cookie, h->with.token);
	if (response) {
		MHD_add_response_header(response, "Set-Cookie", cookie);
		MHD_add_response_header(response, "Cache-Control", "no-store");
	}
	return send_off(connection, MHD_HTTP_OK, response, html_type);
}

struct str http_invitation(struct http *h, char *buf, size_t size)
{
	struct arena mem = { 0 };
	struct str code = id_random(&mem, TOKEN);
	struct invitation *oldest = h->invitation;

	pthread_mutex_lock(&h->mutex);
	for (int i = 1; i < INVITATIONS; i++)
		if (h->invitation[i].until < oldest->until)
			oldest = &h->invitation[i];
	memcpy(oldest->code, code.p, TOKEN);
	oldest->until = moment_ticks() + INVITATION_MS;
	snprintf(buf, size, "http://127.0.0.1:%d/enter?code=%s", h->port, oldest->code);
	pthread_mutex_unlock(&h->mutex);
	arena_release(&mem);
	return str_of(buf);
}

/* --- what there is --- */

static bool same_tag(struct MHD_Connection *connection, struct str tag)
{
	return str_has(header(connection, "If-None-Match"), tag);
}

static enum MHD_Result send_tagged(struct MHD_Connection *connection,
				   struct MHD_Response *response, struct str tag,
				   const char *type)
{
	char quoted[96];
	bool known = same_tag(connection, tag);

	snprintf(quoted, sizeof quoted, "\"%.*s\"", (int)tag.n, tag.p);
	if (known && response) {
		MHD_destroy_response(response);
		response = MHD_create_response_from_buffer(0, (void *)"",
							   MHD_RESPMEM_PERSISTENT);
	}
	if (response) {
		MHD_add_response_header(response, "ETag", quoted);
		MHD_add_response_header(response, "Cache-Control", "no-cache");
	}
	return send_off(connection, known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response,
			type);
}

/* Only what is part of the program: there is no path that leads to a file. */
static enum MHD_Result send_file(struct visit *v, struct MHD_Connection *connection,
				 const char *path)
{
	const struct page_file *f = page_files;

	if (!strcmp(path, "/"))
		path = "/index.html";
	while (f->path && strcmp(f->path, path) != 0)
		f++;
	if (!f->path)
		return refuse(v, connection, MHD_HTTP_NOT_FOUND, "NOT_FOUND",
			      "there is nothing at this address",
			      "The page is at '/', the operations below '/api/'.");
	return send_tagged(connection,
			   MHD_create_response_from_buffer(f->n, (void *)f->p,
							   MHD_RESPMEM_PERSISTENT),
			   str_of(f->tag), f->type);
}

static enum MHD_Result send_events(struct visit *v, struct MHD_Connection *connection)
{
	struct str after = header(connection, "Last-Event-ID"),
		   asked = str_of(MHD_lookup_connection_value(
			   connection, MHD_GET_ARGUMENT_KIND, "after"));
	struct MHD_Response *response =
		streams_new(v->h->with.streams, connection, after.n ? after : asked);

	if (!response)
		return refuse(v, connection, MHD_HTTP_SERVICE_UNAVAILABLE, "BUSY",
			      "too many follow the events already",
			      "Close a page or a program that you do not need.");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	return send_off(connection, MHD_HTTP_OK, response, "text/event-stream");
}

/* --- operations --- */

/* The values of one name, in the order in which they were said. */
struct argument {
	struct str value;
	struct argument *next, *last; /* of the first one: the end of them */
};

static enum MHD_Result add_argument(void *arg, enum MHD_ValueKind kind, const char *key,
				    const char *value)
{
	struct map *arguments = arg;
	struct argument *one = arena_new(arguments->mem, struct argument), *first;
	void **at = map_put(arguments, str_of(key));

	(void)kind;
	one->value = str_of(value ? value : "true");
	first = *at ? *at : (*at = one);
	if (first != one)
		first->last->next = one;
	first->last = one;
	return MHD_YES;
}

/* What is said more than once is a list. */
static void put_arguments(struct json *j, struct arena *mem,
			  struct MHD_Connection *connection)
{
	struct map arguments = { .mem = mem };

	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_argument,
				  &arguments);
	for (size_t i = 0; i < arguments.count; i++) {
		const struct argument *one = arguments.entry[i].value;
		bool list = one->next;

		json_key(j, arguments.entry[i].key);
		if (list)
			json_array(j);
		for (; one; one = one->next)
			json_str(j, one->value);
		if (list)
			json_end(j);
	}
}

/* /api/sessions/<bead>/conversation is an operation with a parameter in its address. */
static bool in_address(struct str *op, struct str *bead)
{
	struct str head = STR("sessions/"), tail = STR("/conversation");

	if (!str_starts(*op, head) || !str_ends(*op, tail) || op->n <= head.n + tail.n)
		return false;
	*bead = (struct str){ op->p + head.n, op->n - head.n - tail.n };
	*op = STR("conversation");
	return true;
}

/* The line for a desk; absent: the body is not JSON. */
static struct str line_of(struct visit *v, struct MHD_Connection *connection,
			  const char *path, bool post)
{
	struct json j = { .out.mem = &v->mem };
	struct str op = str_of(path + sizeof "/api/" - 1), bead;
	struct value_error error;
	const struct value *body;

	json_object(&j);
	if (in_address(&op, &bead)) {
		json_put_str(&j, "op", op);
		json_put_object(&j, "args");
		json_put_str(&j, "bead", bead);
		json_end(&j);
	} else if (post) {
		body = value_parse(&v->mem,
				   v->n ? (struct str){ v->body, v->n } : STR("{}"),
				   &error);
		if (!body)
			return (struct str){ 0 };
		json_put_str(&j, "op", op);
		json_name(&j, STR("params"));
		json_value(&j, body);
	} else {
		json_put_str(&j, "op", op);
		json_put_object(&j, "args");
		put_arguments(&j, &v->mem, connection);
		json_end(&j);
	}
	json_end(&j);
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}

/* They must not keep a desk from the others. */
static bool may_wait(const char *path)
{
	const struct op *op = pipe_find(str_of(path + sizeof "/api/" - 1));

	return op == &op_agent_wait || op == &op_agent_inbox || op == &op_bead_sync;
}

static enum MHD_Result begin_job(struct visit *v, struct MHD_Connection *connection,
				 const char *path, bool post)
{
	struct desks *desks = may_wait(path) ? v->h->with.lounge : v->h->with.desks;

	v->job.line = line_of(v, connection, path, post);
	if (!v->job.line.p)
		return refuse(v, connection, MHD_HTTP_BAD_REQUEST, "INVALID_INPUT",
			      "the body is not JSON", "Send one JSON object.");
	v->job.connection = connection;
	v->job.mem = post ? NULL : &v->mem;
	v->begun = true;
	v->plain = !strcmp(path, "/api/" OPENAPI);
	MHD_suspend_connection(connection);
	if (!desks_put(desks, &v->job)) {
		v->job.refused = true;
		MHD_resume_connection(connection);
	}
	return MHD_YES;
}

static unsigned status_of(struct visit *v, struct str reply)
{
	struct value_error error;
	int64_t status = MHD_HTTP_INTERNAL_SERVER_ERROR;

	if (str_starts(reply, STR("{\"data\":")))
		return MHD_HTTP_OK;
	value_int(value_find(value_parse(&v->mem, reply, &error), "error"), "status",
		  &status);
	return (unsigned)status;
}

static struct str data_alone(char *reply, size_t n)
{
	size_t head = sizeof "{\"data\":" - 1;

	memmove(reply, reply + head, n - head - 1);
	return (struct str){ reply, n - head - 1 };
}

static enum MHD_Result send_reply(struct visit *v, struct MHD_Connection *connection,
				  bool get)
{
	struct str reply = { v->job.reply, v->job.n };
	unsigned status;

	if (v->job.refused)
		return refuse(v, connection, MHD_HTTP_SERVICE_UNAVAILABLE, "BUSY",
			      "too many requests wait already, or the service ends",
			      "Nothing was changed; send it again in a moment.");
	if (!reply.p)
		return refuse(v, connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
			      "INTERNAL_ERROR",
			      "the process that worked on it ended before it answered",
			      "Look whether it was done; with a request_id it is safe to "
			      "send it again.");
	status = status_of(v, reply);
	if (v->plain && status == MHD_HTTP_OK)
		reply = data_alone(v->job.reply, v->job.n);
	v->job.reply = NULL; /* the response has it now */
	if (get && status == MHD_HTTP_OK)
		return send_tagged(connection,
				   MHD_create_response_from_buffer(reply.n,
								   (void *)reply.p,
								   MHD_RESPMEM_MUST_FREE),
				   str_head(v->job.tag, 32), json_type);
	return send_off(connection, status,
			MHD_create_response_from_buffer(reply.n, (void *)reply.p,
							MHD_RESPMEM_MUST_FREE),
			json_type);
}

/* --- for the commands that start and stop it --- */

static enum MHD_Result answer_command(struct visit *v, struct MHD_Connection *connection,
				      const char *path)
{
	struct json j = { .out.mem = &v->mem };
	char address[160];

	json_object(&j);
	if (!strcmp(path, "/service/open")) {
		if (!v->h->port && (http_listen(v->h, 0) < 0 ||
				    !v->h->with.tell(v->h->with.arg, v->h->port)))
			return refuse(v, connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
				      "INTERNAL_ERROR", "cannot listen on the loopback",
				      "Look at what else uses its ports.");
		json_put_str(&j, "url", http_invitation(v->h, address, sizeof address));
	} else if (!strcmp(path, "/service/stop")) {
		json_put_bool(&j, "stopping", true);
		kill(getpid(), SIGTERM);
	} else {
		return refuse(v, connection, MHD_HTTP_NOT_FOUND, "NOT_FOUND",
			      "there is no such command", "See 'abacus serve --help'.");
	}
	json_end(&j);
	return send_text(connection, MHD_HTTP_OK, json_text(&j), json_type);
}

/* --- requests --- */

static bool is_api(const char *path)
{
	return !strncmp(path, "/api/", 5);
}

static enum MHD_Result answer(struct visit *v, struct MHD_Connection *connection,
			      const char *path, bool post)
{
	if (post && v->local && !strncmp(path, "/service/", 9))
		return answer_command(v, connection, path);
	if (!post && !strcmp(path, "/api/events"))
		return send_events(v, connection);
	if (is_api(path))
		return begin_job(v, connection, path, post);
	return send_file(v, connection, path);
}

static bool is_entrance(const struct visit *v, const char *path)
{
	return !v->local && !strcmp(path, "/enter");
}

static struct verdict judge(const struct visit *v, struct MHD_Connection *connection,
			    const char *path)
{
	return v->local ? judge_local(connection) :
			  judge_loopback(v->h, connection, is_entrance(v, path));
}

static enum MHD_Result turn_away(struct visit *v, struct MHD_Connection *connection,
				 const char *path, const struct verdict *why)
{
	if (why->status == MHD_HTTP_UNAUTHORIZED && !strcmp(path, "/"))
		return send_text(connection, why->status, str_of(who_are_you), html_type);
	return refuse(v, connection, why->status, why->code, why->message, why->hint);
}

static enum MHD_Result too_large(struct visit *v, struct MHD_Connection *connection)
{
	return refuse(v, connection, MHD_HTTP_CONTENT_TOO_LARGE, "INVALID_INPUT",
		      "the body is larger than 4 MiB", "Send less at once.");
}

static enum MHD_Result admit(struct visit *v, struct MHD_Connection *connection,
			     const char *path, bool post)
{
	struct str type = header(connection, "Content-Type");

	if (is_entrance(v, path))
		return enter(v->h, connection);
	if (v->too_large)
		return too_large(v, connection);
	if (post && !str_starts(type, STR("application/json")))
		return refuse(v, connection, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
			      "INVALID_INPUT", "the Content-Type is not application/json",
			      "Send JSON, and say so.");
	return answer(v, connection, path, post);
}

static void expect(struct MHD_Connection *connection, bool expected)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct guest *guest = info ? info->socket_context : NULL;

	if (!guest)
		return;
	pthread_mutex_lock(&guest->h->mutex);
	guest->expected = expected;
	guest->since = guest->h->last = moment_ticks();
	pthread_mutex_unlock(&guest->h->mutex);
}

/* False: there is no end to it. */
static bool take_body(struct visit *v, const char *p, size_t n)
{
	size_t at = v->n;
	char *more;

	v->n += n;
	if (v->too_large || v->n > BODY_MOST || !(more = realloc(v->body, v->n))) {
		v->too_large = true;
		return v->n <= READ_MOST;
	}
	v->body = more;
	memcpy(v->body + at, p, n);
	return true;
}

static bool announces_too_much(struct MHD_Connection *connection)
{
	struct str length = header(connection, "Content-Length");

	return length.n > 9 || (length.n && strtoll(length.p, NULL, 10) > BODY_MOST);
}

static struct visit *arrive(struct http *h, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_DAEMON);
	struct visit *v = calloc(1, sizeof *v);

	if (v) {
		v->h = h;
		v->local = info && info->daemon == h->local;
	}
	return v;
}

/* Before its body comes: of what is refused not one byte is taken. */
static enum MHD_Result look_at(struct visit *v, struct MHD_Connection *connection,
			       const char *path)
{
	struct verdict verdict = judge(v, connection, path);

	if (verdict.status)
		return turn_away(v, connection, path, &verdict);
	if (announces_too_much(connection))
		return too_large(v, connection);
	return MHD_YES;
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection,
			      const char *path, const char *method, const char *version,
			      const char *data, size_t *size, void **context)
{
	struct http *h = arg;
	struct visit *v = *context;
	bool post = !strcmp(method, "POST"),
	     get = !strcmp(method, "GET") || !strcmp(method, "HEAD");

	(void)version;
	if (!v) {
		*context = v = arrive(h, connection);
		return v ? look_at(v, connection, path) : MHD_NO;
	}
	if (*size) {
		if (!take_body(v, data, *size))
			return MHD_NO;
		*size = 0;
		return MHD_YES;
	}
	expect(connection, false);
	if (v->begun)
		return send_reply(v, connection, get);
	if (!get && !post)
		return refuse(v, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "INVALID_INPUT",
			      "only GET and POST are known here", "Use one of them.");
	return admit(v, connection, path, post);
}

static void leave(void *arg, struct MHD_Connection *connection, void **context,
		  enum MHD_RequestTerminationCode why)
{
	struct visit *v = *context;

	(void)arg, (void)why;
	expect(connection, true);
	if (!v)
		return;
	arena_release(&v->mem);
	free(v->job.reply);
	free(v->body);
	free(v);
}

/* --- connections --- */

static void greet(void *arg, struct MHD_Connection *connection, void **context,
		  enum MHD_ConnectionNotificationCode what)
{
	struct http *h = arg;
	struct guest *guest = *context;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	pthread_mutex_lock(&h->mutex);
	if (what == MHD_CONNECTION_NOTIFY_STARTED && (guest = calloc(1, sizeof *guest))) {
		*guest = (struct guest){ .h = h,
					 .fd = info ? info->connect_fd : -1,
					 .expected = true,
					 .since = moment_ticks(),
					 .next = h->guests,
					 .link = &h->guests };
		guest->stranger = !peer_is_us(guest->fd);
		if (guest->next)
			guest->next->link = &guest->next;
		h->guests = guest;
		*context = guest;
	} else if (what == MHD_CONNECTION_NOTIFY_CLOSED && guest) {
		*guest->link = guest->next;
		if (guest->next)
			guest->next->link = guest->link;
		free(guest);
		*context = NULL;
	}
	pthread_mutex_unlock(&h->mutex);
}

/* Whoever sends a byte now and then would be there for ever. */
void http_sweep(struct http *h)
{
	int64_t now = moment_ticks();

	pthread_mutex_lock(&h->mutex);
	for (struct guest *g = h->guests; g; g = g->next)
		if (g->expected && now - g->since > HEAD_S * 1000)
			shutdown(g->fd, SHUT_RDWR);
	pthread_mutex_unlock(&h->mutex);
}

/* --- opening and closing --- */

static struct MHD_Daemon *listen_on(struct http *h, int fd)
{
	return MHD_start_daemon(
		MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		handle, h, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_NOTIFY_COMPLETED, leave, NULL, MHD_OPTION_NOTIFY_CONNECTION,
		greet, h, MHD_OPTION_END);
}

struct http *http_open(const struct http_ask *ask)
{
	struct http *h = calloc(1, sizeof *h);

	if (!h)
		abort();
	h->with = *ask;
	h->last = moment_ticks();
	pthread_mutex_init(&h->mutex, NULL);
	h->local = listen_on(h, ask->socket);
	if (h->local)
		return h;
	free(h);
	return NULL;
}

static int bind_loopback(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (!fcntl(fd, F_SETFD, FD_CLOEXEC) &&
	    !bind(fd, (struct sockaddr *)&at, sizeof at) && !listen(fd, 128))
		return fd;
	close(fd);
	return -1;
}

/* Where it was the last time, if it can: a page that is still open comes back then. */
int http_listen(struct http *h, int port)
{
	struct sockaddr_in at = { 0 };
	socklen_t size = sizeof at;
	int fd = -1;

	if (!port && h->with.port)
		fd = bind_loopback(h->with.port);
	if (fd < 0)
		fd = bind_loopback(port);
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&at, &size))
		return -1;
	snprintf(h->cookie, sizeof h->cookie, "abacus-%d", ntohs(at.sin_port));
	atomic_store(&h->port, ntohs(at.sin_port));
	h->loopback = listen_on(h, fd);
	if (h->loopback)
		return h->port;
	close(fd);
	atomic_store(&h->port, 0);
	return -1;
}

int64_t http_quiet_since(struct http *h)
{
	int64_t last;

	pthread_mutex_lock(&h->mutex);
	last = h->last;
	pthread_mutex_unlock(&h->mutex);
	return last;
}

void http_close_doors(struct http *h)
{
	MHD_socket fd;

	if (h->local && (fd = MHD_quiesce_daemon(h->local)) >= 0)
		close(fd);
	if (h->loopback && (fd = MHD_quiesce_daemon(h->loopback)) >= 0)
		close(fd);
}

void http_close(struct http *h)
{
	MHD_stop_daemon(h->local);
	if (h->loopback)
		MHD_stop_daemon(h->loopback);
	pthread_mutex_destroy(&h->mutex);
	free(h);
}
