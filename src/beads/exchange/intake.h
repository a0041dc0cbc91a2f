#ifndef BEADS_EXCHANGE_INTAKE_H
#define BEADS_EXCHANGE_INTAKE_H

#include "base/map.h"
#include "beads/model/bead.h"
#include "beads/model/edge.h"

struct value;

/*
 * A record of another tracker becomes a bead. Every reader gives its records in the shape of
 * upstream's issues.jsonl, so this is the only place that knows what a member means.
 *
 * The stamps come from the record's own times, so that the same file gives the same bead in every
 * clone and on every run. Nothing in a record is an error, apart from a missing id: a value that a
 * bead cannot have is kept as text (see UPSTREAM_KEPT), and reported.
 */

struct import_finding {
	struct str file, id;
	size_t line;
	const char *code;
	struct str message;
	struct import_finding *next;
};

struct import_findings {
	struct arena *mem;
	struct import_finding *first, **tail;
	size_t count;
	struct str file; /* of the next findings */
	size_t line;
};
void import_find(struct import_findings *f, struct str id, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The prefix of ids that `--prefix` replaces, and the new one; absent: ids stay as they are. */
struct import_rename {
	struct str old, new;
};
struct str import_renamed(struct arena *mem, const struct import_rename *r, struct str id);

struct intake {
	struct arena *mem; /* of everything below */
	int64_t now_ms;
	const struct import_rename *rename;
	struct import_findings *findings;
	/* out */
	struct bead bead; /* whole; `deleted` is set for a tombstone */
	struct edge *edge;
	struct str *edge_text; /* each edge as the file had it */
	size_t edges;
	struct map keys, comments; /* text to keep, by key and by note: struct str */
	struct str *kept;          /* dependencies to keep as text */
	size_t kept_count;
	struct str *odd; /* items of `comments` that are no comments */
	size_t odd_count;
};

/* Reads one record; `text` is what `v` was parsed from. */
void intake_read(struct intake *in, struct str text, const struct value *v);

/*
 * Keeps the text of a dependency that the store cannot have as an edge; the caller removes the
 * edge.
 */
void intake_keep_edge(struct intake *in, size_t edge);

/* Completes the bead, after the last intake_keep_edge(). */
void intake_end(struct intake *in);

/* The deletion of an id that a line of deletions.jsonl describes; false: the line has no id. */
bool intake_deletion(struct intake *in, const struct value *v);

#endif
