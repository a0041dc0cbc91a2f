#ifndef LIVE_LINE_ACT_H
#define LIVE_LINE_ACT_H

#include "base/str.h"

struct value;

/* The kind of the last write to a bead, from its line or from the line of a record, which has only
 * what was written: created, closed, claimed, opened, commented, changed. */
struct str line_act(const struct value *line);

#endif
