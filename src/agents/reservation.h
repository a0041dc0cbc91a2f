#ifndef AGENTS_RESERVATION_H
#define AGENTS_RESERVATION_H

#include "agents/registry.h"
#include "agents/scope.h"

struct json;

/*
 * Which agent has reserved which part of the project, and until when. reservation_book.h says where
 * reservations are kept. Every write also ends the reservations whose time is over.
 *
 * A new reservation has a higher epoch than all before it; a renewal keeps its epoch. So an agent
 * that names an older epoch has lost the scope in the meantime.
 */
enum reservation_state {
	RESERVATION_ACTIVE,
	RESERVATION_RELEASED,
	RESERVATION_EXPIRED,
	RESERVATION_CONTESTED, /* an earlier one of another machine overlaps: it grants nothing */
	RESERVATION_OTHER,     /* another program's word; the reservation counts as ended */
};
extern const struct names reservation_states; /* without RESERVATION_OTHER */

struct reservation {
	struct str id, scope, agent, bead;
	struct str key; /* the scope as it is compared */
	enum reservation_state state;
	int64_t created_ms, expires_ms, released_ms, epoch;
	struct str
		request; /* receipts_mark() of what made the line: reserve or release; or absent */
	struct str machine; /* the name of the machine that it was made on; absent: this one */
	struct str via;     /* the id of the machine that its line came from; or absent */
	struct str text;    /* its line in the file; absent if it is new or has changed */
	struct reservation *next;
};

/* Another agent's reservation that a new one overlaps. */
struct incursion {
	struct reservation with;
	enum overlap kind;
	enum liveness owner;
	struct incursion *next;
};

struct reserve_ask {
	struct str agent, scope, bead;
	int64_t minutes;
	int64_t until_ms; /* the latest end; 0: any. An exclusive one ends with its lease */
	int64_t epoch; /* that the remote has given to an exclusive reservation; 0: the next one */
	bool takeover, strict;
};

/* May the scope be reserved? As reservation_make(), but reserves nothing. `epoch` is that of the
 * agent's own reservation (`own`), or the highest that was ever given. */
struct reservation_outlook {
	struct str key;
	int64_t epoch;
	bool own;
};
enum err reservation_look(struct call *c, struct agent_files *f, const struct reserve_ask *ask,
			  struct reservation_outlook *out);

/* RESERVATION_CONFLICT, RESERVATION_STALE_FOUND: the details name the holder and the end. The
 * agent's own reservation of the scope is renewed. */
enum err reservation_make(struct call *c, struct agent_files *f, const struct reserve_ask *ask,
			  struct reservation **out, struct incursion **incursions);

/* RESERVATION_NOT_FOUND, RELEASE_FORBIDDEN. An epoch of 0 matches any. */
enum err reservation_release(struct call *c, struct agent_files *f, struct str agent,
			     struct str scope, int64_t epoch, struct reservation **out);

/*
 * Gives the reservations of `from` to `to`, with new epochs and at least `minutes` left: those for
 * `bead`, or all if it is absent. The caller has made sure that `from` has ended.
 */
enum err reservation_adopt(struct call *c, struct agent_files *f, struct str from, struct str to,
			   struct str bead, int64_t minutes, struct reservation **out);

/* The reservations of other machines that reservation_join() could not store. */
struct reservation_missed {
	bool waits;          /* the scope of one has a reservation here that is not in the list */
	struct str left_out; /* the machine of one for which the record has no room; or absent */
};

/*
 * Brings the reservations in line with those of all machines: `list` has each of them in the state
 * that it has among all. `changed`: the record may have lines that are not in the list yet, so an
 * end that is later here stays.
 */
enum err reservation_join(struct call *c, struct agent_files *f, const struct reservation *list,
			  bool changed, struct reservation_missed *missed);

/* The reservations whose time is not over, by scope; absent: of all agents, beads. */
enum err reservation_each(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			  struct reservation **out);

/* The same, and those whose time is over but which no write has ended yet. */
enum err reservation_each_held(struct call *c, struct agent_files *f, struct str agent,
			       struct str bead, struct reservation **out);

/* How many reservations there are and were; `live` are those that reservation_shown() returns. */
struct reservation_counts {
	int64_t active, released, expired;
};
enum err reservation_count(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			   struct reservation_counts *out, struct reservation **live);

/*
 * The expired reservations of scopes that were not reserved again: they show where agents worked.
 */
enum err reservation_each_lapsed(struct call *c, struct agent_files *f, struct reservation **out);

/* For people: a damaged record is a warning, and its readable lines count. `over`: the expired
 * reservations too. */
enum err reservation_shown(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			   bool over, struct reservation **out);

/* The liveness of the owner, to be shown. An owner that is not registered, or whose registration
 * cannot be read, counts as evicted. */
enum liveness reservation_owner(struct call *c, struct agent_files *f, const struct reservation *r);

/* As members of the open object; as an object. */
void reservation_put(struct json *j, const struct call *c, const struct reservation *r);
void reservation_encode(struct json *j, const struct call *c, const struct reservation *r);

#endif
