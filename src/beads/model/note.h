#ifndef BEADS_MODEL_NOTE_H
#define BEADS_MODEL_NOTE_H

#include "beads/model/bead.h"

/*
 * Notes are only ever added. If two notes with the same id differ, because somebody changed a
 * published note or reused its id, both are kept. The first of them, by time, author and content,
 * keeps the id; each of the others is renamed to
 *
 * <id>~<the first half of the SHA-256 of its time, author and content>
 *
 * So the notes of a bead are a set of (id, time, author, content): the join of two sets is their
 * union, and every set has one canonical text.
 */

/* Equal, apart from the id? */
bool note_same(const struct note *a, const struct note *b);

/* Does the id have the form of a renamed note? */
bool note_id_derived(struct str id);

/* Renames notes as above, in place, sorts them by id, and removes duplicates. Returns their
 * number. */
size_t notes_normalize(struct arena *mem, struct note *note, size_t count);

#endif
