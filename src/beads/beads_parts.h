#ifndef BEADS_BEADS_PARTS_H
#define BEADS_BEADS_PARTS_H

#include "beads/beads.h"
#include "beads/model/record.h"

struct snapshot;

/* Functions that the pages of `struct beads` share. Nothing else includes this header. */

/* --- beads.c: open --- */

struct str beads_path(struct call *c, const struct beads *b, const char *name);
enum err beads_take_lock(struct call *c, struct beads *b);

/* --- beads_commit.c --- */

/* Opens the beads as a part of the call's group; and closes such a part. */
enum err beads_group_join(struct call *c, struct beads *out);
void beads_group_leave(struct beads *b);

/* The group writes this record at its end. */
void beads_group_add(struct beads *b, struct str json);

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
	struct record base;   /* the last base record; its changes are in the commit */
	struct state *since;  /* the changes after the base */
	struct cache *cache;  /* gets the receipts; or NULL */
	struct arena scratch; /* memory for one record at a time */
	int64_t count, oldest_ms;
	int64_t oldest;           /* first segment of the journal */
	struct journal_place cut; /* where the journal was cut last; zeros: never */
	bool lenient;
};

/* Reads the journal: which commit is the base, and what was written after it. With `lenient`,
 * reading stops at the first damage instead of failing. */
enum err replay_all(struct call *c, struct replay *replay);

/* The base commit joined with the changes after it. */
enum err replay_join(struct call *c, struct replay *replay, struct state **out);

/* For visits of the journal: decodes a record, which is valid until the next one; is the record in
 * the base? */
enum err replay_decode(struct call *c, struct replay *replay, const struct journal_record *r,
		       struct record *out);
bool replay_has(const struct replay *replay, const struct journal_record *r);
void replay_add(struct call *c, struct replay *replay, const struct record *r);
enum err replay_find_base(struct call *c, const struct journal_record *r, void *arg);

/* --- repair.c --- */

/* Beads whose first record is lost get default values, so that they can be shown. Returns what was
 * added. `told` (or NULL) is called with the id of each. */
typedef void repair_tell(void *arg, struct str id);
struct state *repair_complete(struct call *c, struct state *all, repair_tell *told, void *arg);

/* --- beads_cut.c --- */

/* The text of a record. INVALID_INPUT if it could not be decoded again. */
enum err beads_encode_record(struct call *c, const struct record *r, struct str *json);

/*
 * Is the journal large enough to be cut? A writer has to keep every change that is in no commit, so
 * it waits until the journal is three times as large as after the last cut. A sync keeps only the
 * changes since the commit that it has just made. It cuts sooner than a writer, because other
 * writers wait for a writer.
 */
bool beads_cut_due_writer(const struct beads *b);
bool beads_cut_due_sync(const struct beads *b);

/* Begins a new segment with this base, and moves the receipts to their database. The old segments
 * are needed until the new one is synced. `instead` (or NULL) replaces the unpublished changes. */
enum err beads_cut(struct call *c, struct beads *b, struct record *r, struct state *instead,
		   int *fd);

/* The same with the present base, synced; false if the journal was left as it is. */
bool beads_cut_alone(struct call *c, struct beads *b);

#endif
