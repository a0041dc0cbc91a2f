#ifndef BEADS_REPAIR_SALVAGE_H
#define BEADS_REPAIR_SALVAGE_H

#include "beads/model/snapshot.h"

struct json;

/*
 * Reads canonical files that are damaged, as far as they can be read, and makes sound ones of
 * them. What is done to each line that is not as it should be is written into the open list
 * `report`: {"file","line","action","why","text"}; the actions are `rewritten` (what it says is
 * kept, how it was written is not) and `set_aside` (it says nothing that can be kept). The number
 * of lines that had to be set aside is counted in `aside`.
 *
 * Memory grows with the files: a line that is sound stays the bytes that it is.
 */
enum err salvage(struct call *c, const struct snapshot *files, struct json *report,
		 struct snapshot *out, size_t *aside);

/* A short printable form of any bytes; bytes that are not text become question marks. */
struct str salvage_shown(struct arena *mem, struct str line);

#endif
