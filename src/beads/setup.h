#ifndef BEADS_SETUP_H
#define BEADS_SETUP_H

#include "base/call.h"

struct beads;

/* Absent members: the default, or what is set already. */
struct setup_ask {
	struct str prefix; /* of ids */
	struct str ref;    /* the Git ref to publish to */
	struct str remote; /* the Git remote to publish to */
};

struct setup {
	const char *result; /* "created", "joined", "updated" or "exists" */
	struct str asked;   /* a prefix that was asked for, where another is in use */
	struct str problem; /* with the remote; or absent */
	struct str step;    /* what to do about it; absent: wait */
};

/*
 * Makes the store of a repository, or joins the beads that were published for it. What is there
 * stays as it is, except for a new prefix, ref or remote. `b` is closed on return, but tells
 * where the store is.
 */
enum err setup_run(struct call *c, const struct setup_ask *ask, struct beads *b, struct setup *out);

#endif
