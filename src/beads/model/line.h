#ifndef BEADS_MODEL_LINE_H
#define BEADS_MODEL_LINE_H

#include "beads/model/bead.h"

/*
 * A bead as one line of canonical text, and back. `_at` and `_by` are the mark of the last write,
 * `_v` the marks of the registers that differ from it; a bead that lacks registers has all of its
 * marks in `_v`, and no `_at`.
 *
 * Decoding refuses what cannot be a bead and says why; what it accepts it normalises, so that
 * encoding it again gives the canonical text.
 */
bool line_decode(struct arena *mem, const struct value *v, struct bead *out, struct str *why);
void line_encode(struct json *j, const struct bead *b);

struct str line_text(struct arena *mem, const struct bead *b);

#endif
