#ifndef BEADS_EXCHANGE_EXPORT_LINE_H
#define BEADS_EXCHANGE_EXPORT_LINE_H

#include "beads/model/bead.h"
#include "beads/model/edge.h"
#include "store/db/bead_cache.h"

struct export_issue {
	const struct bead *bead;
	const struct bead_row *row; /* NULL: the bead is deleted */
	struct edge *edge;          /* active ones that lead from it, sorted */
	size_t edges;
};

/* A line of upstream's issues.jsonl, without its newline. */
struct str export_line(struct arena *mem, const struct export_issue *issue);

/* A comment as upstream's lines have it. */
struct str export_comment(struct arena *mem, struct str issue, const struct note *note);

/* The last write to anything but the comments, which have times of their own. */
struct mark export_changed(const struct bead *b);

#endif
