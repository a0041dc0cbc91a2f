#ifndef BEADS_RECORD_H
#define BEADS_RECORD_H

#include "base/call.h"

struct edge_row;
struct receipt;
struct state;

/*
 * A record of the journal: what one command changed, as a small state, and the
 * receipt that it left. Or what a sync brought: then `base` is a commit on this disk
 * that has all that was written before a place of the journal, and all that is in the
 * record. Members that are empty are not there.
 */
struct record {
	struct state *change;
	const struct receipt *receipts; /* one; where the journal began anew, many */
	size_t receipt_count;
	struct str base;         /* absent: it is a command's */
	int64_t segment, offset; /* the place */
	bool whole; /* the change is too large for a record: it is all in the commit */
	const struct str *gone; /* ids of which the base knows nothing any more */
	size_t gone_count;
	bool reused;                 /* of news: a tombstone gave way to a bead */
	struct edge_row *gone_edges; /* and edges */
};

struct str record_encode(struct call *c, const struct record *r);

/* Decodes into `r->change`, which the caller has made. False: why it cannot be one. */
bool record_decode(struct str json, struct record *r, struct str *why);

/* Is it one that a sync wrote? Told from its text, without decoding it. */
bool record_is_base(struct str json);

/* Does a record with this change say anything? */
bool record_empty(const struct state *change);

#endif
