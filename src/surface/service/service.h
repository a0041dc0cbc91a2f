#ifndef SURFACE_SERVICE_SERVICE_H
#define SURFACE_SERVICE_SERVICE_H

#include "op/op.h"

struct value;
struct view;

/*
 * The client side of the local service, `abacus-serve`: where its files are, and how to send it a
 * request. No other command needs the service; one that may not write to the stores hands its
 * request over to it (handoff.h).
 */
struct service_place {
	struct str dir;     /* the service's folder, private to its user */
	struct str lock;    /* locked while the service runs */
	struct str address; /* a file with the address it listens on */
	struct str socket;  /* a Unix socket with a path short enough for every system */
	struct str page;    /* prefix of the files that redirect a browser to the page; absent: no
			     * folder of the user is safe for them, or service_find() was called */
};
enum err service_place(struct call *c, struct service_place *out); /* creates the folders */
enum err service_find(struct call *c, struct service_place *out);  /* creates nothing */

/* A request to the service. */
struct service_message {
	const char *path;
	struct str body;
	int patience_s; /* how long to wait for the reply; 0: for ever */
};

/*
 * Sends a request to the running service over its socket. False: no service of this user runs for
 * the project, or it cannot be reached. True with an absent reply: it may have run the request.
 */
bool service_send(struct call *c, const struct service_place *at, const struct service_message *m,
		  struct str *reply);

/*
 * Sends a request to the running service over its socket. The reply is a line of JSON, or absent if
 * no service runs.
 */
enum err service_ask(struct call *c, const struct service_place *at, const char *path,
		     struct str *reply);

/* abacus serve, abacus open */
extern const struct op op_serve, op_open;
int serve_start(struct call *c, const struct request *r);
void view_open(struct view *v, const struct value *data);

#endif
