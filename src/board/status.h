#ifndef BOARD_STATUS_H
#define BOARD_STATUS_H

#include "store/board/board_agents.h"

struct board;
struct json;
struct unread;

/* Who is there and what they do. */

enum board_liveness { BOARD_ACTIVE, BOARD_STALE, BOARD_OFFLINE };
extern const struct names board_liveness_words;

/* Active up to 5 whole minutes, stale up to 30, then offline. */
enum board_liveness board_liveness_of(int64_t last_seen, int64_t now);

/* What an agent says of itself; absent members stay as they are. */
struct status_change {
	struct str current_task, blockers;
	int64_t progress; /* -1: absent */
	int status;       /* -1: absent */
};

/* Any status but `blocked` clears the blockers; blockers alone mean blocked. */
enum err status_set(struct call *c, struct board *b, const struct status_change *change,
		    struct agent **out);
enum err status_clear(struct call *c, struct board *b, struct agent **out);

/* One agent, or all; an agent that has gone offline is shown and noted as such. */
enum err status_get(struct call *c, struct board *b, struct str id, struct agent **out);
enum err status_each(struct call *c, struct board *b, struct agent **out);

/*
 * The status of an agent becomes `offline` if it was last seen before this: 30 minutes, to the
 * millisecond. Its liveness, which counts whole minutes, follows within the minute.
 */
int64_t status_offline_before(int64_t now);

void agent_encode(struct json *j, const struct call *c, const struct agent *a,
		  const struct unread *unread);

#endif
