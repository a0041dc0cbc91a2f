#ifndef AGENTS_WAITING_H
#define AGENTS_WAITING_H

#include "agents/mail.h"
#include "agents/reservation.h"

struct beads;

/*
 * Waits until one of several things is so: mail is there, a scope is free, a bead is in a state.
 * What is so already ends it at once.
 */
struct bead_goal {
	struct str id;
	int status;
};

struct wait_ask {
	struct str agent;
	bool mail;
	struct mail_filter filter; /* which mail, … */
	bool oldest;               /* … and the oldest if there is more than its limit */
	const struct str *scopes;  /* those that are to be free of others */
	size_t scope_count;
	const struct bead_goal *beads;
	size_t bead_count;
	int64_t timeout_ms;
};

/* What is so when it ends. */
struct wait_answer {
	struct mail *mail;
	struct str cursor; /* the last message that was there; or the last in `mail`, if
			      there are more */
	struct str *freed;
	size_t freed_count;
	struct bead_goal *beads;
	size_t bead_count;
	bool timed_out;   /* nothing is */
	bool interrupted; /* neither: the caller has something else to do */
};

/* The clock of the call goes on while it waits. */
enum err wait_for(struct call *c, struct agent_files *f, const struct wait_ask *ask,
		  struct wait_answer *out);

#endif
