#ifndef BEADS_MODEL_LINES_H
#define BEADS_MODEL_LINES_H

#include "beads/model/snapshot.h"

/*
 * The canonical files as sorted lines of text. What is the same in two of them is compared as
 * bytes, and never parsed.
 */

/* What a line is sorted by: an id, or edge_key(). Absent: the line has none. */
struct str lines_key(struct arena *mem, enum snapshot_file file, struct str line);

/* Where the line of that key is, without its end; or where it would be, with no bytes. */
struct str lines_find(struct arena *mem, enum snapshot_file file, struct str text, struct str key);

/* One that is not the same in both; `a` or `b` is absent where there is none. */
struct line_pair {
	struct str key, a, b;
	size_t number; /* of `b` in its file, from 1 */
};

/*
 * Visits the lines in which two texts differ. `a` is known to be sorted; where `b` is not, has a
 * line twice, or one without a key or an end, `why` says so.
 */
typedef enum err lines_visit(void *arg, const struct line_pair *pair);
enum err lines_diff(struct arena *mem, enum snapshot_file file, struct str a, struct str b,
		    lines_visit *visit, void *arg, size_t *number, struct str *why);

#endif
