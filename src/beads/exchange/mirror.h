#ifndef BEADS_EXCHANGE_MIRROR_H
#define BEADS_EXCHANGE_MIRROR_H

#include "beads/beads.h"

/*
 * With the setting mirror.beads, the files .beads/issues.jsonl and .beads/metadata.json of the main
 * worktree follow the beads, for programs that read them. A background process writes them after a
 * change, once for a burst of changes. If somebody else has changed issues.jsonl, for example a
 * pull, its lines are imported before it is written again; if a line would be refused, the file is
 * left alone.
 */

/* Whether the setting is on, and there is a worktree to write to. */
bool mirror_enabled(struct call *c, const struct beads *b);

/* After a change: starts the process, unless it runs already or the mirror is off. Never fails. */
void mirror_start(struct call *c, const struct beads *b);

/* Waits until the files are up to date; nothing happens if the mirror is off. */
enum err mirror_wait(struct call *c, const struct beads *b);

/* Why the files could not be written; absent: they were, or the mirror is off. */
struct str mirror_problem(struct call *c, const struct beads *b);

/*
 * What is in the place of the folder .beads or of a file in it: a link, or a file or folder instead
 * of the other one, as a pull can bring it. Absent: the mirror can write both files.
 */
struct str mirror_in_way(struct call *c, const struct beads *b);

/* The lines of the file that are not beads: memories. */
struct buf;
struct import_report;
struct mirror_others {
	enum err (*add)(struct call *c, struct buf *out, int64_t *count); /* to an export */
	enum err (*keep)(struct call *c, struct import_report *report);   /* of an import */
};

/* The main function of the process; `wait_ms` is how long it waits for another one. */
enum err mirror_run(struct call *c, struct beads *b, int wait_ms,
		    const struct mirror_others *others);

#endif
