#ifndef SURFACE_MCP_MCP_WAITS_H
#define SURFACE_MCP_MCP_WAITS_H

#include <sys/types.h>

#include "base/buf.h"
#include "surface/mcp/rpc.h"

/*
 * Requests that wait, such as `agent_wait`, each in a process of its own, so that the server goes
 * on answering meanwhile. A pipe brings the reply. Another pipe, which only the server holds open,
 * ends the process when the server cancels the request or dies.
 */
enum { WAITS_MOST = 16 };

struct mcp_wait {
	pid_t process;
	int reply, lifeline;
	struct buf line;     /* of the reply, so far */
	struct str id;       /* canonical JSON */
	struct str token;    /* progressToken, as JSON; or absent */
	int64_t began, told; /* ticks: the start, the last progress notification */
	bool cancelled;
	struct arena mem;
};

struct mcp_waits {
	struct mcp_wait wait[WAITS_MOST];
	size_t count;
	bool unheard; /* the reader of our output is gone */
};

/*
 * Starts a process for the request. In the new process it returns WAITS_CHILD: the caller answers
 * the request with `listener` and passes the reply to waits_answer().
 */
enum waits_result { WAITS_CHILD, WAITS_STARTED, WAITS_FULL };
enum waits_result waits_start(struct mcp_waits *w, const struct value *id,
			      const struct value *token, struct listener *listener);
_Noreturn void waits_answer(struct mcp_waits *w, struct str line);

/* Connects the waits to the input, which looks after them while it waits for messages. */
struct rpc_background waits_background(struct mcp_waits *w);

/* Ends the waits, and sends their replies unless nobody reads them. */
void waits_end(struct mcp_waits *w);

#endif
