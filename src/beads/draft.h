#ifndef BEADS_DRAFT_H
#define BEADS_DRAFT_H

#include "beads/beads.h"
#include "beads/model/bead.h"

struct state;

enum { TITLE_MOST = 1000, WORD_MOST = 200, NAME_MOST = 256, TEXT_MOST = 1024 * 1024 };

/* A bead that is to be created. */
struct draft {
	struct str text[MEMBERS]; /* of those that are text and merged by themselves */
	struct str assignee;
	struct str id; /* absent: a new one is made */
	int type;      /* enum bead_type */
	int64_t priority;
	struct str *labels;
	size_t label_count;
	struct need {
		struct str kind, id; /* what it depends on, as it was given */
	} * needs;
	size_t need_count;
	struct str rank, project; /* canonical JSON of members that others keep; or absent */
	int64_t order;            /* among those of one command */
	struct draft *next;
};

/* Adds the bead to the change; its id is set. ALREADY_EXISTS, NOT_FOUND, … */
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
