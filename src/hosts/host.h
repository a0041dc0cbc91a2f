#ifndef HOSTS_HOST_H
#define HOSTS_HOST_H

#include "base/call.h"
#include "base/names.h"

/*
 * The hosts, which are programs that run agents, and the files in which each lists its MCP servers.
 * The files are the user's: an edit keeps every other byte.
 */
enum host_id {
#define HOST(NAME, word, ...) HOST_##NAME,
#include "hosts/hosts.def"
#undef HOST
	HOST_COUNT,
};
extern const struct names hosts;

/* How a host's file describes an MCP server. */
enum mcp_shape {
	MCP_STDIO,  /* {"type":"stdio","command":…,"args":[…]} */
	MCP_PLAIN,  /* {"command":…,"args":[…]} */
	MCP_LOADED, /* as stdio, and its tools are loaded from the start */
	MCP_LOCAL,  /* {"type":"local","command":[…],"enabled":true} */
	MCP_TOML,   /* command = … and args = […] in a table of its own */
};

/* How a host's file describes hooks. */
enum hooks_shape {
	HOOKS_GROUPS, /* {"hooks":{EVENT:[{"matcher","hooks":[{"type","command"}]}]}} */
	HOOKS_LIST,   /* {"version":1,"hooks":{event:[{"command"}]}} */
	HOOKS_TOML,   /* [[hooks]] event = … command = … */
	HOOKS_PLUGIN, /* a JavaScript file that is all ours */
};

/* How a hook returns text for the model. */
enum hooks_answer {
	ANSWER_OUTPUT, /* {"hookSpecificOutput":{"hookEventName","additionalContext"}} */
	ANSWER_BOTH,   /* the same, and "additionalContext" beside it */
	ANSWER_CURSOR, /* {"additional_context","continue"} */
	ANSWER_TEXT,   /* the text itself */
};

struct host {
	const char *program; /* NULL: it is called as the host */
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
		const char *called;         /* in the command; NULL: its word. Hosts that read
				     * one file have one command. */
		int timeout;                /* in the host's own unit */
		enum hooks_answer answer;
		struct hook {
			const char *event, *matcher; /* matcher may be NULL */
			enum {
				UNHEARD,
				HEARD
			} heard; /* whether the hook's text reaches the model */
		} event[12];     /* ends with a NULL event */
	} hooks;
};
const struct host *host_row(enum host_id host);

/* An MCP server to put into a host's file. */
struct host_server {
	struct str name;    /* "blackboard" */
	struct str command; /* "bb" */
	struct str agent;   /* the actor of all calls; absent: each call names its own */
	bool sole;          /* the name is ours alone: an existing entry is replaced */
};

enum host_scope { HOST_PROJECT, HOST_USER };

/*
 * Is the host used here? Its program is on PATH, or there is a file or folder of it in the project
 * or in the home directory.
 */
bool host_found(struct call *c, enum host_id host, struct str root);

/* The file of a scope; absent if the host has none. */
struct str host_file(struct call *c, enum host_id host, enum host_scope scope, struct str root);

/* The host's own command that adds the server; absent if it has none. */
struct str host_command(struct call *c, enum host_id host, enum host_scope scope,
			const struct host_server *server);

/* The file's text with the server in it, or without; absent text: a new file. */
enum err host_add(struct call *c, enum host_id host, struct str text,
		  const struct host_server *server, struct str *out);
enum err host_drop(struct call *c, enum host_id host, struct str text,
		   const struct host_server *server, struct str *out);

#endif
