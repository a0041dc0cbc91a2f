#ifndef BEADS_BEADS_H
#define BEADS_BEADS_H

#include "base/system/lock.h"
#include "beads/model/stamp.h"
#include "store/db/bead_cache.h"
#include "store/home.h"
#include "store/place.h"

struct record;
struct state;
struct write_group;

/*
 * The beads of one repository, opened for one command. The journal in the store's folder
 * (store/home.h) is the source of truth; queries read the cache beside it. A reader takes no lock
 * and writes nothing. A writer holds the lock, sees every change before its own, and appends one
 * record or none.
 *
 * beads.c opens, beads_cache.c keeps the cache up to date with the journal, beads_commit.c writes,
 * beads_replay.c makes the state from the journal and the published commit, beads_cut.c shortens
 * the journal, beads_clock.c makes the stamps.
 */
struct beads {
	struct repository repo;
	struct str home;
	struct lock lock;
	struct cache cache;
	struct cache_about about;
	struct state *change;      /* the sum of beads_put() in this command */
	struct state *before;      /* the values that it replaces, for 'bd undo'; NULL: none */
	struct receipt receipt;    /* written with the record, unless its `id` is absent */
	int64_t lease_ms;          /* duration of a claim; only a writer reads it */
	int64_t margin_ms;         /* another clone's lease counts so long after its end */
	bool exclusive;            /* claims are made at the remote first; likewise */
	struct write_group *group; /* this command is part of; NULL: it is durable by itself */
	bool writing;
	bool forgotten;  /* beads_forget() was called */
	bool committing; /* a failure from here on must not be retried */
	bool behind;     /* a reader's cache lacks the last record, which is being written */
	bool damaged;    /* the journal is; only the records before the damage were read */
	bool imports;    /* one of many records: a later command shortens the journal */
	bool repairs;    /* this command may copy beads that are larger than limits.h allows */
};

enum beads_mode {
	BEADS_READ,
	BEADS_WRITE,
	BEADS_STILL, /* reads optimistically; beads_undisturbed() says whether the result counts */
};

/*
 * NOT_A_REPOSITORY; NOT_INITIALIZED, with the command to run. If the journal is damaged, a writer
 * gets JOURNAL_LOST. A reader gets the published commit and the records before the damage, with a
 * warning, or JOURNAL_LOST if there are neither.
 */
enum err beads_open(struct call *c, enum beads_mode mode, struct beads *out);
void beads_close(struct beads *b); /* changes that were not committed are dropped */

/* A moment of the past: a commit, or a time; `ms` is 0 for a commit. */
struct when {
	struct str spec; /* as the user wrote it */
	int64_t ms;
};

/* Opens the published beads of that moment, and sets the clock of the call to it. */
enum err beads_open_at(struct call *c, const struct when *when, struct beads *out);

/*
 * Did no other process write since the beads were opened with BEADS_STILL? If one did, the caller
 * throws its answer away and reads again with BEADS_READ.
 */
bool beads_undisturbed(struct call *c, const struct beads *b);

/*
 * Is another process between appending a record and joining it to the cache? Then `known` is the
 * end of what readers see, and a program that reports records stops there. `b` comes from
 * beads_home().
 */
bool beads_being_written(struct call *c, struct beads *b, struct journal_place *known);

/* Finds the repository of the call, and where its store is or would be. Nothing in the store may be
 * opened before beads_home() has checked it. */
enum err beads_locate(struct call *c, struct beads *out);

/* The same; DUBIOUS_OWNERSHIP or UNSAFE_PATH if others could have put something there. */
enum err beads_home(struct call *c, struct beads *out);

/* Was the store moved since it was located? */
bool beads_moved(struct call *c, const struct beads *b);

/*
 * Does the repository have a ref that a new store would begin with, readable or not? A fetch may
 * have brought it, or it is left over from a store whose folder was removed.
 */
bool beads_ref_here(struct call *c, const struct beads *b);

