#ifndef STORE_DB_BEAD_WORDS_H
#define STORE_DB_BEAD_WORDS_H

#include "base/names.h"

/* The enumerated fields of a bead; the cache stores their numbers. */

enum bead_status { BEAD_OPEN, BEAD_IN_PROGRESS, BEAD_CLOSED };
enum bead_type { BEAD_BUG, BEAD_FEATURE, BEAD_TASK, BEAD_EPIC, BEAD_CHORE };
enum edge_kind { EDGE_BLOCKS, EDGE_PARENT, EDGE_RELATED, EDGE_DISCOVERED_FROM };

extern const struct names bead_statuses, bead_types, edge_kinds;

/* The kind of an edge is text, because other programs may write unknown kinds. */
bool edge_is(struct str kind, enum edge_kind known);

#endif
