#ifndef LIVE_ROSTER_H
#define LIVE_ROSTER_H

#include "agents/registry.h"
#include "store/board/board_agents.h"

struct board;
struct json;
struct unread;

/*
 * The agents of a project as one list, most recently seen first: those that are registered, those
 * that the board knows, and those that are both. An agent was last seen when either of them saw it.
 */
struct roster_agent {
	struct agent shown;                  /* as the board shows it, `last_seen` included */
	const struct registered *registered; /* NULL: it is not registered */
	bool on_board;
	struct roster_agent *next;
};

/* `b` is NULL if there is no board. */
enum err roster_read(struct call *c, struct agent_files *f, struct board *b,
		     struct roster_agent **out);

/* The same for a command of the board, which needs no registered agents: if they cannot be read,
 * there is a warning. */
enum err roster_of_board(struct call *c, struct board *b, struct roster_agent **out);

/* An agent as the board's commands show it; `unread` may be NULL. */
void roster_encode(struct json *j, const struct call *c, const struct roster_agent *a,
		   const struct unread *unread);

#endif
