#ifndef SURFACE_MCP_RPC_ID_H
#define SURFACE_MCP_RPC_ID_H

#include "base/str.h"

/*
 * Finds the id of a request that is too long to be kept, piece by piece: the value of the member
 * "id" of the outermost object, wherever it stands in the line.
 */
enum { RPC_ID_MOST = 200 };

struct rpc_id {
	int depth;
	bool quoted, escaped;
	bool in_key; /* between members of the outermost object and the colon */
	bool in_id;  /* inside of the value */
	bool found;  /* `text` is complete */
	char text[RPC_ID_MOST];
	size_t n;
};

void rpc_id_scan(struct rpc_id *id, struct str piece);

/* The value as JSON; absent: not found, or not a string or a number. */
struct str rpc_id_text(const struct rpc_id *id);

#endif
