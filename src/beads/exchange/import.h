#ifndef BEADS_EXCHANGE_IMPORT_H
#define BEADS_EXCHANGE_IMPORT_H

#include "base/call.h"
#include "beads/exchange/intake.h"

/*
 * Imports the issues of another tracker. The file is read twice: first every line is checked, then
 * the lines are joined to the store in batches. A line that is older than the bead changes nothing,
 * so the same file can be imported any number of times, even after the process was killed.
 */

/* A text with one JSON object per line. */
struct import_source {
	struct str file; /* its name in the report */
	struct str text;
	bool deletions;    /* the lines are those of deletions.jsonl */
	const char *unfit; /* why the reader could make no line of the file; or NULL */
	struct import_source *next;
};

struct import_ask {
	const struct import_source *sources;
	struct str prefix; /* the new prefix of all ids; absent: ids stay as they are */
	bool dry_run;      /* only reports */
	bool commanded; /* it is the actor's last change, which 'bd undo' refuses; else nobody's */
};

/* A line that is a memory, not an issue. The caller stores it and counts it. */
struct import_memory {
	struct str file, key, value;
	size_t line;
	struct import_memory *next;
};

struct import_report {
	/* `read` is the sum of the others; memories are not counted yet */
	int64_t read, created, updated, unchanged, older, tombstones, memories, refused;
	struct import_findings findings;
	struct import_memory *memory;
	struct str prefix; /* the most frequent prefix of ids; or absent */
	bool made_store;   /* there was no store before */
};

enum err import_run(struct call *c, const struct import_ask *ask, struct import_report *out);

#endif
