#ifndef BEADS_LIMITS_H
#define BEADS_LIMITS_H

#include "base/value.h"

/*
 * How large the parts of a bead may be wherever they are read: in a commit that somebody
 * pushed, in the journal, in the store of another program. Commands may write less
 * (draft.h), so that what two replicas write to one bead still fits once it is joined.
 * doc/storage.md lists the limits.
 */
enum {
	LIMIT_DEPTH = VALUE_DATA_DEPTH, /* arrays and objects inside each other */
	LIMIT_VALUES = 256 << 10,       /* JSON values in a line */
	LIMIT_NAME = 4 << 10,   /* bytes of an actor, a label, a key, an id of a note */
	LIMIT_TITLE = 64 << 10, /* bytes of a title */
	LIMIT_TEXT = 8 << 20,   /* bytes of any other text */
	LIMIT_LABELS = 1000,    /* of a bead */
	LIMIT_NOTES = 20000,    /* of a bead */
	LIMIT_MEMBERS = 10000,  /* of a bead that this program does not know */
	LIMIT_REMAPS = 1000,    /* of one id */
	LIMIT_LINE = 32 << 20,  /* bytes of a line; of a tombstone, half as much again */
	LIMIT_META = 1 << 20,   /* bytes of meta.json */
};

/* What commands may write. */
enum {
	LIMIT_OWN_NOTES = LIMIT_NOTES / 2,
	LIMIT_OWN_LINE = LIMIT_LINE / 4,
};

#endif
