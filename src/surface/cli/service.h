#ifndef SURFACE_CLI_SERVICE_H
#define SURFACE_CLI_SERVICE_H

#include "op/op.h"

struct value;
struct view;

/*
 * The local service, `abacus-serve`, from outside: where one for this project is, and how to
 * speak to it. No command needs it.
 */
struct service_place {
	struct str dir;     /* what it keeps, for its user alone */
	struct str lock;    /* which it holds while it runs */
	struct str address; /* a file that tells where it listens */
	struct str socket;  /* short enough for every system */
	struct str page;    /* how the names of files begin that lead a browser to it */
};
enum err service_place(struct call *c, struct service_place *out);

/* Asks the one that runs, over its socket: a line of JSON, or absent if there is none. */
enum err service_ask(struct call *c, const struct service_place *at, const char *path,
		     struct str *reply);

/* abacus serve, abacus open */
extern const struct op op_serve, op_open;
int serve_start(struct call *c, const struct request *r);
void view_open(struct view *v, const struct value *data);

#endif
