#ifndef BEADS_MODEL_MERGE_H
#define BEADS_MODEL_MERGE_H

#include "beads/model/snapshot.h"
#include "beads/model/state.h"
#include "beads/model/visits.h"

/*
 * The join of canonical files without reading all of them: lines that are the same on all sides,
 * and of which the change does not speak, stay bytes. What differs is decoded, with whatever the
 * join has to know beside it, joined as states, and put back in its place. Memory grows with what
 * differs.
 *
 * All but the change has to be canonical; that of sides after the first is checked.
 */

/* A line that differs from the first side. */
struct line_change {
	enum snapshot_file file;
	struct str key, old, new; /* before and after; absent: there is none */
};

enum { MERGE_SIDES = 2 };

struct merge {
	struct call *c;
	struct arena *mem; /* for the result; NULL: that of the call */
	struct snapshot side[MERGE_SIDES];
	size_t sides;
	const struct state *change; /* or NULL */
	int64_t collect_before;     /* ms; deletions before it are collected; 0: none */

	/* the result */
	struct line_change *changes; /* by file and key */
	size_t count;
	struct state *joined; /* the lines that were decoded; its prefix is that of the result */
	bool meta_changed;    /* the prefix is not that of the first side */
	size_t decoded;       /* lines */

	/* temporary */
	struct state *part[MERGE_SIDES];
	struct map ids, edges;
	struct visits visits;
	struct map ends; /* by id: a list of struct end_edge; built on demand */
	struct arena scratch;
	struct arena line; /* for one */
};

/* REMOTE_DAMAGED, with the file and the line. */
enum err merge_run(struct merge *m);

/* The resulting file: runs of bytes of the first side with new lines between them. */
struct pieces {
	struct str *piece;
	size_t count;
};
struct pieces merge_file(const struct merge *m, enum snapshot_file file);

/* All resulting files, and meta.json with their checksums. */
struct snapshot merge_files(const struct merge *m);

/* The ids that have lines in both state.jsonl and tombstones.jsonl, or lines that name other ids.
 * Used as the change of a merge, they make it join the lines of one id. */
struct state *merge_own_ids(struct arena *mem, const struct snapshot *files);

bool merge_touches(const struct merge *m, enum snapshot_file file);

/* The change of the line of that key; NULL: unchanged. */
const struct line_change *merge_change(const struct merge *m, enum snapshot_file file,
				       struct str key);

#endif
