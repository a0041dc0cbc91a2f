#ifndef BEADS_REPAIR_FOREIGN_H
#define BEADS_REPAIR_FOREIGN_H

#include "beads/model/snapshot.h"

struct state;

/*
 * Stores of the program that this format comes from, as they are found on refs/heads/beads/store:
 * keys in any order, registers called `workflow` and `claim`, labels and edges as sets of dots,
 * notes in a file of their own, tombstones that name a lineage, no checksums of ours.
 */
bool foreign_files(struct arena *mem, const struct snapshot *files);

/* The file that has the notes of such a store. */
#define FOREIGN_NOTES "notes.jsonl"

/* `notes` is that file; or absent. REMOTE_DAMAGED, with the file and line. */
enum err foreign_read(struct call *c, const struct snapshot *files, struct str notes,
		      struct state *out);

#endif