/* Opens a store for writing, and creates it if it does not exist, where `kind` says. */
enum err beads_open_new(struct call *c, enum home_kind kind, struct beads *out);

/* The mark for everything that this command writes: later than every mark in the store. */
struct mark beads_mark(struct call *c, const struct beads *b);

/*
 * The same, but also later than `known`, so that a write to a bead wins over its present value even
 * if that has a stamp too far in the future for the clock to follow. `stamp_end`: there is no later
 * stamp.
 */
struct mark beads_mark_after(struct call *c, const struct beads *b, struct mark known);

/* When the prefix of ids was chosen, and by whom; absent if it was not. See mark_within(). */
struct mark beads_prefix_mark(struct call *c, const struct beads *b);

/* Joins a change to the cache, so that this command reads it back; beads_commit() makes it
 * durable. */
enum err beads_put(struct call *c, struct beads *b, struct state *change);

/* A receipt that is put is part of the record that beads_commit() writes. */
struct receipts beads_receipts(struct beads *b);

/* Drops every change: the command only shows what it would do. */
void beads_forget(struct beads *b);

/* Syncs all records that the answer was made from, those of other processes included. */
enum err beads_settle(struct call *c, struct beads *b);

/* Appends one record with all changes and the receipt, and syncs it. */
enum err beads_commit(struct call *c, struct beads *b);

/*
 * The whole store without the cache: the files of the published commit (`commit` is absent if
 * nothing was published), and what was written since. Both joined are the state, which takes far
 * more memory than the files. `tip`, or NULL, are files that the caller has read already; they are
 * used if they are those of the base commit.
 */
struct snapshot;
enum err beads_replay(struct call *c, struct beads *b, const struct snapshot *tip,
		      struct snapshot *base, struct state **since);
enum err beads_join_files(struct call *c, const struct snapshot *base, const struct state *since,
			  struct state *out);

/* The changes that are in no published commit yet. */
struct pending {
	struct str base;         /* the last published commit; absent: there is none */
	int64_t segment, offset; /* that commit has every record before this place */
	struct state *change;
	int64_t records;
	int64_t oldest_ms; /* when the first record was written */
};
enum err beads_pending(struct call *c, struct beads *b, struct pending *out);

/* The changes that the commit of `base` lacks. */
enum err beads_since(struct call *c, struct beads *b, const struct record *base,
		     struct state **out);

/*
 * For a writer: makes the commit that `r` names the base, and joins what is new in it. Shortens the
 * journal if it has grown enough.
 */
enum err beads_rebase(struct call *c, struct beads *b, struct record *r);

/* The same, and `pending` replaces the changes that are in no commit yet. Receipts stay. */
enum err beads_restart(struct call *c, struct beads *b, struct record *r, struct state *pending);

/* Removes a cache that gave a wrong answer; the next command builds it again. */
enum err beads_distrust(struct call *c, struct beads *b);

/*
 * Commands of one process that are made durable together: they share the lock, the transaction of
 * the cache, one write to the journal, and one sync. Each of them still is a record of its own. The
 * replies may be sent only after beads_group_end().
 *
 * A caller that has several writes at hand points `group` of their calls to one struct. The first
 * command opens the beads, and the later ones find them open. The calls live until the end.
 */
struct write_group {
	struct call call; /* of the group itself */
	struct beads b;
	struct str *record;
	size_t count;
	int64_t changes; /* to the cache by the commands that have ended */
	bool open;
	bool spoilt; /* a command changed the cache and then failed, or only tried */
};

/* Must the group end before another command joins it? */
bool beads_group_full(const struct write_group *g);

/*
 * Makes the commands durable, and starts autosync. If that fails, none of them counts, and
 * `g->call` has the reason. A group that is not open is durable. The struct can be used again after
 * beads_group_release().
 */
enum err beads_group_end(struct write_group *g);
void beads_group_release(struct write_group *g);

#endif
