#ifndef OPS_WORK_TRAILER_H
#define OPS_WORK_TRAILER_H

#include "beads/beads.h"

/* Adds our section to the hook prepare-commit-msg, or removes it. */
enum err trailer_hook_set(struct call *c, const struct beads *b, bool on);

#endif
