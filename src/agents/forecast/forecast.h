#ifndef AGENTS_FORECAST_FORECAST_H
#define AGENTS_FORECAST_FORECAST_H

#include "agents/reservation.h"
#include "base/map.h"
#include "beads/beads.h"
#include "store/commit_db.h"

/*
 * Which beads are likely to change the same files. Every chance is in percent, and has a source
 * that can be shown:
 *
 *	declared  the bead says that it touches the scope                         100
 *	reserved  an agent has reserved the scope for the bead                    100
 *	learned   a commit that names the bead has changed the file               80
 *	named     the title or the description of the bead names the file         50
 *	history   how many of the last commits that changed one of the scopes above also changed
 *	          this file, large commits counting less; a scope with few commits borrows from its
 *	          folder, which borrows from the folder around it
 *
 * The chance that two beads meet at a scope is the product of both chances. The score of two beads
 * is the chance that they meet anywhere, as if the scopes were independent of each other. If they
 * change two files of one folder, they meet with a chance of 10, too: the folder alone is no
 * collision, but it adds to other signs. test/bench/forecast.py measures how good that is.
 */
enum expectation { EXPECT_DECLARED, EXPECT_RESERVED, EXPECT_LEARNED, EXPECT_NAMED, EXPECT_HISTORY };
extern const struct names expectations;

struct expected {
	struct str scope; /* normalised */
	int chance;
	enum expectation why;
	struct str with; /* EXPECT_HISTORY: the scope that it changed together with */
};

/* All that a bead is expected to change. */
struct prospect {
	struct str id, title;
	struct str agent; /* works on it, or has reserved files for it; or absent */
	bool in_progress;
	int64_t priority;
	struct expected *item;
	size_t count;
	struct bead_row *row; /* NULL: it is not one of the requested beads */
	struct prospect *next;
};

struct forecast {
	struct beads *b;
	struct commit_db history;
	struct reservation *reservations; /* whose time is not over */
	struct map together;              /* scope: what is likely to change with it */
};

/*
 * Opens what the forecast is made from. Where the history was not read up to the present commit,
 * it is read now; if that fails, there is a warning, and the forecast is made without it. A writer
 * takes the history as it is, because others wait for its lock.
 */
enum err forecast_open(struct call *c, struct beads *b, struct forecast *out);
void forecast_close(struct forecast *f);

/* Opens history.db if it exists, however old; for replies that only add what it knows. */
void forecast_open_known(struct call *c, const struct beads *b, struct commit_db *out);

/* Is a bead in the list? */
bool prospect_listed(const struct prospect *list, struct str id);

enum err forecast_bead(struct call *c, struct forecast *f, struct bead_row *row,
		       struct prospect *out);

/* The beads in progress whose lease is live, and other beads that files are reserved for. */
enum err forecast_busy(struct call *c, struct forecast *f, struct prospect **out);

/* A scope that both beads are expected to change. */
struct shared_scope {
	struct str scope; /* the narrower one */
	int chance;
	const struct expected *a, *b;
};

enum { SHARED_MOST = 5 };

/* How likely two beads collide, and the likeliest scopes at which they do. The commands' default of
 * the score from which they do is 20. */
struct collision {
	const struct prospect *a, *b;
	int score;
	struct shared_scope shared[SHARED_MOST];
	size_t count;
	struct collision *next;
};
void forecast_compare(const struct prospect *a, const struct prospect *b, struct collision *out);

/* "both declare src/a.c": the likeliest scope, as a phrase. */
struct str collision_reason(struct arena *mem, const struct collision *x);

#endif
