#ifndef AGENTS_CURRENT_H
#define AGENTS_CURRENT_H

#include "base/call.h"
#include "beads/model/stamp.h"

struct beads;

/*
 * The bead that an agent works on since 'abacus work ID': a file for each agent, in the folder
 * `work` of the store. It is written before anything else is done, and marked as begun only when
 * everything is done, so that an interrupted command can be completed.
 */
struct current {
	struct str agent, bead; /* an absent bead: the agent works on none */
	struct mark created;    /* of the bead: tells it from another one with its id; or absent */
	struct str was;         /* the bead's id when the work began, if a merge moved it */
	struct str branch;      /* or absent */
	struct str tree;        /* the root of the worktree in which the agent works */
	bool begun;             /* claim, reservations and branch were all made */
	bool linked;            /* the worktree was made for the bead */
	int64_t since_ms;
	struct current *next;
};

enum err current_find(struct call *c, struct str home, struct str agent, struct current *out);
enum err current_put(struct call *c, struct str home, const struct current *one);

/*
 * A merge may have given the id to another bead, which was created earlier elsewhere: then `bead`
 * becomes the id that the agent's bead has now, and `was` the old one.
 */
enum err current_follow(struct call *c, struct beads *b, struct current *one);

enum err current_drop(struct call *c, struct str home, struct str agent);
enum err current_each(struct call *c, struct str home, struct current **out);

/* For 'abacus doctor': finds files that cannot be parsed; with --fix, renames them. */
struct mend;
enum err current_mend(struct call *c, struct str home, struct mend *m);

/* The current bead of the call's actor, for a parameter that was not given; absent: none. Never
 * fails. */
struct str current_bead(struct call *c);

#endif
