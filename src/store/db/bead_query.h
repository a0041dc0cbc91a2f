#ifndef STORE_DB_BEAD_QUERY_H
#define STORE_DB_BEAD_QUERY_H

#include "store/db/bead_cache.h"

struct stmt;

enum bead_sort {
	SORT_PRIORITY, /* then the oldest first */
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

/* A moment, if one was given. */
struct bound {
	bool given;
	int64_t ms;
};

/* Which beads; zeros ask for all of them. */
/* Told of a row, which lasts until the next one. */
typedef void query_visit(void *arg, const struct bead_row *row);

struct bead_filter {
	unsigned statuses, types, priorities; /* bit i: the i-th will do; 0: any */
	struct str assignee;
	bool unassigned;
	const struct str *labels, *any_labels, *ids; /* all of these, one of those */
	size_t label_count, any_count, id_count;
	struct str parent;
	struct str title_part, description_part; /* whatever the case */
	struct bound created_after, created_before;
	struct bound updated_after, updated_before;
	struct bound closed_after, closed_before;
	bool ready;   /* can be taken now, by `actor`; those with open children last */
	bool free;    /* may be handed out: see bead_ready.h */
	bool blocked; /* waits for another one */
	bool expired; /* its lease ended before `now` */
	struct str actor;
	int64_t now;
	struct str words; /* every one of them begins a word of it */
	enum bead_sort sort;
	bool reverse;
	bool lean;          /* rows without their lines and hashes */
	int64_t limit;      /* 0: none */
	query_visit *visit; /* gets the rows one by one, and no chain is made; or NULL */
	void *arg;          /* of that */
};

/* A chain in the order asked for; NULL is the empty one. */
enum err query_each(struct call *c, struct cache *cache, const struct bead_filter *f,
		    struct bead_row **out);
enum err query_count(struct call *c, struct cache *cache, const struct bead_filter *f,
		     int64_t *out);

enum group { GROUP_STATUS, GROUP_PRIORITY, GROUP_TYPE, GROUP_ASSIGNEE, GROUP_LABEL };

/* How many of them have each value; numbers of words for the closed sets. */
struct tally {
	struct str key; /* absent: none */
	int64_t count;
	struct tally *next;
};
enum err query_tally(struct call *c, struct cache *cache, const struct bead_filter *f,
		     enum group group, struct tally **out);

/* Ids that begin so, at most `most`, of beads or, if `gone`, of tombstones. */
enum err query_ids(struct call *c, struct cache *cache, struct str head, bool gone, size_t most,
		   struct str **ids, size_t *count);

enum side { SIDE_OUT, SIDE_IN }; /* what a bead depends on; what depends on it */

/* An edge that is there, and the live bead at its other end. */
struct link {
	struct str kind;
	struct bead_row *bead;
	struct link *next;
};
enum err query_links(struct call *c, struct cache *cache, struct str id, enum side side,
		     struct link **out);

/* The same, with no more of the bead than its id and status; SIDE_OUT is sorted by id. */
struct edge_end {
	struct str id, kind;
	int status;
	struct edge_end *next;
};
enum err query_ends(struct call *c, struct cache *cache, struct str id, enum side side,
		    struct edge_end **out);

/* The live beads that a bead has an edge of this kind to, highest priority first. */
enum err query_targets(struct call *c, struct cache *cache, struct str id, enum edge_kind kind,
		       struct str **ids, size_t *count);

/* All edges between live beads. */
enum err query_edges(struct call *c, struct cache *cache, struct edge_row **out);

/* Edges whose line has this text, deleted ones too. */
enum err query_edges_with(struct call *c, struct cache *cache, struct str text,
			  struct edge_row **out);

/* Tombstones, the last deleted first. */
struct buried {
	struct str id, line;
	struct buried *next;
};
enum err query_buried(struct call *c, struct cache *cache, int64_t limit, struct buried **out);
enum err query_buried_count(struct call *c, struct cache *cache, int64_t *out);

/* All labels in use, and how many beads have each. */
enum err query_labels(struct call *c, struct cache *cache, struct tally **out);

#define BEAD_COLUMNS_WITH(line, hash)                                                 \
	" b.n, b.id, b.title, b.assignee, b.status, b.type, b.priority, b.created,"   \
	" b.created_n, b.updated, b.closed, b.lease, " line ", " hash ", b.blockers," \
	" b.dependencies, b.dependents, b.children, b.parent, b.waits"
#define BEAD_COLUMNS BEAD_COLUMNS_WITH("b.line", "b.hash")

/* The first column of every row. */
enum err stmt_all(struct call *c, struct stmt *st, struct str **out, size_t *count);

/* A row of BEAD_COLUMNS. */
struct bead_row *bead_row_read(struct call *c, struct stmt *st);

#endif
