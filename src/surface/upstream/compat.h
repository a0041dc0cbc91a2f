#ifndef SURFACE_UPSTREAM_COMPAT_H
#define SURFACE_UPSTREAM_COMPAT_H

#include "op/op.h"

struct value;
struct view;

/*
 * The commands of bd that exist for users of upstream's bd: its hooks call them, its settings run
 * them, or its documentation teaches them. compat.def has one row for each.
 */

/* Runs a Git hook. Its status is that of the user's own hook, which upstream's bd chained to it. */
int compat_hook_start(struct call *c, const struct request *r);

/* Prints the text, or nothing. The exit status is always 0, because a failing hook would stop the
 * host. */
int compat_prime_start(struct call *c, const struct request *r);

/* The answer to a command that does not exist here: a sentence, and what to use instead. */
int compat_absent_start(struct call *c, const struct request *r);

extern const struct op op_compat_daemon, op_compat_dolt, op_compat_gate, op_compat_migrate,
	op_compat_molecule, op_compat_tracker;

void compat_view_text(struct view *v, const struct value *data);
void compat_view_message(struct view *v, const struct value *data);
void compat_view_memory(struct view *v, const struct value *data);
void compat_view_memories(struct view *v, const struct value *data);
void compat_view_duplicates(struct view *v, const struct value *data);
void compat_view_setup(struct view *v, const struct value *data);
void compat_view_merge(struct view *v, const struct value *data);
void compat_view_daemon(struct view *v, const struct value *data);
void compat_view_hooks(struct view *v, const struct value *data);

#endif
