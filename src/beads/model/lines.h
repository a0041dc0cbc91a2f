#ifndef BEADS_MODEL_LINES_H
#define BEADS_MODEL_LINES_H

#include "beads/model/snapshot.h"

/* The canonical files as sorted lines of text. Equal lines of two files are compared as bytes, and
 * never parsed. */

/* The sort key of a line: an id, or edge_key(). Absent: the line has none. */
struct str lines_key(struct arena *mem, enum snapshot_file file, struct str line);

/* The line of that key, without its newline; if there is none, an empty string at its place. */
struct str lines_find(struct arena *mem, enum snapshot_file file, struct str text, struct str key);

/* Two lines of one key that differ; `a` or `b` is absent if that text has no such line. */
struct line_pair {
	struct str key, a, b;
	size_t number; /* line number of `b`, from 1 */
};

/* Visits the lines in which two texts differ. `a` has to be sorted. If `b` is not sorted, has a
 * duplicate line, or a line without a key or a newline, `why` says so. */
typedef enum err lines_visit(void *arg, const struct line_pair *pair);
enum err lines_diff(struct arena *mem, enum snapshot_file file, struct str a, struct str b,
		    lines_visit *visit, void *arg, size_t *number, struct str *why);

#endif
