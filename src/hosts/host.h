#ifndef HOSTS_HOST_H
#define HOSTS_HOST_H

#include "base/call.h"
#include "base/names.h"

/*
 * The programs in which agents live, and where each of them reads which MCP servers to start.
 * Their files belong to others: an edit keeps every other byte.
 */
enum host_id {
#define HOST(NAME, word, ...) HOST_##NAME,
#include "hosts/hosts.def"
#undef HOST
	HOST_COUNT,
};
extern const struct names hosts;

/* How a host writes a server of MCP down. */
enum mcp_shape {
	MCP_STDIO,  /* {"type":"stdio","command":…,"args":[…]} */
	MCP_PLAIN,  /* {"command":…,"args":[…]} */
	MCP_LOADED, /* as stdio, and its tools are loaded from the start */
	MCP_LOCAL,  /* {"type":"local","command":[…],"enabled":true} */
	MCP_TOML,   /* command = … and args = […] in a table of its own */
};

/* How a host writes hooks down. */
enum hooks_shape {
	HOOKS_GROUPS, /* {"hooks":{EVENT:[{"matcher","hooks":[{"type","command"}]}]}} */
	HOOKS_LIST,   /* {"version":1,"hooks":{event:[{"command"}]}} */
	HOOKS_TOML,   /* [[hooks]] event = … command = … */
	HOOKS_PLUGIN, /* a file of JavaScript that is all ours */
};

/* What a hook of a host prints for the model to read. */
enum hooks_answer {
	ANSWER_OUTPUT, /* {"hookSpecificOutput":{"hookEventName","additionalContext"}} */
	ANSWER_CURSOR, /* {"additional_context","continue"} */
	ANSWER_TEXT,   /* the text itself */
};

struct host {
	struct {
		enum mcp_shape shape;
		const char *key;              /* the object, or table, that holds the servers */
		const char *const project[3]; /* the first that exists, or else the first */
		const char *const user[3];    /* below the home directory */
		const char *add;              /* the host's own command that adds a server … */
		bool scopes;                  /* … with --scope project or user … */
		bool dashes; /* … and dashes between the name and the server … */
		bool whole;  /* … or all of it as one JSON object */
	} mcp;
	struct {
		enum hooks_shape shape;
		const char *project, *user; /* or NULL */
		int timeout;                /* in the host's own unit */
		enum hooks_answer answer;
		struct hook {
			const char *event, *matcher;   /* matcher may be NULL */
			enum { UNHEARD, HEARD } heard; /* does our answer reach the model? */
		} event[12];                           /* ends with a NULL event */
	} hooks;
};
const struct host *host_row(enum host_id host);

/* What to put into a host's file: a server by this name. */
struct host_server {
	struct str name;    /* "blackboard" */
	struct str command; /* "bb" */
	struct str agent;   /* whom it serves; absent: each call says so */
	bool sole;          /* no other program has that name: whatever is there is replaced */
};

enum host_scope { HOST_PROJECT, HOST_USER };

/* The file of a scope; absent where the host has none that we may write. */
struct str host_file(struct call *c, enum host_id host, enum host_scope scope, struct str root);

/* The host's own command that does the same, where it has one; else absent. */
struct str host_command(struct call *c, enum host_id host, enum host_scope scope,
			const struct host_server *server);

/* The file's text with the server in it, or without; absent text: a new file. */
enum err host_add(struct call *c, enum host_id host, struct str text,
		  const struct host_server *server, struct str *out);
enum err host_drop(struct call *c, enum host_id host, struct str text,
		   const struct host_server *server, struct str *out);

#endif
