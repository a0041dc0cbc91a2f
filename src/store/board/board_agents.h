#ifndef STORE_DB_BOARD_AGENTS_H
#define STORE_DB_BOARD_AGENTS_H

#include "base/call.h"
#include "base/names.h"

struct board;

enum agent_status {
	AGENT_IDLE,
	AGENT_PLANNING,
	AGENT_CODING,
	AGENT_TESTING,
	AGENT_REVIEWING,
	AGENT_BLOCKED,
	AGENT_OFFLINE,
};
extern const struct names agent_statuses;        /* all of them */
extern const struct names agent_active_statuses; /* statuses that an agent can choose */

struct agent {
	struct str id, current_task;
	struct str blockers; /* may be absent */
	int64_t progress;
	int status;                    /* enum agent_status */
	int64_t last_seen, updated_at; /* moments */
	struct agent *next;
};

/* All agents, most recently seen first. */
enum err agent_each(struct call *c, struct board *b, struct agent **out);

enum err agent_find(struct call *c, struct board *b, struct str id, struct agent **out);
enum err agent_put(struct call *c, struct board *b, const struct agent *a);

/*
 * Records that the agent acted: creates it if needed, sets its last-seen time, and ends its offline
 * status.
 */
enum err agent_touch(struct call *c, struct board *b, struct str id);

/* Agents last seen before a moment. */
enum err agent_count_unseen(struct call *c, struct board *b, int64_t before, int64_t *out);
enum err agent_delete_unseen(struct call *c, struct board *b, int64_t before);

/*
 * Marks agents as offline that were last seen before a moment; skipped if the database is busy or
 * the caller is writing.
 */
void agent_note_offline(struct call *c, struct board *b, int64_t before);

#endif
