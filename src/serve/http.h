#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include <microhttpd.h>
#include <pthread.h>

#include "serve/serve.h"

/* What the parts that speak HTTP know of each other. */

enum {
	TOKEN = 64, /* hexadecimal digits, also of a SHA-256 */
	NONCE = 32,
	INVITATIONS = 8,
};

/* A connection, while it is there. */
struct connection {
	struct http *h;
	int fd;
	bool stranger; /* another user's */
	bool expected; /* a request is to come, or the rest of it */
	int64_t since; /* ticks */
	struct connection *next, **link;
};

struct invitation {
	char code[TOKEN + 1];
	int64_t until;
	bool file; /* that leads to it, was made */
};

/* What a request came over; its thread knows it before http_open() has returned. */
struct transport {
	struct http *h;
	bool local; /* our socket, not the loopback */
};

struct http {
	struct http_ask with;
	struct transport on_socket, on_loopback;
	struct MHD_Daemon *local, *loopback, *loopback6;
	atomic_int port;           /* 0: not on the loopback */
	char name[48];             /* the page's host, of this start alone */
	char key[TOKEN + 1];       /* shared with the page */
	pthread_mutex_t listening; /* two threads may open the loopback */
	pthread_mutex_t mutex;     /* of what follows */
	struct connection *connections;
	struct invitation invitation[INVITATIONS];
	int64_t last;
};

/* A request, until its answer is on its way. */
struct http_request {
	struct http *h;
	struct arena mem;
	struct str target; /* as it was sent, not decoded */
	bool local;
	bool looked_at;            /* its headers were */
	bool closes;               /* the connection, with its answer */
	char nonce[NONCE + 1];     /* of a page that has signed it; else empty */
	char body_hash[TOKEN + 1]; /* that it has signed */
	char *body;
	size_t n;
	bool too_large;
	struct job job;
	bool begun; /* a worker has it */
	bool plain; /* its data is the answer, as it is */
};

/* --- answers: serve/answer.c --- */

extern const char json_type[], html_type[];

struct str answer_header(struct MHD_Connection *connection, const char *name);
struct str answer_argument(struct MHD_Connection *connection, const char *name);

/* Each gives the response away. */
enum MHD_Result send_off(struct http_request *v, struct MHD_Connection *connection, unsigned status,
			 struct MHD_Response *response, const char *type);
enum MHD_Result send_text(struct http_request *v, struct MHD_Connection *connection,
			  unsigned status, struct str text, const char *type);
/* Not again to a client that has it already. */
enum MHD_Result send_tagged(struct http_request *v, struct MHD_Connection *connection,
			    struct MHD_Response *response, struct str tag, const char *type);

/* Why not, and what to do. */
struct verdict {
	unsigned status; /* 0: may come in */
	const char *code, *message, *hint;
};
enum MHD_Result answer_refuse(struct http_request *v, struct MHD_Connection *connection,
			      const struct verdict *why);

/* --- who may come in: serve/auth.c --- */

struct verdict auth_check(struct http_request *v, struct MHD_Connection *connection,
			  const char *path, const char *method);
bool auth_same_secret(struct str given, const char *secret); /* of TOKEN digits */

/* Whether the body is the one whose hash the page has signed. */
bool body_is_signed(struct http_request *v);
/* Proves to the page that the answer is ours; `hash` is that of its body. */
void sign_answer(struct http_request *v, struct MHD_Response *response, unsigned status,
		 struct str hash);

/* --- how a browser gets the page's key: serve/invite.c --- */

void invitations_open(struct http *h);  /* removes what one that was killed has left */
void invitations_sweep(struct http *h); /* forgets those that are too old */
void invitations_close(struct http *h); /* forgets all of them */
bool invite_is_address(const struct http_request *v, const char *path);
enum MHD_Result invite_redeem_page(struct http_request *v, struct MHD_Connection *connection);
enum MHD_Result invite_refuse(struct http_request *v, struct MHD_Connection *connection,
			      const char *path, const struct verdict *why);

/* --- what is well-formed: serve/check.c --- */

struct verdict check_request(const struct http_request *v, struct MHD_Connection *connection,
			     const char *method, const char *version);

/* --- operations: serve/api.c --- */

bool is_api(const char *path);
enum MHD_Result begin_job(struct http_request *v, struct MHD_Connection *connection,
			  const char *path, bool post);
enum MHD_Result send_reply(struct http_request *v, struct MHD_Connection *connection, bool get);

/* --- listening: serve/listen.c --- */

/* Both loopback addresses, on that port (0: any, which it then is); no IPv6: fd6 is -1. */
bool loopback_bind(int *port, int *fd, int *fd6);

/* --- connections: serve/connection.c --- */

void connection_notify(void *arg, struct MHD_Connection *connection, void **context,
		       enum MHD_ConnectionNotificationCode what);
/* Whether a request is to come, or is being answered. */
void connection_expect(struct MHD_Connection *connection, bool expected);

#endif
