#ifndef BEADS_MODEL_NOTE_H
#define BEADS_MODEL_NOTE_H

#include "beads/model/bead.h"

/*
 * Notes are only ever added. Two notes of one id that differ (somebody has changed a published
 * note, or has given its id to another) are both kept: the least of them, by time, author and
 * content, has the id, and each of the others is called
 *
 *	<id>~<the first half of the SHA-256 of its time, author and content>
 *
 * Such a name is only given to the note that it is computed from. So the notes of a bead are a set
 * of (id, time, author, content), whose join is the union, written in one way.
 */

/* Equal, apart from the id? */
bool note_same(const struct note *a, const struct note *b);

/* Does the id have the form of a renamed note? */
bool note_id_derived(struct str id);

/* Renames notes as above, in place, sorts them by id, and removes duplicates. Returns their
 * number. */
size_t notes_normalize(struct arena *mem, struct note *note, size_t count);

#endif
