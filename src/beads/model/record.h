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
	const struct receipt *receipts; /* one; where the journal began anew, many */
	size_t receipt_count;
	struct str base;         /* absent: it is a command's */
	int64_t segment, offset; /* the place */
	bool whole;       /* what is new in the commit is not told here, but has to be read */
	bool anew;        /* the journal begins at the place; `base` may be absent */
	bool repaired;    /* a repair wrote it: what is before the place may be lost */
	int64_t joined;   /* records that were joined to this one; 0: it is a single one */
	int64_t since_ms; /* when the first of those was written */
};

struct str record_encode(struct call *c, const struct record *r);

/* Decodes into `r->change`, which the caller has made. False: why it cannot be one. */
bool record_decode(struct str json, struct record *r, struct str *why);

/* Is it one that a sync wrote? Told from its text, without decoding it. */
bool record_is_base(struct str json);

/* Does a record with this change say anything? */
bool record_empty(const struct state *change);

#endif
