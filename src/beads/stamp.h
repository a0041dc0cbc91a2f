#ifndef BEADS_STAMP_H
#define BEADS_STAMP_H

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

/* The next one of a replica whose last was `last`: the wall clock, if that is later. */
struct stamp stamp_next(struct stamp last, int64_t now_ms);

void stamp_encode(struct json *j, struct stamp s); /* [ms,n] */
bool stamp_decode(const struct value *v, struct stamp *out);

void mark_encode(struct json *j, struct mark m); /* [[ms,n],"by"] */
bool mark_decode(const struct value *v, struct mark *out);

#endif
