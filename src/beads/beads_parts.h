#ifndef BEADS_BEADS_PARTS_H
#define BEADS_BEADS_PARTS_H

#include "beads/beads.h"
#include "beads/model/record.h"

struct snapshot;

/* Functions that the pages of `struct beads` share. Nothing else includes this header. */

/* --- beads.c: open --- */

struct str beads_path(struct call *c, const struct beads *b, const char *name);
enum err beads_take_lock(struct call *c, struct beads *b);

/* --- beads_clock.c: the next stamp, the prefix of ids --- */

/* Stamps later than this do not advance the clock of this replica. */
int64_t beads_horizon(const struct call *c);

/* Takes over the prefix of a change, if it was chosen later than the one that is known. */
void beads_choose_prefix(struct call *c, struct beads *b, const struct state *change);

/* Advances the clock past a change, and takes over its prefix. */
void beads_advance(struct call *c, struct beads *b, const struct state *change);

/* Sets clock, prefix and the number of beads from a whole state. */
void beads_learn(struct call *c, struct beads *b, const struct state *all);

/* --- beads_cache.c: the cache, up to date --- */

enum err beads_open_cache(struct call *c, struct beads *b, enum cache_mode mode);
enum err beads_compare(struct call *c, struct beads *b, enum journal_news *out);

/* Did opening the cache fail so that it has to be built again? */
bool beads_unusable(enum err e);

/* Both need the lock. Open a cache that has every record of the journal: the first opens it for
 * writing and rebuilds it only if necessary, the second always rebuilds it. */
enum err beads_open_caught_up(struct call *c, struct beads *b);
enum err beads_open_rebuilt(struct call *c, struct beads *b, enum cache_mode mode);

/* Builds the cache again, as a file, or in memory for this call where the folder is read-only. */
enum err beads_rebuild(struct call *c, struct beads *b, bool writable);

/* A cache in memory, for this call, with this state. */
enum err beads_fill_private(struct call *c, struct beads *b, struct state *all);

/* Removes the file: the next command builds the cache again. */
enum err beads_drop_cache(struct call *c, struct beads *b);

/* Joins a record to the cache, with its receipts; or only the receipts. */
enum err beads_apply(struct call *c, struct beads *b, const struct record *r);
enum err beads_put_receipts(struct call *c, struct cache *cache, const struct record *r);

/* --- beads_replay.c: the state from a commit and the journal --- */

/* JOURNAL_LOST: this record cannot be read, and why. */
enum err beads_not_a_record(struct call *c, const struct beads *b, const struct journal_record *r,
			    struct str why);

struct replay {
	struct beads *b;
	struct record base;   /* the last one; what it says of changes is in its commit */
	struct state *since;  /* what was written after that */
	struct cache *cache;  /* for the receipts; or NULL */
	struct arena scratch; /* for one record at a time */
	int64_t count, oldest_ms;
	int64_t oldest;           /* segment of the journal */
	struct journal_place cut; /* up to where it was cut last; zeros: it never was */
	bool lenient;
};

/*
 * Reads the journal: which commit is the base, and what was written after it. With `lenient`,
 * damage ends it: what precedes it is what there is.
 */
enum err replay_all(struct call *c, struct replay *replay);

/* --- beads_base.c --- */

/*
 * The files of the commit that the replay's base names, or of the one that the ref is at where
 * the journal does not reach that any more: a warning tells which changes may be lost then.
 * Without files (`commit` is absent), nothing was published.
 */
enum err base_read(struct call *c, const struct replay *replay, struct snapshot *out);

/* The commit with what was written since. */
enum err replay_join(struct call *c, struct replay *replay, struct state **out);

/* For a visit of the journal: a record, until the next; is it in the base? */
enum err replay_decode(struct call *c, struct replay *replay, const struct journal_record *r,
		       struct record *out);
bool replay_has(const struct replay *replay, const struct journal_record *r);
void replay_add(struct call *c, struct replay *replay, const struct record *r);
enum err replay_find_base(struct call *c, const struct journal_record *r, void *arg);

/* --- repair.c --- */

/*
 * Gives beads whose first record is lost what every bead has, so that they can be shown; what was
 * added is returned. `told` (or NULL) is called with the id of each.
 */
typedef void repair_tell(void *arg, struct str id);
struct state *repair_complete(struct call *c, struct state *all, repair_tell *told, void *arg);

/* --- beads_cut.c --- */

/* The text of a record, as the journal's reader will understand it. */
enum err beads_encode_record(struct call *c, const struct record *r, struct str *json);

/* Has the journal grown by so many bytes since it was cut last, and by twice what it began with?
 * A sync cuts sooner than a writer, whom others wait for. */
enum { CUT_BY_SYNC = 256 << 10, CUT_BY_WRITER = 1 << 20 };
bool beads_cut_due(const struct beads *b, int64_t bytes);

/* Begins the journal anew with this base; its receipts go to their database. The segments before
 * are needed until the new one is on the medium. `instead` (or NULL) is to stand for all that no
 * commit has. */
enum err beads_cut(struct call *c, struct beads *b, struct record *r, struct state *instead,
		   int *fd);

/* The same with the base that the journal has, on the medium; false: it stays as it is. */
bool beads_cut_alone(struct call *c, struct beads *b);

#endif
