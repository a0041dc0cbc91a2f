#ifndef OPS_WORK_TRAILER_H
#define OPS_WORK_TRAILER_H

#include "beads/beads.h"

/* Adds our section to the hook prepare-commit-msg, or removes it. */
enum err trailer_hook_set(struct call *c, const struct beads *b, bool on);

/* The message with a line "Bead: ID" among its trailers, above the comments of an editor's
 * template. Absent: it has that line already, or has no text yet. */
struct str trailer_add(struct arena *mem, struct str message, struct str bead);

#endif
