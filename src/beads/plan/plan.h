#ifndef BEADS_PLAN_PLAN_H
#define BEADS_PLAN_PLAN_H

#include "beads/draft.h"

/*
 * Beads from a Markdown file, for 'bd create -f'. Two formats are read:
 *
 * A plan: "# Epic" is a parent, "## Task" a bead below it. The paragraphs below a heading are its
 * description. Lines such as "needs: Other task, bd-a1" and checklists ("- [ ] …") among them are
 * fields and acceptance criteria. "### Priority", Type, Description, Design, Acceptance, Assignee,
 * Labels and Dependencies are sections of a bead.
 *
 * A task list, of spec-kit ("- [ ] T001 [P] [US1] …") or OpenSpec ("- [ ] 1.1 …"): every item that
 * is not checked is a bead, below the bead of its "## Phase". The order of the tasks becomes
 * dependencies; see plan_tasks.c.
 */
struct plan_bead {
	struct draft draft;
	size_t line;
	struct str ref; /* number in a task list, "T001" or "1.1"; or absent */
	struct plan_bead *parent;
	struct plan_need *needs; /* the last one first */
	struct plan_bead *next;
	int visit; /* for the search for cycles */
};

/* A dependency as written, and the bead that it names. */
struct plan_need {
	struct str kind, name;
	size_t line;
	struct plan_bead *bead; /* of the same file; NULL: a bead of the store */
	struct plan_need *next;
};

/* A bead of a plan takes about 20 KB of memory until it is stored, and a dependency 2 KB. */
enum { PLAN_BEADS_MOST = 5000, PLAN_NEEDS_MOST = 20000 };

struct bead_plan {
	struct plan_bead *first, **last;
	size_t count, needs; /* of beads and of their dependencies */
	size_t done;         /* checked items of a task list, which are left out */
};

/* INVALID_INPUT, with the file and the line. */
enum err plan_parse(struct call *c, struct str text, struct bead_plan *out);

/*
 * Adds all beads of the plan to the change, or fails: a name that is missing (NOT_FOUND) or
 * ambiguous (AMBIGUOUS_ID), a cycle (CYCLE), with the file and the line. `parent`, or absent, is
 * the id of the bead above those that have no parent in the plan.
 */
enum err plan_put(struct call *c, struct beads *b, struct bead_plan *plan, struct str parent,
		  struct state *change);

#endif
