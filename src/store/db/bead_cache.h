#ifndef STORE_DB_BEAD_CACHE_H
#define STORE_DB_BEAD_CACHE_H

#include "base/call.h"
#include "store/db/bead_words.h"
#include "store/db/receipt_db.h"
#include "store/journal.h"

struct db;

/*
 * `cache.db`: the beads as rows, so that queries are as fast in a large store as in a small one. It
 * is built from the journal and the published commit, records its position in the journal, and can
 * be deleted at any time.
 */
struct cache {
	struct db *db;
	struct str path;
	uint64_t file;     /* identifies the file, which may be replaced meanwhile */
	bool still;        /* opened as a file that does not change */
	bool counts_later; /* a new cache: cache_install() counts beads and pairs words */
};

/* The state of the cache, and other values that a command needs at its start. */
struct cache_about {
	struct journal_place place; /* journal position: all records before it are in the cache */
	int64_t clock_ms, clock_n;
	int64_t latest_ms; /* the latest time of any record, even of those that the clock ignores */
	struct str prefix, prefix_mark; /* the mark is JSON: chosen when, by whom */
	int64_t beads; /* number of beads ever created; determines the length of ids */
	int64_t cut_segment, cut_offset; /* journal position of the last truncation */
};

enum cache_mode {
	CACHE_READ,
	CACHE_WRITE,
	/*
	 * Reads the file as if it never changed, without a lock and without SQLite's shared memory,
	 * which are most of the cost of opening. Only if no write is pending; afterwards, the
	 * caller must check whether the journal has grown meanwhile. The file itself is not changed
	 * before that.
	 */
	CACHE_STILL,
};

/*
 * DAMAGED if there is no usable cache: it is missing, broken, of another version, or from before
 * the last boot.
 */
enum err cache_open(struct call *c, struct str path, enum cache_mode mode, struct cache *out,
		    struct cache_about *about);
bool cache_quiet(struct call *c, struct str path);
void cache_close(struct cache *cache); /* rolls back unless cache_commit() was called */

/* Creates a new cache beside the old one; cache_install() replaces the old one with it. */
enum err cache_create(struct call *c, struct str path, struct cache *out);
enum err cache_install(struct call *c, struct cache *made, struct str path);

/* Renames the cache and its log to `cache_<suffix>.db`; a missing cache is fine. */
enum err cache_set_aside(struct call *c, struct str path, struct str suffix, struct str *kept);

/* Creates a cache in memory, for read-only file systems. */
enum err cache_create_private(struct call *c, struct cache *out);

enum err cache_about_put(struct call *c, struct cache *cache, const struct cache_about *about);
enum err cache_commit(struct call *c, struct cache *cache);

/* Does the path still name the same file? */
bool cache_current(struct call *c, const struct cache *cache);

struct bead_row {
	int64_t n; /* row number in the cache; 0: not stored */
	struct str id, title, assignee;
	int status, type;
	int64_t priority;
	int64_t created, created_n, updated; /* ms; the count within them */
	int64_t closed, lease;               /* ms; 0: not closed; no lease */
	int64_t deferred;                    /* ms: not ready before this moment; 0: not deferred */
	struct str line;
	struct str hash;    /* absent: not computed since the cache was built */
	struct str text;    /* other text for the search */
	struct str tags;    /* the labels as JSON; absent: none */
	struct str *labels; /* sorted; only when it is written */
	size_t label_count;
	/* derived from the edges; not changed when an existing row is updated */
	int64_t blockers; /* blockers that are not closed */
	int64_t dependencies, dependents;
	int64_t children;   /* children that are not closed */
	struct str parent;  /* or absent */
	struct str waits;   /* comma-separated ids of the blockers; or absent */
	struct str epic;    /* the nearest epic among the parents; or absent */
	struct str request; /* receipt_key() of the request that created it; or absent */
	bool ranked;        /* it has an exact priority; only when it is written */
	struct bead_row *next;
};

/* Finds a bead, the line of a tombstone, or the line of an edge; absent: not found. */
enum err cache_find_bead(struct call *c, struct cache *cache, struct str id, struct bead_row **out);
enum err cache_find_tombstone(struct call *c, struct cache *cache, struct str id, struct str *line);
enum err cache_find_edge(struct call *c, struct cache *cache, struct str from, struct str to,
			 struct str kind, struct str *line);

/* Like cache_find_bead(), but without the line and the hash, which may be large, unless `whole`. */
enum err cache_find_row(struct call *c, struct cache *cache, struct str id, bool whole,
			struct bead_row **out);

/* `old` is the existing row, with its labels and text; or NULL. */
enum err cache_put_bead(struct call *c, struct cache *cache, const struct bead_row *row,
			const struct bead_row *old);
enum err cache_drop_bead(struct call *c, struct cache *cache, const struct bead_row *old);
enum err cache_put_tombstone(struct call *c, struct cache *cache, struct str id, int64_t at,
			     struct str line); /* absent line: removes it */

struct edge_row {
	struct str from, to, kind, line;
	bool active;
	struct edge_row *next;
};
enum err cache_put_edge(struct call *c, struct cache *cache, const struct edge_row *row);
enum err cache_drop_edge(struct call *c, struct cache *cache, const struct edge_row *row);

/* All edges of a bead, including deleted ones. */
enum err cache_edges_of(struct call *c, struct cache *cache, struct str id, struct edge_row **out);

/*
 * Updates the columns that are derived from the edges; beads/counts.h has the rule. `moved`: the
 * bead is in another epic than before, and so are the beads below it.
 */
enum err cache_put_counts(struct call *c, struct cache *cache, const struct bead_row *row,
			  bool *moved);

/* Updates only the epic, if the bead's parent is this one. */
enum err cache_put_epic(struct call *c, struct cache *cache, struct str id, struct str parent,
			struct str epic, bool *moved);

/* Do both caches have the same beads, edges and tombstones? Row numbers may differ. */
enum err cache_same(struct call *c, struct cache *a, struct cache *b, bool *same);

/* The sorted ids of the beads that a request created, here or in another clone. */
enum err cache_find_created(struct call *c, struct cache *cache, struct str request,
			    struct str **ids, size_t *count);

/*
 * Receipts that are in the journal, by actor and request id; `op` is absent if there is none. Older
 * ones are in receipts.db.
 */
enum err cache_find_receipt(struct call *c, struct cache *cache, struct receipt *r);
enum err cache_put_receipt(struct call *c, struct cache *cache, const struct receipt *r);
enum err cache_drop_receipts(struct call *c, struct cache *cache);

#endif
