#ifndef BEADS_REPAIR_SALVAGE_H
#define BEADS_REPAIR_SALVAGE_H

#include "beads/model/snapshot.h"

struct json;

/*
 * Repairs damaged canonical files: reads what can be read, and returns files that are valid. Each
 * line that is not canonical is reported in the open list `report`, as
 * {"file","line","action","why","text"}. The action is `rewritten` (the same content in canonical
 * form) or `set_aside` (the line has no usable content). `aside` counts the lines that were set
 * aside.
 *
 * Memory grows with the files: valid lines are not copied.
 */
enum err salvage(struct call *c, const struct snapshot *files, struct json *report,
		 struct snapshot *out, size_t *aside);

/* A short printable form of any bytes; bytes that are not text become question marks. */
struct str salvage_shown(struct arena *mem, struct str line);

#endif
