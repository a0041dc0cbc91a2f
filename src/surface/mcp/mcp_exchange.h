#ifndef SURFACE_MCP_MCP_EXCHANGE_H
#define SURFACE_MCP_MCP_EXCHANGE_H

#include "base/text/json.h"
#include "base/text/value.h"
#include "surface/mcp/mcp.h"
#include "surface/mcp/rpc.h"

/* What the parts of the MCP server share; nobody else includes this. */

#define META(name) "io.modelcontextprotocol/" name

/* What outlives a request. The stateless revision uses none of it but the start. */
struct session {
	const struct listener *listener;
	const struct call *start;
	const struct mcp_server *server;
	struct str fixed, from_env; /* identities given when the server was started */
	struct str identified;      /* by a session that began with `initialize`; owned */
	const char *version;        /* of that session; NULL: none began */
};

/* One request and the reply that is being written. */
struct exchange {
	struct session *s;
	struct call *c;
	const struct value *id, *params;
	bool stateless;
	struct json reply;
};

/* Between the two, the members of the result are written to x->reply. */
void begin_result(struct exchange *x);

/* `meta` is a JSON object whose members go into the result's; it may be absent. */
enum cacheable { NOT_CACHEABLE, CHANGES_ALWAYS, CHANGES_NEVER };
void end_result(struct exchange *x, struct str meta, enum cacheable cacheable);

/* The server's name and version, as a value. */
void put_info(struct exchange *x);

void reply_error(struct exchange *x, enum rpc_error code, struct str message, struct str data);

/* What went wrong below, as a JSON-RPC error with our own code beside it. */
void reply_failure(struct exchange *x, enum rpc_error code);

/* Sets who calls: as the server was started, else what the call says, else the session. */
void identify(struct exchange *x, const struct value *arguments);

/* The methods, by the file that has them. */
enum err tools_list(struct exchange *x);
enum err tools_call(struct exchange *x);
enum err resources_list(struct exchange *x);
enum err templates_list(struct exchange *x);
enum err resources_read(struct exchange *x);
enum err complete(struct exchange *x);
enum err prompts_list(struct exchange *x);
enum err prompts_get(struct exchange *x);

#endif
