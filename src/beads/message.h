#ifndef BEADS_MESSAGE_H
#define BEADS_MESSAGE_H

#include "base/arena.h"

struct line_change;

/*
 * The message of a commit: what happened to which beads, for readers of `git log`. One line for
 * the beads as a whole, then one for each of the first few.
 */
struct str message_of(struct arena *mem, const struct line_change *changes, size_t count);

#endif
