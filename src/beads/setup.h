#ifndef BEADS_SETUP_H
#define BEADS_SETUP_H

#include "base/call.h"

struct beads;

/* An absent member means the default, or the present setting. */
struct setup_ask {
	struct str prefix; /* of ids */
	struct str ref;    /* the Git ref to publish to */
	struct str remote; /* the Git remote to publish to */
	int store;         /* of home_kinds: where a new store is created */
};

struct setup {
	const char *result; /* "created", "joined", "updated" or "exists" */
	struct str asked;   /* the requested prefix, if the store has another one */
	struct str problem; /* the problem with the remote; or absent */
	struct str step;    /* the next step; absent: autosync retries */
	bool upstream;      /* json.dialect was set, because there is a folder `.beads` */
};

/* Creates the store of a repository, or joins the beads that were published for it. An existing
 * store only gets a new prefix, ref or remote. `b` is closed on return; its paths stay valid. */
/*
 * Sets json.dialect to upstream's where there is a folder `.beads`, whose clients read that JSON,
 * unless the user has chosen a dialect. Needs the writer's lock.
 */
enum err setup_choose_dialect(struct call *c, const struct beads *b, bool *chosen);

/* The sentence that reports it. */
#define SETUP_DIALECT                                                                              \
	"this repository has a folder '.beads', so the JSON of this clone has upstream's shapes; " \
	"'bd config set json.dialect specification' changes that"

/* Is the prefix of the store the one that is chosen for a folder of this name by default? */
bool setup_prefix_is_default(struct call *c, const struct beads *b);

/* What to add to AGENTS.md. */
extern const char setup_advice[];

enum err setup_run(struct call *c, const struct setup_ask *ask, struct beads *b, struct setup *out);

#endif
