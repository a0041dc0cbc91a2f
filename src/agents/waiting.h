#ifndef AGENTS_WAITING_H
#define AGENTS_WAITING_H

#include "agents/mail.h"
#include "agents/reservation.h"

struct beads;

/*
 * Waits until any of several conditions holds: unread mail, a free scope, a bead with a status. A
 * condition that holds already ends the wait at once.
 */
struct bead_goal {
	struct str id;
	int status;
};

struct wait_ask {
	struct str agent;
	bool mail;
	struct mail_filter filter;
	bool oldest;              /* the oldest messages, if more than the limit fit the filter */
	const struct str *scopes; /* to be free of other agents' reservations */
	size_t scope_count;
	const struct bead_goal *beads;
	size_t bead_count;
	int64_t timeout_ms;
	/* called every few seconds, to keep changes from other machines coming; or NULL */
	void (*keep)(struct call *c);
};

/* The conditions that hold. */
struct wait_answer {
	struct mail *mail;
	struct str cursor; /* the last message that was there; or the last in `mail`, if
			      there are more */
	struct str *freed;
	size_t freed_count;
	struct bead_goal *beads;
	size_t bead_count;
	bool timed_out;   /* no condition holds */
	bool interrupted; /* no condition holds, and the caller has other input to read */
};

/* Updates the clock of the call while it waits. */
enum err wait_for(struct call *c, struct agent_files *f, const struct wait_ask *ask,
		  struct wait_answer *out);

#endif
