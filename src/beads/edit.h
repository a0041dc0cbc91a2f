#ifndef BEADS_EDIT_H
#define BEADS_EDIT_H

#include "beads/beads.h"
#include "beads/model/bead.h"

struct edge;
struct state;

/*
 * A change to one bead, as it is being made. Setting a member to what it is already changes
 * nothing; what does change carries the mark of the command.
 */
struct edit {
	struct call *c;
	struct beads *b;
	struct bead_row *row;
	struct bead now;    /* as it is */
	struct bead change; /* what is set */
	struct mark mark;
	bool force;                   /* the actor insists, see claim_permit() */
	const struct bead_row *batch; /* all beads of the command; NULL: only this */
};

enum err edit_begin(struct call *c, struct beads *b, struct bead_row *row, struct edit *out);

/* What is set is also later than this mark. */
void edit_after(struct edit *e, struct mark known);

/* Only if nobody has changed it since; only if the claim of that epoch still holds. */
struct guard {
	struct str if_hash;
	struct stamp epoch; /* ms is INT64_MIN: none */
	bool force;         /* even if another agent has claimed it, and so on */
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
 * Changes of a bead's status, and its end. Unless the edit is forced, each of them fails with
 * ALREADY_CLAIMED where claim_permit() does.
 */

/* Deletes it; a tombstone stays. */
enum err edit_bury(struct edit *e, struct state *change, struct str reason);

/* BLOCKED if it has open children that the same command does not close. */
enum err edit_close(struct edit *e, struct str reason);
enum err edit_reopen(struct edit *e, int status); /* enum bead_status */

/* May it be closed? As edit_close(), and BLOCKED if it has open blockers, likewise. */
enum err edit_may_close(struct edit *e);

/* An edge of this bead. CYCLE, SELF_DEPENDENCY where it cannot be. */
enum err edit_depend(struct edit *e, struct state *change, const struct bead_row *to,
		     struct str kind, bool there);

/* An edge that nothing can be written to after its last stamp. */
enum err edit_edge_at_the_end(struct call *c, struct beads *b, const struct edge *edge);

/* Adds to `change` what was set; the holder's lease goes on. */
void edit_end(struct edit *e, struct state *change);

#endif
