#ifndef OPS_UPSTREAM_UPSTREAM_OPS_H
#define OPS_UPSTREAM_UPSTREAM_OPS_H

/*
 * The operations that exist for users of upstream's bd: its hooks, its settings, and the commands
 * that its documentation teaches.
 */

#include "base/call.h"

/*
 * Imports what users of upstream's bd changed in .beads/issues.jsonl, if the setting mirror.beads
 * keeps that file up to date. A failure is no reason to disturb Git: the next call takes the file
 * in.
 */
void upstream_take_in(struct call *c);

/* Set while a chained Git hook runs, to the hook's name, so that it cannot call itself. */
#define UPSTREAM_CHAINED "ABACUS_CHAINED_HOOK"

#endif
