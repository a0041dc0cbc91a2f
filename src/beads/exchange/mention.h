#ifndef BEADS_EXCHANGE_MENTION_H
#define BEADS_EXCHANGE_MENTION_H

#include "beads/beads.h"

/*
 * The file or folder of another tracker whose issues nobody has imported, as far as the number of
 * beads tells: it is mentioned only while the store is empty. Absent: there is none.
 */
struct str mention_find(struct call *c, const struct beads *b);

/* Adds a warning with the command that imports them. */
void mention_warn(struct call *c, const struct beads *b);

#endif
