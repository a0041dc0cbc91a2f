#ifndef BEADS_REPAIR_REPAIR_H
#define BEADS_REPAIR_REPAIR_H

#include "base/call.h"

struct json;

/*
 * Repairs a damaged journal. Every record with a valid checksum is written to a new segment,
 * including those after the damage; the damaged files are kept under another name. The repair may
 * be killed at any moment, and run again.
 */
struct journal_repair {
	bool damaged; /* if false, no other member is set */
	bool applied;
	int64_t salvaged;  /* records that were saved */
	int64_t lost;      /* records that were lost, and are in no commit */
	struct str suffix; /* suffix of the names of the damaged files; or absent */
	struct str report; /* a JSON list with one object per problem */
};

/* Without `apply`, only reports what it would do. */
enum err repair_journal(struct call *c, bool apply, int64_t timeout_ms, struct journal_repair *out);

#endif
