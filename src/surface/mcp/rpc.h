#ifndef SURFACE_MCP_RPC_H
#define SURFACE_MCP_RPC_H

#include "base/call.h"

struct json;
struct value;

/*
 * JSON-RPC 2.0 over lines of text. Messages are read ahead while one is at work, so that a
 * request can be cancelled before its turn.
 */

enum rpc_error {
	RPC_PARSE = -32700,
	RPC_REQUEST = -32600,
	RPC_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_VERSION = -32022,
};

enum { RPC_LINE_MOST = 4 * 1024 * 1024 };

/* One line of input, with the memory that it and its answer need. */
struct rpc_message {
	struct call call;
	const struct value *value; /* NULL: it was not JSON, and `why` tells why */
	const char *why;
	struct rpc_message *next;
};

struct rpc_input {
	char *p; /* what has been read and not yet been cut into lines */
	size_t n, cap;
	bool ended;    /* no more will come */
	bool skipping; /* inside a line that is too long */
	struct rpc_message *first, **last;
	size_t waiting;
	const struct value *current; /* the id of the request that is at work, or NULL */
	bool cancelled;              /* its reply is no longer wanted */
	struct listener listener;    /* hears of what comes meanwhile */
};

void rpc_open(struct rpc_input *in); /* also takes SIGINT and SIGTERM as an end */
void rpc_close(struct rpc_input *in);

/* The next message, to be released by the caller; NULL at the end. */
struct rpc_message *rpc_next(struct rpc_input *in);
void rpc_release(struct rpc_message *m);

/* Writes a whole line; false: nobody reads it, or a signal came. */
bool rpc_send(struct str line);

/* The error object of a reply, as a member of the open object. */
void rpc_put_error(struct json *j, enum rpc_error code, struct str message, struct str data);

#endif
