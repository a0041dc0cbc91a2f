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

/* Equal in all but the id? */
bool note_same(const struct note *a, const struct note *b);

/* Could a note be called so because another one has its id? Most ids cannot. */
bool note_id_derived(struct str id);

/* Names notes as above, in place, and sorts them by id. Returns how many are left: equal ones are
 * one note. */
size_t notes_normalize(struct arena *mem, struct note *note, size_t count);

#endif
