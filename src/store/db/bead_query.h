#ifndef STORE_DB_BEAD_QUERY_H
#define STORE_DB_BEAD_QUERY_H

#include "store/db/bead_cache.h"

struct stmt;

enum bead_sort {
	SORT_PRIORITY, /* then oldest first */
	SORT_CREATED,
	SORT_UPDATED,
	SORT_CLOSED,
	SORT_STATUS,
	SORT_ID,
	SORT_TITLE,
	SORT_TYPE,
	SORT_ASSIGNEE,
};
extern const struct names bead_sorts;

/* An optional moment. */
struct bound {
	bool given;
	int64_t ms;
};

/* Called with each row, which is valid until the next one. False: no more rows are read. */
typedef bool query_visit(void *arg, const struct bead_row *row);

/* A place in the order of priorities, to continue a list after it. */
struct bead_place {
	int64_t priority, created, created_n;
	struct str id; /* absent: the beginning */
};

struct bead_filter {
	int64_t count_most; /* query_count() stops there; 0: it counts all */
	/* query_each() sets it to the number of matches, up to `count_most`, if it comes to know it:
	 * to count the results of a search costs as much again as to read them; or NULL */
	int64_t *total;
	unsigned statuses, types, priorities; /* bit i selects value i; 0: any */
	struct str assignee;
	bool unassigned;
	const struct str *labels, *any_labels, *ids; /* all of, one of, one of */
	size_t label_count, any_count, id_count;
	struct str parent;
	struct str title_part, description_part; /* case-insensitive */
	struct bound created_after, created_before;
	struct bound updated_after, updated_before;
	struct bound closed_after, closed_before;
	bool ready;   /* `actor` can claim it now; beads with open children come last */
	bool free;    /* can be assigned to an agent: see bead_ready.h */
	bool blocked; /* has an open blocker */
	bool claimed; /* in progress, or open with a live lease: see bead_ready.h; needs `now` */
	bool expired; /* its lease ended before `now` */
	bool no_epic; /* it is neither in an epic nor an epic itself */
	bool twins;   /* another open bead has the same title, ignoring case */
	struct str actor;
	int64_t now;
	struct str words; /* each word must begin a word of the bead */
	enum bead_sort sort;
	bool reverse;
	struct bead_place after; /* only beads after this place; needs SORT_PRIORITY */
	bool lean;               /* rows without `line` and `hash` */
	int64_t limit;           /* 0: no limit */
	query_visit *visit;      /* called with each row instead of building a list; or NULL */
	void *arg;               /* argument of `visit` */
};

/* A linked list in the given order; NULL: empty. */
enum err query_each(struct call *c, struct cache *cache, const struct bead_filter *f,
		    struct bead_row **out);
enum err query_count(struct call *c, struct cache *cache, const struct bead_filter *f,
		     int64_t *out);

enum group { GROUP_STATUS, GROUP_PRIORITY, GROUP_TYPE, GROUP_ASSIGNEE, GROUP_LABEL };

/*
 * The tasks of an epic, open ones, or both; in the usual order. If the epic is absent: the tasks
 * without one, either the open or the closed ones. Of the filter, only `lean`, `limit`, `visit` and
 * `arg` count.
 */
enum err query_tasks(struct call *c, struct cache *cache, struct str epic, bool closed,
		     const struct bead_filter *f);

/* The number of beads for each value; the key of a closed set is its number. */
struct tally {
	struct str key; /* absent: no value */
	int64_t count;
	struct tally *next;
};
enum err query_tally(struct call *c, struct cache *cache, const struct bead_filter *f,
		     enum group group, struct tally **out);

/* At most `most` ids with this prefix, of beads or, if `gone`, of tombstones. */
enum err query_ids(struct call *c, struct cache *cache, struct str head, bool gone, size_t most,
		   struct str **ids, size_t *count);

enum side { SIDE_OUT, SIDE_IN }; /* dependencies of a bead; its dependents */

/* An active edge, and the existing bead at its other end. */
struct link {
	struct str kind;
	struct bead_row *bead;
	struct link *next;
};
/* Sorted by kind, priority and id. The beads have their line and hash if `whole`. */
enum err query_links(struct call *c, struct cache *cache, struct str id, enum side side, bool whole,
		     struct link **out);

/* Like struct link, with only the id and status of the bead; SIDE_OUT is sorted by id. */
struct edge_end {
	struct str id, kind;
	int status;
	struct edge_end *next;
};
enum err query_ends(struct call *c, struct cache *cache, struct str id, enum side side,
		    struct edge_end **out);

/* The existing beads that a bead has an edge of this kind to, highest priority first. */
enum err query_targets(struct call *c, struct cache *cache, struct str id, enum edge_kind kind,
		       struct str **ids, size_t *count);

/* Does an active edge of this kind lead to the bead? */
enum err query_is_target(struct call *c, struct cache *cache, struct str id, enum edge_kind kind,
			 bool *yes);

/* All edges between existing beads. */
enum err query_edges(struct call *c, struct cache *cache, struct edge_row **out);

/* The ids of all beads, sorted. */
enum err query_all_ids(struct call *c, struct cache *cache, struct str **ids, size_t *count);

/* All edges of one kind between these beads, which are sorted: as indexes of `ids`, in order. */
struct edge_numbers {
	uint32_t from, to;
};
enum err query_edge_numbers(struct call *c, struct cache *cache, enum edge_kind kind,
			    const struct str *ids, size_t id_count, struct edge_numbers **out,
			    size_t *count);

/* Edges whose line contains this text, including deleted ones. */
enum err query_edges_with(struct call *c, struct cache *cache, struct str text,
			  struct edge_row **out);

/* Tombstones, most recently deleted first. */
struct tombstone_row {
	struct str id, line;
	struct tombstone_row *next;
};
enum err query_tombstones(struct call *c, struct cache *cache, int64_t limit,
			  struct tombstone_row **out);
enum err query_tombstone_count(struct call *c, struct cache *cache, int64_t *out);

/* The columns that lists are sorted by are those of the table `keys`. */
#define BEAD_COLUMNS_FROM(keys, line, hash)                                                      \
	" b.n, " keys ".id AS id, b.title, b.assignee, b.status, b.type, " keys ".priority"      \
	" AS priority, " keys ".created AS created, " keys ".created_n AS created_n, b.updated," \
	" b.closed, b.lease, b.deferred, " line ", " hash ", b.blockers, b.dependencies,"        \
	" b.dependents, b.children, b.parent, b.waits, b.epic, b.tags"
#define BEAD_COLUMNS_WITH(line, hash)                                                             \
	" b.n, b.id, b.title, b.assignee, b.status, b.type, b.priority, b.created,"               \
	" b.created_n, b.updated, b.closed, b.lease, b.deferred, " line ", " hash ", b.blockers," \
	" b.dependencies, b.dependents, b.children, b.parent, b.waits, b.epic, b.tags"
#define BEAD_COLUMNS BEAD_COLUMNS_WITH("b.line", "b.hash")

/* Reads the first column of every row. */
enum err stmt_all(struct call *c, struct stmt *st, struct str **out, size_t *count);

/* Reads a row of BEAD_COLUMNS. */
struct bead_row *bead_row_read(struct call *c, struct stmt *st);

#endif
