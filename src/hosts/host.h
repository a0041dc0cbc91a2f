#ifndef HOSTS_HOST_H
#define HOSTS_HOST_H

#include "base/call.h"
#include "base/names.h"

/*
 * The programs in which agents live, and where each of them reads which MCP servers to start.
 * Their files belong to others: an edit keeps every other byte.
 */
enum host_id {
	HOST_CLAUDE,
	HOST_CODEX,
	HOST_CURSOR,
	HOST_GEMINI,
	HOST_KILO,
	HOST_KIMI,
	HOST_OPENCODE,
	HOST_VSCODE,
	HOST_COUNT,
};
extern const struct names hosts;

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
