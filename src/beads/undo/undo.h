#ifndef BEADS_UNDO_UNDO_H
#define BEADS_UNDO_UNDO_H

#include "beads/beads.h"

struct json;

/*
 * Undoes the actor's last change in this clone, as a new change: everything that it replaced gets
 * its earlier value, a bead that it created is deleted, one that it deleted is restored. So the
 * undo of an undo restores the change. Fails, and writes nothing, if the change can't be undone as
 * a whole: NOT_FOUND, there is none; INVALID_INPUT, it only added a comment or renewed a lease, or
 * it was an import or a repair; CAS_MISMATCH, a value was changed since, with the actor and the
 * time; and as edit.h says. A comment that was part of the change stays, with a warning.
 */
struct undo_options {
	struct stamp expected; /* CAS_MISMATCH unless the last change has this stamp; `ms` is
				* INT64_MIN: undoes any */
	bool force;            /* overrules later changes, claims, open blockers and children */
};

/* Joins the undo to the cache, as beads_put() does, and describes it: the members of undo_reply in
 * ops/bead/undo.c but for "undone". */
enum err undo_run(struct call *c, struct beads *b, const struct undo_options *options,
		  struct json *reply);

#endif
