#ifndef BEADS_UNDO_UNDO_LOG_H
#define BEADS_UNDO_UNDO_LOG_H

#include "base/map.h"

/*
 * The last change of each actor in this clone, for 'bd undo'. The record of a command carries the
 * values that the command replaced (struct undo_note), so a crash loses neither without the other.
 * Where the journal is shortened, the last note of each actor moves to the new segment, together
 * with what its command wrote:
 *
 *	{"actor":…,"after":{"beads":[…],"deps":[…],"tombstones":[…]},"before":{…},"final":…}
 */
struct undo_log {
	struct arena *mem;
	struct str actor;     /* only the notes of this actor; absent: of all */
	struct map last;      /* by actor: struct undo_text */
	size_t count;         /* notes that were read */
	struct arena scratch; /* memory for one record at a time; the caller releases it */
};

/* Reads the notes of one record of the journal. Records have to be added in their order. */
void undo_log_add(struct undo_log *log, struct str record);

/* The last note of that actor, in the form above; absent: there is none. */
struct str undo_log_find(const struct undo_log *log, struct str actor);

/* The notes that a shortened journal keeps: the latest, in their order, as many as fit. */
struct str *undo_log_list(const struct undo_log *log, size_t *count);

#endif
