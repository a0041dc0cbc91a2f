#ifndef BEADS_EXCHANGE_SOURCE_H
#define BEADS_EXCHANGE_SOURCE_H

#include "base/call.h"
#include "base/names.h"
#include "beads/exchange/import.h"

/*
 * Where issues of another tracker are, and who wrote them. A source gives its issues as lines in
 * the shape of upstream's issues.jsonl: the only shape that import.h reads.
 */

enum source_kind {
	SOURCE_BD,         /* JSONL of upstream's bd */
	SOURCE_BR,         /* JSONL of br, its port to Rust */
	SOURCE_BACKUP,     /* rows of upstream's tables, one file per table */
	SOURCE_SQLITE,     /* beads.db of upstream */
	SOURCE_BACKLOG,    /* Backlog.md */
	SOURCE_TASKMASTER, /* task-master */
	SOURCE_GITHUB,     /* 'gh issue list --json …' */
	SOURCE_KINDS,
};
extern const struct names source_kinds;

struct issue_source {
	enum source_kind kind;
	struct str name; /* path, for people */
	struct import_source *lines, *last;
};

/* Looks for a source in a folder; false: there is none. `path` is the file or folder. */
bool source_find(struct call *c, struct str dir, enum source_kind *kind, struct str *path);

/* Is there a Dolt database of upstream in the folder? It cannot be read here. */
bool source_has_dolt(struct call *c, struct str dir);

/*
 * Reads a source. `path` is absent to look for one in the repository, or "-" for standard input;
 * `kind` is -1 to recognise it. NOT_FOUND, INVALID_INPUT.
 */
enum err source_open(struct call *c, struct str path, int kind, struct issue_source *out);

#endif
