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
	struct draft *next;
};

/* Adds the bead to the change, and sets its id. ALREADY_EXISTS, NOT_FOUND, … */
enum err draft_put(struct call *c, struct beads *b, struct draft *d, struct state *change);

void draft_need(struct call *c, struct draft *d, struct str kind, struct str id);
enum err draft_need_text(struct call *c, struct draft *d,
			 struct str text); /* "blocks:ID", or only "ID" */

/*
 * A bead for each "## Title" of a Markdown text, with "### Priority", Type, Description, Design,
 * Acceptance, Assignee, Labels and Dependencies below it.
 */
enum err draft_parse(struct call *c, struct str text, struct draft **out);

#endif
