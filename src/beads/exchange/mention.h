#ifndef BEADS_EXCHANGE_MENTION_H
#define BEADS_EXCHANGE_MENTION_H

#include "beads/beads.h"

/*
 * A file or folder of another tracker that could be imported. Only an empty store mentions one,
 * because there it is certain that nothing was imported. Absent: there is none.
 */
struct str mention_find(struct call *c, const struct beads *b);

/* Adds a warning with the command that imports them. */
void mention_warn(struct call *c, const struct beads *b);

#endif
