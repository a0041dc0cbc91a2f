#ifndef BEADS_MODEL_LIMITS_H
#define BEADS_MODEL_LIMITS_H

#include "base/text/value.h"

struct bead;

/*
 * How large the parts of a bead may be wherever they are read: in a commit that somebody pushed,
 * in the journal, in the store of another program. Commands may write less (draft.h and below),
 * so that what two replicas write to one bead still fits once it is joined. A sync refuses to
 * join what would not fit, before it has changed anything. doc/storage.md lists the limits.
 */
enum {
	LIMIT_DEPTH = VALUE_DATA_DEPTH, /* arrays and objects inside each other */
	LIMIT_VALUES = 256 << 10,       /* JSON values in a line */
	LIMIT_NAME = 4 << 10,           /* bytes of an actor, a label, a key, an id of a note */
	LIMIT_TITLE = 64 << 10,         /* bytes of a title */
	LIMIT_TEXT = 8 << 20,           /* bytes of any other text */
	LIMIT_LABELS = 1000,            /* of a bead */
	LIMIT_NOTES = 20000,            /* of a bead */
	LIMIT_MEMBERS = 10000,          /* of a bead that this program does not know */
	LIMIT_REMAPS = 1000,            /* of one id */
	LIMIT_LINE = 32 << 20,          /* bytes of a line */
	LIMIT_EDGE = 128 << 10,         /* bytes of the line of a dependency */
	LIMIT_META = 1 << 20,           /* bytes of meta.json */
};

/* A tombstone has a whole bead inside: any bead that can be read can be deleted. */
enum {
	LIMIT_TOMBSTONE = LIMIT_LINE + LIMIT_LINE / 2,
	LIMIT_TOMBSTONE_VALUES = LIMIT_VALUES + LIMIT_VALUES / 2,
};

/* What commands may write. */
enum {
	LIMIT_OWN_NOTES = LIMIT_NOTES / 2,
	LIMIT_OWN_MEMBERS = LIMIT_MEMBERS / 2,
	LIMIT_OWN_LINE = LIMIT_LINE / 4,
	LIMIT_OWN_EDGE = LIMIT_EDGE / 8, /* of a dependency in a file that is imported */
	/* limit for a small change to a bead that is large already */
	LIMIT_OWN_FULL = LIMIT_LINE - LIMIT_LINE / 4,
	LIMIT_OWN_VALUES = LIMIT_VALUES - LIMIT_VALUES / 4,
};

/* A bead before and after a write. */
struct growth {
	struct str before; /* its line, or that of its tombstone; absent: a new bead */
	const struct bead *bead;
	struct str after; /* its line */
	bool restored;    /* the write restores a deleted bead */
	bool copied;      /* a repair copies it: any bead that can be read is allowed */
};

/* The limit that the write would exceed. */
struct excess {
	size_t count, most;
	const char *what;
};

/* Is the write within the limits? A write that adds nothing is allowed at any readable size. */
bool limits_allow(struct arena *mem, const struct growth *g, struct excess *out);

#endif
