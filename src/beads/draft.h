#ifndef BEADS_DRAFT_H
#define BEADS_DRAFT_H

#include "beads/beads.h"
#include "beads/model/bead.h"

struct state;

enum { TITLE_MOST = 1000, WORD_MOST = 200, NAME_MOST = 256, TEXT_MOST = 1024 * 1024 };

/* A bead to create. */
struct draft {
	struct str text[MEMBERS];      /* text members with a register of their own */
	struct str extension[MEMBERS]; /* extensions, as canonical JSON */
	struct str assignee;
	struct str id; /* absent: an id is generated */
	int type;      /* enum bead_type */
	int64_t priority;
	struct str *labels;
	size_t label_count;
	struct need {
		struct str kind, id; /* dependencies, as the user wrote them */
	} * needs;
	size_t need_count;
	struct str rank, project; /* members of vybe, as canonical JSON; or absent */
	int64_t order;            /* its number among the beads of one command */
};

/* Adds the bead to the change, and sets its id. ALREADY_EXISTS, NOT_FOUND, … */
enum err draft_put(struct call *c, struct beads *b, struct draft *d, struct state *change);

/* The same in two steps, for beads that depend on each other: first all beads, then their
 * dependencies. */
enum err draft_put_bead(struct call *c, struct beads *b, struct draft *d, struct state *change);
enum err draft_put_needs(struct call *c, struct beads *b, const struct draft *d,
			 struct state *change);

void draft_need(struct call *c, struct draft *d, struct str kind, struct str id);
enum err draft_need_text(struct call *c, struct draft *d,
			 struct str text); /* "blocks:ID", or only "ID" */

#endif
