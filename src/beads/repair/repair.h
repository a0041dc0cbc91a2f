#ifndef BEADS_REPAIR_REPAIR_H
#define BEADS_REPAIR_REPAIR_H

#include "base/call.h"

struct json;

/*
 * Repairs a damaged journal. Every record whose checksum holds is written to a new segment, also
 * those after the damage; the damaged files are kept beside it under another name. May be killed
 * at any moment, and run again.
 */
struct journal_repair {
	bool damaged; /* nothing else is set otherwise */
	bool applied;
	int64_t salvaged;  /* records that were saved */
	int64_t lost;      /* records that could not be, and are in no commit either */
	struct str suffix; /* the damaged files are called NAME.<suffix> now; or absent */
	struct str report; /* JSON: what is not as it was, one object each */
};

/* Without `apply` it only says what it would do. */
enum err repair_journal(struct call *c, bool apply, int64_t timeout_ms, struct journal_repair *out);

#endif
