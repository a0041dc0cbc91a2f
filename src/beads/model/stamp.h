#ifndef BEADS_MODEL_STAMP_H
#define BEADS_MODEL_STAMP_H

#include <stdint.h>

#include "base/str.h"

struct json;
struct value;

/* When something was written: milliseconds, and a count within them. */
struct stamp {
	int64_t ms, n;
};

/* A stamp and who made it: the total order in which the later one wins. */
struct mark {
	struct stamp at;
	struct str by; /* absent: nothing was written */
};

int stamp_cmp(struct stamp a, struct stamp b);
int mark_cmp(struct mark a, struct mark b); /* an absent one is the least */
struct mark mark_max(struct mark a, struct mark b);

/* The next stamp of a replica after `last`: the wall clock, if that is later. */
struct stamp stamp_next(struct stamp last, int64_t now_ms);

/* How far ahead of the wall clock a replica's clock follows the stamps of others. Later stamps are
 * kept and win, but the clock does not follow them. */
#define STAMP_FOLLOWED_MS (INT64_C(24) * 3600 * 1000)

/* A mark after the horizon counts as the least of all marks, by the same actor. For settings such
 * as the prefix, so that a wrong clock cannot fix them for ever. */
struct mark mark_within(struct mark m, int64_t horizon_ms);

/* The latest stamp that a register or an edge can have; and the one after it, which only
 * deletions have: of beads with the latest stamp. */
extern const struct stamp stamp_last, stamp_end;
bool stamp_valid(struct stamp s);
bool stamp_has_later(struct stamp s); /* is there a later stamp that can be written? */

void stamp_encode(struct json *j, struct stamp s); /* [ms,n] */
bool stamp_decode(const struct value *v, struct stamp *out);
bool stamp_decode_deletion(const struct value *v, struct stamp *out); /* or stamp_end */

void mark_encode(struct json *j, struct mark m); /* [[ms,n],"by"] */
bool mark_decode(const struct value *v, struct mark *out);

#endif
