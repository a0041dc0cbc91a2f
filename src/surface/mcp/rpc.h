#ifndef SURFACE_MCP_RPC_H
#define SURFACE_MCP_RPC_H

#include "base/call.h"
#include "surface/mcp/rpc_id.h"

struct json;
struct value;

/*
 * JSON-RPC 2.0 over lines of text. Messages are read ahead while a request is at work, so that a
 * queued request can be cancelled before its turn.
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

/* One line of input, with the memory for it and its reply. */
struct rpc_message {
	struct call call;
	const struct value *value; /* NULL: the line is not JSON; `why` has the reason */
	const char *why;
	const struct value *id; /* of a line that is too long, if it has one */
	struct rpc_message *next;
};

/*
 * Requests that are answered later. While the input waits for messages, it also waits for these
 * descriptors, and looks after them at least twice a second.
 */
enum { RPC_BACKGROUND_MOST = 16 };
struct rpc_background {
	size_t (*fds)(void *arg, int *fd);
	bool (*tend)(void *arg); /* false: nobody reads our output */
	void (*cancel)(void *arg, const struct value *id);
	void *arg;
};

struct rpc_input {
	char *p; /* input that is not split into lines yet */
	size_t n, cap;
	bool ended;            /* end of input */
	bool skipping;         /* inside a line that is too long */
	struct rpc_id skipped; /* its id */
	struct rpc_message *first, **last;
	size_t waiting;
	const struct value *current;      /* the id of the request that is at work, or NULL */
	bool cancelled;                   /* the request at work was cancelled */
	struct listener listener;         /* reads ahead while a request is at work */
	struct rpc_background background; /* `fds` is NULL: none */
};

void rpc_open(struct rpc_input *in); /* SIGINT and SIGTERM end the input */
void rpc_close(struct rpc_input *in);

/* Waits for the next message, which the caller releases; NULL at the end. */
struct rpc_message *rpc_next(struct rpc_input *in);
void rpc_release(struct rpc_message *m);

/* Is there a message that rpc_next() would return without waiting? */
bool rpc_waiting(struct rpc_input *in);

/* Writes a whole line. Returns false if the reader is gone or a signal arrived. */
bool rpc_send(struct str line);

/* Writes the error object of a reply as a member of the open object. */
void rpc_put_error(struct json *j, enum rpc_error code, struct str message, struct str data);

#endif
