#include "surface/mcp/rpc_id.h"

static void rpc_id_begin(struct rpc_id *id, bool key)
{
	id->n = 0;
	id->in_key = key;
	id->in_id = false;
}

/* A character that structures the outermost object. */
static void rpc_id_structure(struct rpc_id *id, char ch)
{
	if (ch == ':') {
		id->in_id = id->in_key && str_is((struct str){ id->text, id->n }, "\"id\"");
		id->in_key = false;
		id->n = 0;
	} else {
		id->found = id->found || (id->in_id && id->n && id->n < RPC_ID_MOST);
		if (!id->found)
			rpc_id_begin(id, ch != '}');
	}
}

static void rpc_id_take(struct rpc_id *id, char ch)
{
	bool plain = !id->quoted;

	if (id->escaped)
		id->escaped = false;
	else if (id->quoted && ch == '\\')
		id->escaped = true;
	else if (ch == '"')
		id->quoted = !id->quoted;
	if (plain && (ch == '{' || ch == '[') && ++id->depth == 1) {
		rpc_id_begin(id, ch == '{');
		return;
	}
	if (plain && id->depth == 1 && (ch == ':' || ch == ',' || ch == '}' || ch == ']'))
		rpc_id_structure(id, ch);
	else if (id->depth == 1 && (id->in_key || id->in_id) && id->n < RPC_ID_MOST &&
		 !(plain && strchr(" \t\r\n", ch)))
		id->text[id->n++] = ch;
	if (plain && (ch == '}' || ch == ']'))
		id->depth--;
}

void rpc_id_scan(struct rpc_id *id, struct str piece)
{
	for (size_t i = 0; i < piece.n && !id->found; i++)
		rpc_id_take(id, piece.p[i]);
}

struct str rpc_id_text(const struct rpc_id *id)
{
	return id->found ? (struct str){ id->text, id->n } : STR_NONE;
}
