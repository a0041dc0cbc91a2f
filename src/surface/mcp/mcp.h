#ifndef SURFACE_MCP_MCP_H
#define SURFACE_MCP_MCP_H

#include "op/op.h"

/*
 * A server of the Model Context Protocol on standard input and output. It speaks the stateless
 * revision of 2026-07-28 and the four before it, which begin with `initialize`. It knows nothing
 * of what it serves: that is in the tables.
 */

struct mcp_tool {
	const char *name;
	const struct op *op;
};

/* A reply that can be read by its address. */
struct mcp_resource {
	const char *uri;  /* with a final {name}, a template */
	const char *name; /* for people and models */
	const char *help;
	const struct op *op;
	size_t field;            /* template: what the name's value is set to */
	const struct op *values; /* template: where completion finds values; or NULL */
	const char *value_key;   /* in the rows of that reply */
};

/* Something a person can choose to put before the model. */
struct mcp_prompt {
	const char *name, *help;
	const char *lead; /* what stands above the reply */
	const struct op *op;
};

struct mcp_server {
	const char *name, *title, *instructions;
	const char *prefix; /* of the tools' names; they are known without it too */
	const struct mcp_tool *tools;
	const struct mcp_resource *resources;
	const struct mcp_prompt *prompts; /* each table ends with a row of zeros */
};

/* Serves until the input ends or a signal comes; `agent` may be absent. */
int mcp_serve(const struct call *start, const struct mcp_server *server, struct str agent);

/* The tool with which a session of the older revisions says who it is. */
extern const struct op op_mcp_identify;

/* The commands that serve take the same. */
struct mcp_body {
	struct str agent;
};
extern const struct field mcp_fields[];
#define MCP_MORE                                                                     \
	"Speaks the Model Context Protocol on standard input and output, revisions " \
	"2024-11-05 to 2026-07-28, until the input ends."

/* What the board adds to any server. */
extern const struct mcp_resource board_resources[];
extern const struct mcp_prompt board_prompts[];

/* `abacus mcp`: the board and the beads */
extern const struct op op_abacus_mcp;
int abacus_mcp_start(struct call *c, const struct request *r);

/* `bb mcp` */
extern const struct op op_mcp;
int mcp_start(struct call *c, const struct request *r);

#endif
