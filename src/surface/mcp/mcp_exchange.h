#ifndef SURFACE_MCP_MCP_EXCHANGE_H
#define SURFACE_MCP_MCP_EXCHANGE_H

#include "base/text/json.h"
#include "base/text/value.h"
#include "surface/mcp/mcp.h"
#include "surface/mcp/mcp_waits.h"
#include "surface/mcp/rpc.h"

/* Declarations shared by the files of the MCP server, and used by no other file. */

#define META(name) "io.modelcontextprotocol/" name

/*
 * State that outlives a request. The stateless revision uses all of it except `identified` and
 * `version`.
 */
struct session {
	const struct listener *listener;
	const struct call *start;
	const struct mcp_server *server;
	const struct mcp_options *options;
	struct str fixed, from_env; /* identities given when the server was started */
	struct str identified;      /* set with op_mcp_identify, after `initialize`; owned */
	struct mcp_waits waits;
	const char *version; /* protocol version of that session; NULL: no session began */
};

/* One request and the reply that is being written. */
struct exchange {
	struct session *s;
	struct call *c;
	const struct value *id, *params;
	bool stateless;
	struct json reply;
};

/* The members of the result are written to x->reply between begin_result() and end_result(). */
void begin_result(struct exchange *x);

/* `meta` is a JSON object whose members are added to the result's `_meta`; it may be absent. */
enum cacheable { NOT_CACHEABLE, CHANGES_ALWAYS, CHANGES_NEVER };
void end_result(struct exchange *x, struct str meta, enum cacheable cacheable);

/* Writes the server's name and version as a value. */
void put_info(struct exchange *x);

void reply_error(struct exchange *x, enum rpc_error code, struct str message, struct str data);

/* Replies with the failure of the call, as a JSON-RPC error with our own error code in its data. */
void reply_failure(struct exchange *x, enum rpc_error code);

/*
 * Sets the actor: the one the server was started with, else the `agent` argument, else the
 * session's.
 */
void identify(struct exchange *x, const struct value *arguments);

/* The protocol's methods, grouped by file. */
enum err tools_list(struct exchange *x);
enum err tools_call(struct exchange *x);

/* May the tool wait for long? `asked`: the call has the argument "wait". */
bool tool_may_wait(const struct mcp_server *server, struct str name, bool asked);

enum err resources_list(struct exchange *x);
enum err templates_list(struct exchange *x);
enum err resources_read(struct exchange *x);
enum err complete(struct exchange *x);
enum err prompts_list(struct exchange *x);
enum err prompts_get(struct exchange *x);

#endif
