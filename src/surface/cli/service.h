#ifndef SURFACE_CLI_SERVICE_H
#define SURFACE_CLI_SERVICE_H

#include "op/op.h"

struct value;
struct view;

/*
 * The client side of the local service, `abacus-serve`: where its files are, and how to send it a
 * request. No other command needs the service.
 */
struct service_place {
	struct str dir;     /* the service's folder, private to its user */
	struct str lock;    /* locked while the service runs */
	struct str address; /* a file with the address it listens on */
	struct str socket;  /* a Unix socket with a path short enough for every system */
	struct str page;    /* prefix of the files that redirect a browser to the page */
};
enum err service_place(struct call *c, struct service_place *out);

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
