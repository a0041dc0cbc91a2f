#ifndef AGENTS_RESERVATION_H
#define AGENTS_RESERVATION_H

#include "agents/registry.h"
#include "agents/scope.h"

struct json;

/*
 * Which part of the project is whose, until when. reservations/history.jsonl is the record: a
 * line is a reservation as it was after something happened to it. reservations/active.json is
 * what it comes to, and is made from it where it is missing. Every write archives all
 * reservations whose time is over: it records them as expired.
 *
 * Every reservation that is not a renewal has a higher epoch than all before it: who comes with
 * an older one has lost its scope in between.
 */
enum reservation_state {
	RESERVATION_ACTIVE,
	RESERVATION_RELEASED,
	RESERVATION_EXPIRED,
	RESERVATION_OTHER, /* another program's word: it is over, in a way that we do not know */
};
extern const struct names reservation_states; /* without RESERVATION_OTHER */

struct reservation {
	struct str id, scope, agent, bead;
	struct str key; /* the scope as it is compared */
	enum reservation_state state;
	int64_t created_ms, expires_ms, released_ms, epoch;
	struct str request; /* receipts_mark() of the release; or absent */
	struct str text;    /* as it is in the file; absent: it is new, or has changed */
	struct reservation *next;
};

/* Somebody else's reservation that a new one overlaps. */
struct incursion {
	struct reservation with;
	enum overlap kind;
	enum liveness owner;
	struct incursion *next;
};

struct reserve_ask {
	struct str agent, scope, bead;
	int64_t minutes;
	bool takeover, strict;
};

/*
 * RESERVATION_CONFLICT, RESERVATION_STALE_FOUND: with who has it and until when. The same agent's
 * own reservation is renewed.
 */
enum err reservation_make(struct call *c, struct agent_files *f, const struct reserve_ask *ask,
			  struct reservation **out, struct incursion **incursions);

/* RESERVATION_NOT_FOUND, RELEASE_FORBIDDEN; an epoch of 0 is any. */
enum err reservation_release(struct call *c, struct agent_files *f, struct str agent,
			     struct str scope, int64_t epoch, struct reservation **out);

/* All that `from` has becomes `to`'s, with new epochs, for at least so many minutes. The caller
 * knows that `from` is over. */
enum err reservation_adopt(struct call *c, struct agent_files *f, struct str from, struct str to,
			   int64_t minutes, struct reservation **out);

/* Those whose time is not over, by scope; absent: of all agents, beads. */
enum err reservation_each(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			  struct reservation **out);

/* The same, and those whose time is over but which no write has archived yet. */
enum err reservation_each_held(struct call *c, struct agent_files *f, struct str agent,
			       struct str bead, struct reservation **out);

/* How many there are and were; absent: of all agents, beads. */
struct reservation_counts {
	int64_t active, released, expired;
};
enum err reservation_count(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			   struct reservation_counts *out);

/* Those that were archived because their time was over, and that nobody has reserved since: where
 * agents were at work. */
enum err reservation_each_lapsed(struct call *c, struct agent_files *f, struct reservation **out);

/* For people to look at: of a damaged record, what can be read, with a warning; `over`: also
 * those whose time is over. */
enum err reservation_shown(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			   bool over, struct reservation **out);

/* What overlaps a scope that is normalised, by scope; for callers that ask more than once. */
struct book;
enum err reservation_open(struct call *c, struct agent_files *f, struct book **out);
struct reservation *reservation_overlapping(struct call *c, const struct book *b, struct str key);

/* The liveness of its owner. An owner that is not registered counts as evicted. */
enum liveness reservation_owner(struct call *c, struct agent_files *f, const struct reservation *r);

/* Into an open object, or as one. */
void reservation_put(struct json *j, const struct call *c, const struct reservation *r);
void reservation_encode(struct json *j, const struct call *c, const struct reservation *r);

/* For repairs: is it a line of the record? Which active reservations does the record lack that
 * the snapshot has? Once the record is repaired, the snapshot is made from it again; epochs are
 * still counted on from the last one that was given. */
bool reservation_line_valid(struct call *c, struct str line);
enum err reservation_missing(struct call *c, struct agent_files *f, struct str record,
			     struct str *lines, size_t *count);
enum err reservation_renew_snapshot(struct call *c, struct agent_files *f);

#endif
