#ifndef STORE_DB_BEAD_CACHE_H
#define STORE_DB_BEAD_CACHE_H

#include "base/call.h"
#include "store/db/bead_words.h"
#include "store/db/receipt_db.h"
#include "store/journal.h"

struct db;

/*
 * `cache.db`: the beads as rows, so that questions cost no more in a large store than in a small
 * one. It is made from the journal and the published commit, says up to where it knows them, and
 * can be thrown away at any time.
 */
struct cache {
	struct db *db;
	struct str path;
	uint64_t file; /* which file it is: it may be replaced meanwhile */
	bool still;    /* it is read as if nobody wrote to it */
};

/* What the cache holds, and what else a command has to know at its start. */
struct cache_about {
	struct journal_place place; /* of the journal: all before is in the cache */
	int64_t clock_ms, clock_n;
	int64_t latest_ms; /* of any stamp, also of those that the clock does not follow */
	struct str prefix, prefix_mark;  /* and when it was chosen, by whom: JSON */
	int64_t beads;                   /* that there ever were, for the length of ids */
	int64_t cut_segment, cut_offset; /* of the journal: up to where it was cut last */
};

enum cache_mode {
	CACHE_READ,
	CACHE_WRITE,
	/*
	 * As if the file never changed, without a lock and without SQLite's shared memory, which
	 * is most of what opening it costs. Only where nothing is on its way into it; a process
	 * that does so has to look, when it is done, whether the journal has grown meanwhile.
	 * Nobody changes the file before that.
	 */
	CACHE_STILL,
};

/*
 * DAMAGED where there is none that can be used: it is missing, broken, of another version, or was
 * not written out before the system went down.
 */
enum err cache_open(struct call *c, struct str path, enum cache_mode mode, struct cache *out,
		    struct cache_about *about);
bool cache_quiet(struct call *c, struct str path);
void cache_close(struct cache *cache); /* without a commit: nothing was written */

/* A new one beside it, which cache_install() puts in its place. */
enum err cache_create(struct call *c, struct str path, struct cache *out);
enum err cache_install(struct call *c, struct cache *made, struct str path);

/* Takes it away, with its log, as `cache_<suffix>.db` beside it; none is fine. */
enum err cache_set_aside(struct call *c, struct str path, struct str suffix, struct str *kept);

/* One in memory, for where nothing can be written. */
enum err cache_create_private(struct call *c, struct cache *out);

enum err cache_about_put(struct call *c, struct cache *cache, const struct cache_about *about);
enum err cache_commit(struct call *c, struct cache *cache);

/* Is it still the file that the path names? */
bool cache_current(struct call *c, const struct cache *cache);

struct bead_row {
	int64_t n; /* its number in the cache; 0: not there */
	struct str id, title, assignee;
	int status, type;
	int64_t priority;
	int64_t created, created_n, updated; /* ms; the count within them */
	int64_t closed, lease;               /* ms; 0: not closed; no end */
	struct str line;
	struct str hash;    /* absent: nobody has asked for it since the cache was made */
	struct str text;    /* what else is searched */
	struct str *labels; /* sorted */
	size_t label_count;
	/* from the edges; kept as they are when a row is put that was there */
	int64_t blockers; /* that are not closed */
	int64_t dependencies, dependents;
	int64_t children;   /* that are not closed */
	struct str parent;  /* or absent */
	struct str waits;   /* the ids of the blockers, with commas between; or absent */
	struct str request; /* receipt_key() of the request that created it; or absent */
	struct bead_row *next;
};

/* The line of a bead, of the tombstone of an id, of an edge; absent: there is none. */
enum err cache_find_bead(struct call *c, struct cache *cache, struct str id, struct bead_row **out);
enum err cache_find_tombstone(struct call *c, struct cache *cache, struct str id, struct str *line);
enum err cache_find_edge(struct call *c, struct cache *cache, struct str from, struct str to,
			 struct str kind, struct str *line);

/* `old` is the row as it was, with its labels and its text; or NULL. */
enum err cache_put_bead(struct call *c, struct cache *cache, const struct bead_row *row,
			const struct bead_row *old);
enum err cache_drop_bead(struct call *c, struct cache *cache, const struct bead_row *old);
enum err cache_put_tombstone(struct call *c, struct cache *cache, struct str id, int64_t at,
			     struct str line); /* absent line: none */

struct edge_row {
	struct str from, to, kind, line;
	bool active;
	struct edge_row *next;
};
enum err cache_put_edge(struct call *c, struct cache *cache, const struct edge_row *row);
enum err cache_drop_edge(struct call *c, struct cache *cache, const struct edge_row *row);

/* All edges at a bead, deleted ones too. */
enum err cache_edges_of(struct call *c, struct cache *cache, struct str id, struct edge_row **out);

/* Writes the columns that follow from the edges; beads/counts.h has the rule. */
enum err cache_put_counts(struct call *c, struct cache *cache, const struct bead_row *row);

/* Do both hold the same beads, edges and tombstones? Their numbers may differ. */
enum err cache_same(struct call *c, struct cache *a, struct cache *b, bool *same);

/* The beads that a request has created, here or in another clone: their ids, sorted. */
enum err cache_find_created(struct call *c, struct cache *cache, struct str request,
			    struct str **ids, size_t *count);

/* Receipts that are in the journal: of that actor's request id; `op` is absent if there is none.
 * Older ones are in receipts.db. */
enum err cache_find_receipt(struct call *c, struct cache *cache, struct receipt *r);
enum err cache_put_receipt(struct call *c, struct cache *cache, const struct receipt *r);
enum err cache_drop_receipts(struct call *c, struct cache *cache);

#endif
