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
 * The highest epoch, after one was seen. Anybody who can push can write any epoch, so one that no
 * count of reservations reaches does not count: one beyond the milliseconds since 1970. That limit
 * grows faster than a count, so epochs grow on after the highest one that somebody else can write.
 * The own ones, of this machine, may be a day ahead of it: each of them counts at once.
 */
int64_t reservation_epoch_raise(const struct call *c, int64_t highest, int64_t seen, bool own);

#endif
