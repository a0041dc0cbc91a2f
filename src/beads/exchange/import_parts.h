#ifndef BEADS_EXCHANGE_IMPORT_PARTS_H
#define BEADS_EXCHANGE_IMPORT_PARTS_H

#include "base/call.h"
#include "base/moment.h"
#include "beads/exchange/import.h"
#include "store/db/bead_cache.h"

/* Shared by import.c, which reads the lines, and import_take.c, which joins them to the store. */

struct import_line {
	struct str file, id, text;
	size_t line;
	int64_t ms;      /* `updated_at`; 0: none */
	bool superseded; /* another line of the same id is newer */
};

struct import_run {
	struct call *c;
	const struct import_ask *ask;
	struct import_report *out;
	struct import_rename rename;
	struct arena scratch;
	struct import_line **lines, **deletions;
	size_t count, deletion_count;
	struct map by_id;               /* struct import_line */
	struct map prefixes;            /* the number of ids with this prefix, as a pointer */
	struct map lineages;            /* struct mark: when each issue was created */
	struct map gone;                /* ids of deletions */
	struct import_memory *memories; /* the last one */
	struct edge *edges;             /* to be written */
	size_t edge_count;
	struct edge_row *graph; /* all dependencies of the files */
	bool store;             /* false: there is none, and this is a dry run */
};

void import_add_deletion(struct import_run *r, struct str text, struct str id);

/* Each of these counts the lines, and writes in batches unless this is a dry run. */
enum err import_take_issues(struct import_run *r);
enum err import_take_edges(struct import_run *r);
enum err import_take_deletions(struct import_run *r);

#endif
