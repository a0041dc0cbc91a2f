#ifndef SURFACE_MCP_MCP_H
#define SURFACE_MCP_MCP_H

#include "op/op.h"

/*
 * A server of the Model Context Protocol on standard input and output. It speaks the stateless
 * revision of 2026-07-28 and the four before it, which begin with `initialize`. Tools, resources
 * and prompts come from tables; the server itself knows none of them.
 */

/* One action of a tool that offers several operations. */
struct mcp_action {
	const char *word;
	const struct op *op;
};

enum mcp_profile {
	PROFILE_BOTH,
	PROFILE_FULL, /* listed only if all tools are requested */
	PROFILE_CORE, /* replaces several tools of the full profile */
};

/* A tool that is not listed can still be called. */
struct mcp_tool {
	const char *name;
	const struct op *op; /* NULL: see `actions` */
	enum mcp_profile profile;
	const char *help;                 /* NULL: that of the operation */
	const struct mcp_action *actions; /* chosen by the argument "action"; ends with zeros */
};

/* A resource: the reply of an operation, with a URI. */
struct mcp_resource {
	const char *uri;  /* with a final {name}, a template */
	const char *name; /* for people and models */
	const char *help;
	const struct op *op;
	size_t field;            /* template: the field that gets the value of {name} */
	const struct op *values; /* template: lists values for completion; or NULL */
	const char *value_key;   /* the member of those rows with the value */
};

/* A prompt that a user can insert into the conversation. */
struct mcp_prompt {
	const char *name, *help;
	const char *lead; /* text above the reply */
	const struct op *op;
};

struct mcp_server {
	const char *name, *title, *instructions;
	const char *prefix; /* prefix of the tools' names; tools are found without it too */
	const struct mcp_tool *tools;
	const struct mcp_resource *resources;
	const struct mcp_prompt *prompts; /* each table ends with a row of zeros */
};

/* How a server was started. */
struct mcp_options {
	struct str agent; /* or absent */
	bool full;        /* list all tools, not only the core profile */
	bool outputs;     /* list the schemas of results too */
	const int *only;  /* indexes of the tools to list */
	size_t only_count;
};

/* Serves until the input ends or SIGINT or SIGTERM arrives. */
int mcp_serve(const struct call *start, const struct mcp_server *server,
	      const struct mcp_options *options);

/* The tool with which a session of the older revisions sets its agent. */
extern const struct op op_mcp_identify;

#define MCP_MORE                                                                     \
	"Speaks the Model Context Protocol on standard input and output, revisions " \
	"2024-11-05 to 2026-07-28, until the input ends."

/* The board's resources and prompts, for any server. */
extern const struct mcp_resource board_resources[];
extern const struct mcp_prompt board_prompts[];

/* `abacus mcp`: the board and the beads */
extern const struct op op_abacus_mcp;
int abacus_mcp_start(struct call *c, const struct request *r);

/* `bb mcp` */
extern const struct op op_mcp;
int mcp_start(struct call *c, const struct request *r);

#endif
