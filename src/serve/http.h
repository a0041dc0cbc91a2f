#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include <microhttpd.h>
#include <pthread.h>

#include "serve/serve.h"

/* What the HTTP parts of the service share. */

enum {
	TOKEN = 64, /* hexadecimal digits: 256 bits, as a SHA-256 has */
	NONCE = 32,
	INVITATIONS = 8,
};

/* An open connection. */
struct connection {
	struct http *h;
	int fd;
	bool foreign;  /* its peer runs as another user */
	bool expected; /* must soon send a request, or read the reply to one without a key */
	int64_t since; /* ticks */
	struct connection *next, **link;
};

struct invitation {
	char code[TOKEN + 1];
	int64_t until;
	bool file; /* a file that redirects to it exists */
};

/* The socket that a request came over. Separate from struct http because a thread may use it before
 * http_open() has returned. */
struct transport {
	struct http *h;
	bool local; /* the Unix socket, not the loopback */
};

struct http {
	struct http_ask with;
	struct transport on_socket, on_loopback;
	struct MHD_Daemon *local, *loopback, *loopback6;
	atomic_int port;           /* 0: not on the loopback */
	char name[48];             /* the page's host name, new at every start */
	char key[TOKEN + 1];       /* shared with the page */
	pthread_mutex_t listening; /* two threads may open the loopback */
	pthread_mutex_t mutex;     /* protects the members below */
	struct connection *connections;
	struct invitation invitation[INVITATIONS];
	int64_t last;
};

/* A request, until its response is queued. */
struct http_request {
	struct http *h;
	struct arena mem;
	struct str target; /* as it was sent, before decoding */
	bool local;
	bool looked_at;            /* its headers were checked */
	bool closes;               /* its response closes the connection */
	bool admitted;             /* authenticated, so it counts as use of the service */
	char nonce[NONCE + 1];     /* of the page's signature; empty if it is not signed */
	char body_hash[TOKEN + 1]; /* signed by the page */
	char *body;
	size_t n;
	bool too_large;
	struct job job;
	bool begun; /* the job was given to the workers */
	bool plain; /* the response is the bare data, without {"data":…} */
};

/* --- responses: serve/answer.c --- */

extern const char json_type[], html_type[];

struct str answer_header(struct MHD_Connection *connection, const char *name);
struct str answer_argument(struct MHD_Connection *connection, const char *name);

/* Each of these takes over the response. */
enum MHD_Result send_off(struct http_request *r, struct MHD_Connection *connection, unsigned status,
			 struct MHD_Response *response, const char *type);
enum MHD_Result send_text(struct http_request *r, struct MHD_Connection *connection,
			  unsigned status, struct str text, const char *type);
/* 304 to a client that has this tag already. */
enum MHD_Result send_tagged(struct http_request *r, struct MHD_Connection *connection,
			    struct MHD_Response *response, struct str tag, const char *type);

/* An error response. */
struct refusal {
	unsigned status; /* 0: the request is accepted */
	const char *code, *message, *hint;
};
enum MHD_Result answer_refuse(struct http_request *r, struct MHD_Connection *connection,
			      const struct refusal *why);

/* --- authentication: serve/auth.c --- */

struct refusal auth_check(struct http_request *r, struct MHD_Connection *connection,
			  const char *path, const char *method);
bool auth_same_secret(struct str given, const char *secret); /* of TOKEN digits */

/* Whether the body matches the hash that the page has signed; true if the request is not signed. */
bool body_is_signed(struct http_request *r);
/* Adds the proof that the response comes from this service; `hash` is the hash of its body. */
void sign_answer(struct http_request *r, struct MHD_Response *response, unsigned status,
		 struct str hash);

/* --- invitations, by which a browser gets the page's key: serve/invite.c --- */

void invitations_open(struct http *h);  /* removes files that a killed service has left */
void invitations_sweep(struct http *h); /* removes expired invitations */
void invitations_close(struct http *h); /* removes all invitations */
bool invite_is_address(const struct http_request *r, const char *path);
enum MHD_Result invite_redeem_page(struct http_request *r, struct MHD_Connection *connection);
enum MHD_Result invite_refuse(struct http_request *r, struct MHD_Connection *connection,
			      const char *path, const struct refusal *why);

/* --- malformed requests: serve/check.c --- */

struct refusal check_request(const struct http_request *r, struct MHD_Connection *connection,
			     const char *method, const char *version);

/* Headers after a chunked body; no request needs them. */
struct refusal check_trailers(struct MHD_Connection *connection);

/* --- operations: serve/api.c --- */

bool is_api(const char *path);
/* Runs a request that a command has handed over (surface/service/handoff.h). */
enum MHD_Result begin_handed_over(struct http_request *r, struct MHD_Connection *connection);
enum MHD_Result begin_job(struct http_request *r, struct MHD_Connection *connection,
			  const char *path, bool post);
enum MHD_Result send_reply(struct http_request *r, struct MHD_Connection *connection, bool get);

/* --- listening: serve/listen.c --- */

/* Listens on 127.0.0.1 and ::1, on the same port; 0 chooses one. Without IPv6, `fd6` is -1. */
bool loopback_bind(int *port, int *fd, int *fd6);

/* --- connections: serve/connection.c --- */

void connection_notify(void *arg, struct MHD_Connection *connection, void **context,
		       enum MHD_ConnectionNotificationCode what);
/*
 * Starts or ends the time that a client has to send a request. The reply to a request without a key
 * has to be read within the same time: any user of the machine can send one. `used`: the service
 * was used now, so it does not stop soon.
 */
void connection_expect(struct MHD_Connection *connection, bool expected, bool used);

#endif
