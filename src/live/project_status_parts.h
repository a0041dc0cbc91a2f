#ifndef LIVE_PROJECT_STATUS_PARTS_H
#define LIVE_PROJECT_STATUS_PARTS_H

#include "agents/mail.h"
#include "agents/reservation.h"
#include "agents/stuck.h"
#include "base/map.h"
#include "base/text/json.h"
#include "beads/sync_state.h"
#include "live/activity.h"
#include "live/roster.h"
#include "store/db/bead_cache.h"

/* One agent with what it holds. The holder of a bead need not be registered or on the board. */
struct agent_work {
	struct str id;
	const struct roster_agent *agent; /* NULL: only known as the holder of a bead */
	struct bead_row **bead;           /* in progress */
	struct reservation **reserved;
	size_t beads, reservations;
	int64_t unread, to_accept; /* messages */
	const struct act *last;    /* or NULL */
};

/* A list of beads, cut at the limit, and its total. */
struct bead_part {
	struct bead_row *first;
	int64_t total;
};

/* A store that could not be read. */
struct store_fault {
	const char *store;
	struct str message;
	struct store_fault *next;
};

struct project_status {
	struct call *c;
	size_t limit;
	struct agent_files files;
	struct map work; /* by agent: struct agent_work */
	bool has_beads;
	struct bead_part in_progress, ready, blocked;
	struct bead_row *held; /* the beads in progress, including those that are not shown */
	struct reservation *reserved;
	struct mail *unacked;
	struct stuck *stuck;
	struct sync_state sync;
	struct str lost; /* lost_list() */
	struct store_fault *faults;
};

/* The liveness of an agent; false: it is not known whether the agent is there. */
bool project_status_liveness(const struct project_status *p, struct str agent, enum liveness *out);

/* Writes the members "attention" and "attention_total". */
void project_attention_put(const struct project_status *p, struct json *j);

#endif
