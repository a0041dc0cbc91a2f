#ifndef BOARD_STATUS_H
#define BOARD_STATUS_H

#include "store/board/board_agents.h"

struct board;
struct json;
struct unread;

/* The agents on the board: their status and liveness. */

enum board_liveness { BOARD_ACTIVE, BOARD_STALE, BOARD_OFFLINE };
extern const struct names board_liveness_words;

/* Active up to 5 whole minutes, stale up to 30, then offline. */
enum board_liveness board_liveness_of(int64_t last_seen, int64_t now);

/* A change that an agent makes to its own status; absent members keep their values. */
struct status_change {
	struct str current_task, blockers;
	int64_t progress; /* -1: absent */
	int status;       /* -1: absent */
};

/* Any status but `blocked` clears the blockers; blockers alone mean blocked. */
enum err status_set(struct call *c, struct board *b, const struct status_change *change,
		    struct agent **out);
enum err status_clear(struct call *c, struct board *b, struct agent **out);

/* Reads all agents. Those that have gone offline are recorded as offline too. */
enum err status_each(struct call *c, struct board *b, struct agent **out);

/*
 * Agents last seen before this time have the status `offline`: 30 minutes ago, to the millisecond.
 * Their liveness counts whole minutes, and follows within a minute.
 */
int64_t status_offline_before(int64_t now);

/* Sets the status of an agent that has gone offline, or is back; true: it has just gone. */
bool status_derive(struct agent *a, int64_t now);

/* As members of the open object; as an object. */
void agent_put_members(struct json *j, const struct call *c, const struct agent *a,
		       const struct unread *unread);
void agent_encode(struct json *j, const struct call *c, const struct agent *a,
		  const struct unread *unread);

#endif
