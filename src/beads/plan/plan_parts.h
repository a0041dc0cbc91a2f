#ifndef BEADS_PLAN_PLAN_PARTS_H
#define BEADS_PLAN_PLAN_PARTS_H

#include "beads/plan/plan.h"

/* What the pages of the plan share. Nothing else includes this header. */

/* The lines of a file, with what can be said of each without its context. */
struct plan_lines {
	struct str rest;
	struct str line; /* without its end */
	size_t number;
	bool fenced; /* the line is part of a fenced code block */
	bool open;   /* a code block is open after the line */
};
bool plan_next_line(struct plan_lines *l);

/* "# ", "## ", …: the level, and the text after it; 0: no heading. */
size_t plan_heading(struct str line, struct str *text);

/* "- [ ] text", behind any white space. */
bool plan_checkbox(struct str line, struct str *text, bool *done);

struct plan_bead *plan_add(struct call *c, struct bead_plan *plan, size_t line, struct str title);
void plan_need(struct call *c, struct bead_plan *plan, struct plan_bead *b, struct plan_need need);

/* Refuses a plan with too many beads or dependencies. */
enum err plan_check_size(struct call *c, const struct bead_plan *plan);

/* In lower case, for names that are compared without it. */
struct str plan_lower(struct call *c, struct str text);

/* Adds the file and the line to the recorded failure. */
enum err plan_located(struct call *c, size_t line, enum err e);

/* plan_tasks.c: is it a task list? Reads one. */
bool plan_is_tasks(struct str text);
enum err plan_parse_tasks(struct call *c, struct str text, struct bead_plan *out);

#endif
