#ifndef BEADS_MODEL_RECORD_H
#define BEADS_MODEL_RECORD_H

#include "base/call.h"

struct receipt;
struct state;

/*
 * A record of the journal: what one command changed, as a small state, and the receipt that it
 * left. Or what a sync brought: then `base` is a commit on this disk that has all that was
 * written before a place of the journal, and all that is in the record. Or the journal began
 * anew: then the record before it, or the record itself, has all that was written and that no
 * commit has. Members that are empty are not there.
 */
struct record {
	struct state *change;
	const struct receipt *receipts; /* one; many in the first record of a new segment */
	size_t receipt_count;
	struct str base;         /* absent: the record of a command */
	int64_t segment, offset; /* the place up to which the commit has everything */
	bool whole;     /* the changes are not in the record, and have to be read from the commit */
	bool anew;      /* the journal begins at the place */
	bool repaired;  /* a repair wrote it; records before the place may be lost */
	int64_t joined; /* records that were joined to this one; 0: it is a single one */
	int64_t since_ms; /* when the first of these was written */
	/* for encoding only; beads/undo/undo_log.h decodes both */
	const struct undo_note *undo; /* what the command replaced; or NULL */
	const struct str *undos;      /* in a shortened journal: each actor's last note, as JSON */
	size_t undo_count;
};

/* What 'bd undo' needs to know about the command that wrote a record. */
struct undo_note {
	struct str actor;
	const struct state *before; /* the values that the command replaced */
	bool final;                 /* an import or a repair, which can't be undone */
};

struct str record_encode(struct call *c, const struct record *r);

/* Decodes into `r->change`, which the caller provides. False, and why, if the text is not a
 * record. */
bool record_decode(struct str json, struct record *r, struct str *why);

/* Is this a base record? Decided from its first bytes, without decoding. */
bool record_is_base(struct str json);

/* Is there nothing in the change to record? */
bool record_empty(const struct state *change);

#endif
