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
	struct guest *guests;
	struct invitation invitation[INVITATIONS];
	int64_t last;
};

/* A request, until its answer is on its way. */
struct visit {
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
	bool begun; /* it is at a desk */
	bool plain; /* its data is the answer, as it is */
};

/* --- answers: serve_answer.c --- */

extern const char json_type[], html_type[];

struct str header(struct MHD_Connection *connection, const char *name);
struct str argument(struct MHD_Connection *connection, const char *name);

/* Each gives the response away. */
enum MHD_Result send_off(struct visit *v, struct MHD_Connection *connection, unsigned status,
			 struct MHD_Response *response, const char *type);
enum MHD_Result send_text(struct visit *v, struct MHD_Connection *connection, unsigned status,
			  struct str text, const char *type);
/* Not again to whoever has it already. */
enum MHD_Result send_tagged(struct visit *v, struct MHD_Connection *connection,
			    struct MHD_Response *response, struct str tag, const char *type);

/* Why not, and what to do. */
struct verdict {
	unsigned status; /* 0: may come in */
	const char *code, *message, *hint;
};
enum MHD_Result refuse(struct visit *v, struct MHD_Connection *connection,
		       const struct verdict *why);

/* --- who may come in: serve_auth.c --- */

struct verdict judge(struct visit *v, struct MHD_Connection *connection, const char *path,
		     const char *method);
bool same_secret(struct str given, const char *secret); /* of TOKEN digits */

/* Whether the body is the one whose hash the page has signed. */
bool body_is_signed(struct visit *v);
/* Proves to the page that the answer is ours; `hash` is that of its body. */
void sign_answer(struct visit *v, struct MHD_Response *response, unsigned status, struct str hash);

/* --- how a browser gets the page's key: serve_invite.c --- */

void invitations_open(struct http *h);  /* removes what one that was killed has left */
void invitations_sweep(struct http *h); /* forgets those that are too old */
void invitations_close(struct http *h); /* forgets all of them */
bool is_entrance(const struct visit *v, const char *path);
enum MHD_Result enter(struct visit *v, struct MHD_Connection *connection);
enum MHD_Result turn_away(struct visit *v, struct MHD_Connection *connection, const char *path,
			  const struct verdict *why);

/* --- what is well-formed: serve_check.c --- */

struct verdict check_request(const struct visit *v, struct MHD_Connection *connection,
			     const char *method, const char *version);

/* --- operations: serve_api.c --- */

bool is_api(const char *path);
enum MHD_Result begin_job(struct visit *v, struct MHD_Connection *connection, const char *path,
			  bool post);
enum MHD_Result send_reply(struct visit *v, struct MHD_Connection *connection, bool get);

/* --- listening: serve_listen.c --- */

/* Both loopback addresses, on that port (0: any, which it then is); no IPv6: fd6 is -1. */
bool loopback_bind(int *port, int *fd, int *fd6);

/* --- connections: serve_guest.c --- */

void greet(void *arg, struct MHD_Connection *connection, void **context,
	   enum MHD_ConnectionNotificationCode what);
/* Whether a request is to come, or is being answered. */
void expect(struct MHD_Connection *connection, bool expected);

#endif
