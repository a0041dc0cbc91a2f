#ifndef BEADS_BEADS_H
#define BEADS_BEADS_H

#include "base/system/lock.h"
#include "beads/model/stamp.h"
#include "store/db/bead_cache.h"
#include "store/place.h"

struct record;
struct state;

/*
 * The beads of one repository, opened for one command. The journal in the folder `abacus` of the
 * Git directory is the truth, the cache beside it answers questions. A reader takes no lock and
 * writes nothing. A writer has the lock, sees every change before its own, and leaves one record,
 * or none.
 */
struct beads {
	struct repository repo;
	struct str home;
	struct lock lock;
	struct cache cache;
	struct cache_about about;
	struct state *change;   /* all that this command has put */
	struct receipt receipt; /* `id` is absent where none is to be left */
	int64_t lease_ms;       /* how long a claim lasts, for a writer */
	bool writing, forgotten;
	bool committing; /* what fails from here on is not tried again */
	bool behind;     /* for a reader: the journal has a record that it does not see yet */
	bool damaged;    /* the journal is: only what precedes the damage is read */
	bool repairs;    /* may copy any bead that can be read, however large */
};

enum beads_mode {
	BEADS_READ,
	BEADS_WRITE,
	BEADS_STILL, /* reads in the hope that nobody writes; see beads_undisturbed() */
};

/*
 * NOT_A_REPOSITORY; NOT_INITIALIZED, with what to do. A writer of a damaged journal is refused
 * (JOURNAL_LOST). A reader goes on, with a warning, from the published commit and what precedes
 * the damage; if that is nothing, it is refused too.
 */
enum err beads_open(struct call *c, enum beads_mode mode, struct beads *out);
void beads_close(struct beads *b); /* without a commit: nothing was written */

/* A moment of the past: a commit, or a time; `ms` is 0 for a commit. */
struct when {
	struct str spec; /* as it was given */
	int64_t ms;
};

/* Reads what there was then; the clock of the call is that of then. */
enum err beads_open_at(struct call *c, const struct when *when, struct beads *out);

/*
 * Nobody has written since it was opened, as far as that matters to what was read. If not, the
 * answer is thrown away and asked for again, with BEADS_READ.
 */
bool beads_undisturbed(struct call *c, const struct beads *b);

/*
 * Is a record of the journal on its way into the cache? Then `known` is up to where readers see
 * the journal: a program that reports records reports those before it. `b` is that of
 * beads_home().
 */
bool beads_being_written(struct call *c, struct beads *b, struct journal_place *known);

/* Where the store is, or would be; the repository is that of the call. */
enum err beads_home(struct call *c, struct beads *out);

/* Is there a ref that a new store would begin with, readable or not? */
bool beads_ref_here(struct call *c, const struct beads *b);

/* Opens a store for writing that need not be there yet. */
enum err beads_open_new(struct call *c, struct beads *out);

/* The mark of what this command writes: later than all that is there. */
struct mark beads_mark(struct call *c, const struct beads *b);

/*
 * The same, but also later than a mark that the clock does not follow: what is written to a bead
 * has to win over what is known of that bead. `stamp_end`: there is no later one.
 */
struct mark beads_mark_after(struct call *c, const struct beads *b, struct mark known);

/* When the prefix of ids was chosen, and by whom; absent: it was not. See mark_within(). */
struct mark beads_prefix_mark(struct call *c, const struct beads *b);

/* Joins a change to the cache, so that the command sees it; not durable yet. */
enum err beads_put(struct call *c, struct beads *b, struct state *change);

/* The receipt of that actor's request id; `op` is absent if there is none. */
enum err beads_find_receipt(struct call *c, struct beads *b, struct receipt *r);

/* Takes all of it back: the command was only to show what it would do. */
void beads_forget(struct beads *b);

/* All that the answer was made from is on the medium, also what other processes wrote. */
enum err beads_settle(struct call *c, struct beads *b);

/* One record in the journal, on the medium, with all changes and the receipt. */
enum err beads_commit(struct call *c, struct beads *b);

/*
 * All there is, from the truth alone: the files of a commit (`commit` is absent: nothing was
 * published), and what was written since. Both together are the state, which takes far more
 * memory than the files. `tip`, or NULL, are files that were read before, so that they need not
 * be read again if they are the ones.
 */
struct snapshot;
enum err beads_replay(struct call *c, struct beads *b, const struct snapshot *tip,
		      struct snapshot *base, struct state **since);
enum err beads_join_files(struct call *c, const struct snapshot *base, const struct state *since,
			  struct state *out);

/* What was written since the last commit that has all before it. */
struct pending {
	struct str base;         /* that commit; absent: there is none */
	int64_t segment, offset; /* all before this place is in it */
	struct state *change;
	int64_t records;
	int64_t oldest_ms; /* when the first of them was written */
};
enum err beads_pending(struct call *c, struct beads *b, struct pending *out);

/* What was written after the place up to which `base` has all. */
enum err beads_since(struct call *c, struct beads *b, const struct record *base,
		     struct state **out);

/*
 * For a writer: `r` names a commit that is the base from now on, and tells what is new in it.
 * Shortens the journal where that is worth it.
 */
enum err beads_rebase(struct call *c, struct beads *b, struct record *r);

/* The same, and `pending` replaces what was written and is in no commit yet. Receipts stay. */
enum err beads_restart(struct call *c, struct beads *b, struct record *r, struct state *pending);

/* The cache could not be used: the next one to open it makes it anew. */
enum err beads_distrust(struct call *c, struct beads *b);

#endif
