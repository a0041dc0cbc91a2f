#ifndef BEADS_EDIT_H
#define BEADS_EDIT_H

#include "beads/beads.h"
#include "beads/model/bead.h"

struct edge;
struct state;

/* A change to one bead. Setting a member to its present value changes nothing; a register that
 * changes gets the mark of the command. */
struct edit {
	struct call *c;
	struct beads *b;
	struct bead_row *row;
	struct bead now;    /* before the edit */
	struct bead change; /* the registers that were set */
	struct mark mark;
	bool force;                   /* see claim_permit() */
	const struct bead_row *batch; /* ids of all beads of the command; NULL: only this bead */
};

enum err edit_begin(struct call *c, struct beads *b, struct bead_row *row, struct edit *out);

/* Conditions of an edit: the bead has this hash, and the claim of this epoch still holds. */
struct guard {
	struct str if_hash;
	struct stamp epoch; /* ms is INT64_MIN: none */
	bool force;         /* overrules claims and open children or blockers */
};
enum err edit_guard(struct edit *e, const struct guard *guard);

void edit_set(struct edit *e, enum member m, struct str canonical); /* absent: null */
void edit_text(struct edit *e, enum member m, struct str text);     /* empty: null */
void edit_int(struct edit *e, enum member m, int64_t v);
void edit_word(struct edit *e, enum member m, const struct names *names, int value);
void edit_stamp(struct edit *e, enum member m, struct stamp s);
void edit_labels(struct edit *e, struct str *labels, size_t count);
void edit_note(struct edit *e, struct str content);
void edit_extra(struct edit *e, const char *key, struct str canonical); /* absent: null */
struct str edit_extra_now(const struct edit *e, const char *key);

/*
 * Changes of the status, and deletion. Each fails with ALREADY_CLAIMED where claim_permit() does.
 */

/* Deletes the bead; a tombstone stays. */
enum err edit_delete(struct edit *e, struct state *change, struct str reason);

/*
 * Restores a deleted bead, given the line of its tombstone: edit_begin_deleted() begins the edit,
 * and edit_restore() writes the bead again, unchanged, with a later mark than the deletion.
 * NOT_FOUND if the tombstone has no bead in it.
 */
enum err edit_begin_deleted(struct call *c, struct beads *b, struct str id, struct str tombstone,
			    struct edit *out, struct mark *deleted);
void edit_restore(struct edit *e, struct state *change, struct mark deleted);

/* BLOCKED if it has open children that the same command does not close. */
enum err edit_close(struct edit *e, struct str reason);
enum err edit_reopen(struct edit *e, int status); /* enum bead_status */

/* May it be closed? As edit_close(), and BLOCKED if it has open blockers, likewise. */
enum err edit_may_close(struct edit *e);

/* Adds or removes an edge of this bead. CYCLE, SELF_DEPENDENCY. */
enum err edit_depend(struct edit *e, struct state *change, const struct bead_row *to,
		     struct str kind, bool there);

/* INVALID_INPUT: the edge has the latest possible stamp, so it cannot be written to again. */
enum err edit_edge_at_the_end(struct call *c, struct beads *b, const struct edge *edge);

/* Adds the registers that were set to `change`, and renews the holder's lease. */
void edit_end(struct edit *e, struct state *change);

#endif
