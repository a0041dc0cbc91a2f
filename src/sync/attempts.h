#ifndef SYNC_ATTEMPTS_H
#define SYNC_ATTEMPTS_H

#include "store/receipt.h"

/*
 * Pushes of exclusive claims whose result may be unknown: the process was killed, or the connection
 * broke, after the push began. Each is noted in `exclusive.jsonl` of the store before it begins,
 * and removed once its result is known. A repeat of the request looks for them at the remote. Only
 * the holder of sync.lock reads and writes the file.
 */
struct attempt {
	struct receipt receipt; /* of the request, with the reply */
	struct str commit;      /* what was pushed */
	struct str old;         /* where the remote's ref was before; absent: nowhere */
	struct str claims;      /* JSON: the claimed beads, {"id","holder","epoch"} each */
	int64_t at_ms;
	struct attempt *next;
};

/* Attempts that are older than a week are left out. */
enum err attempts_read(struct call *c, struct str home, struct attempt **out);
enum err attempts_write(struct call *c, struct str home, const struct attempt *list);

/* Is it an attempt of this request? Without a request id the operation and arguments decide. */
bool attempt_is_of(const struct attempt *a, const struct receipt *request);

#endif
