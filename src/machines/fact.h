#ifndef MACHINES_FACT_H
#define MACHINES_FACT_H

#include "base/call.h"
#include "base/names.h"
#include "beads/model/stamp.h"

struct json;
struct value;

/*
 * A fact is one line of a machine's log: who did what, and when. Facts are joined to the local
 * stores in any order, any number of times, with the same result.
 */
enum fact_kind {
	FACT_AGENT_REGISTERED,
	FACT_AGENT_SEEN,
	FACT_MESSAGE_SENT,
	FACT_MESSAGE_READ,
	FACT_MESSAGE_ACKED,
	FACT_RESERVATION_MADE,
	FACT_RESERVATION_RELEASED,
	FACT_RESERVATION_EXPIRED,
	FACT_EVENT,
	FACT_POST,
	FACT_STATUS,
	FACT_ARTIFACT,
	FACT_MEMORY_SET,
	FACT_MEMORY_DELETED,
	FACT_TASK_EVENT,
	FACT_KINDS,
};
extern const struct names fact_kinds;

/* Bounds for what other machines write, in bytes unless they say otherwise. */
enum {
	FACT_LINE_MOST = 8 << 20,
	FACT_NAME_MOST = 200,
	FACT_VALUES_MOST = 20000, /* values in one line */
	FACT_DIGEST = 32,
};

struct fact {
	struct str machine;
	int64_t seq;
	struct stamp at;
	struct str by;
	enum fact_kind kind;
	struct str subject; /* facts about one subject are joined: a message, a scope, a key */
	const struct value *data;
	const struct value *over; /* digests of the facts that this one replaces, even later ones */
	struct str line, digest;  /* a fact has its line, a kept one its digest */
	bool done;                /* it is in the local stores */
	struct fact *next;
};

/* A line is a fact, a fact of a kind that this version does not know, or malformed. */
enum fact_form { FACT_KNOWN, FACT_UNKNOWN, FACT_MALFORMED };
enum fact_form fact_parse(struct arena *mem, struct str machine, struct str line, struct fact *out);

/*
 * A copy that takes little memory: a parsed line takes many times its size. It has no line, and of
 * its data only these members, the list of which ends with NULL, if they are strings or numbers.
 */
struct fact *fact_keep(struct arena *mem, const struct fact *f, const char *const *members);

/* The line, in the canonical form of RFC 8785; `data` is a JSON object. */
struct str fact_line(struct arena *mem, const struct fact *f, struct str data);

/* The global name of a row that has a number on its own machine: "<machine>:<number>". */
struct str fact_global(struct arena *mem, struct str machine, int64_t number);

/* The subject of a memory entry. */
struct str fact_memory_key(struct arena *mem, struct str scope, struct str id, struct str key);

/* The order in which the last writer wins: by stamp, then by actor, then by machine. */
int fact_cmp(const struct fact *a, const struct fact *b);

/* The name of a fact in the `over` of another one. */
struct str fact_digest(struct arena *mem, struct str line);

/*
 * The kept fact that determines the current value of its subject; NULL: the list is empty. The last
 * fact of each machine counts, and the latest of these wins, unless another one names it in `over`.
 * That is needed because no stamp is later than the last possible one: a change to a value with
 * that stamp names the facts that it replaces.
 */
const struct fact *fact_last(struct arena *mem, const struct fact *list);

#endif
