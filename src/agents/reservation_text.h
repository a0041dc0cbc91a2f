#ifndef AGENTS_RESERVATION_TEXT_H
#define AGENTS_RESERVATION_TEXT_H

#include "agents/reservation.h"

/* A reservation as text: one JSON object on one line, in the record and in the snapshot. */

/* Ends a reservation; its line is written anew. */
void reservation_expire(struct reservation *r);

/* The line of a reservation, without its end: `text` if it is unchanged. */
struct str reservation_line(struct call *c, const struct reservation *r);

/* False if the line is no reservation; then no memory is taken. An absent `key` is computed from
 * the scope. */
bool reservation_parse(struct call *c, struct str line, struct str key, struct reservation *out);

/* The same for an object of a snapshot that was parsed already. An absolute path in the project,
 * `root`, becomes a relative one. */
bool reservation_decode(struct call *c, struct str root, const struct value *v,
			struct reservation *out);

/* Two questions about a line that do not need all of it. The key: false if there is none. The
 * end: a line that cannot be read is not over. */
bool reservation_line_key(struct call *c, struct str line, struct str *key);
bool reservation_line_over(struct call *c, struct str line, struct str key);

/* One member as it stands in a line: `"agent_id":"amber-otter"`. */
struct str reservation_member(struct call *c, const char *name, struct str value);

/* Epochs count up from 1; 0 is "none". A value that leaves no room to count on is refused. */
bool reservation_epoch_valid(int64_t epoch);

/*
 * The higher one of two epochs, if `seen` counts. Anybody who can push can write any epoch, so an
 * epoch counts only below the number of milliseconds since 1970, which no number of reservations
 * reaches. That limit grows faster than epochs do, so there is always room above the highest epoch
 * that others can write. The epochs of this machine (`own`) may be a day ahead of the limit, so
 * that each of them counts at once.
 */
int64_t reservation_epoch_raise(const struct call *c, int64_t highest, int64_t seen, bool own);

#endif
