#ifndef STORE_DB_BEAD_TALLY_H
#define STORE_DB_BEAD_TALLY_H

#include "base/map.h"
#include "store/db/bead_query.h"

/*
 * Numbers of beads that are kept up to date with every write, so that a count costs the same in
 * every store. The table `counts` has a row for each cell: beads with the same status, priority and
 * type that are alike blocked, or not, and have open children, or none. Where the cell is a text,
 * it is a label.
 *
 * The other cells are about the tasks of an epic, and those without one. They are blobs: a number,
 * the id of the epic, if any, and perhaps more. Rows with 1 count the tasks, and rows with 2 the
 * closed ones among them. Those with 3 have the tasks in the usual order; instead of a count they
 * have the number of the task's row. The list of an epic has open and closed tasks. Those without
 * an epic have two lists, because their closed ones are seldom shown.
 */
#define TALLY_LISTS_SQL "x'03'"

#define TALLY_SCHEMA "CREATE TABLE counts (cell PRIMARY KEY, beads) WITHOUT ROWID;"

/*
 * Whether there was ever a bead with an exact priority, which only vybe has (the member `rank`).
 * Otherwise the order of the beads is also that of the tasks.
 */
enum err tally_note_ranked(struct call *c, struct cache *cache);
enum err tally_ranked(struct call *c, struct cache *cache, bool *out);

/* Counts all beads of a new cache. Its lists are complete, because each new row is put in one. */
enum err tally_fill(struct call *c, struct cache *cache);

/*
 * Moves a bead from the cells of `old` to those of `row`; NULL: the bead is new, or was deleted.
 * They need only the columns from which the cells follow.
 */
enum err tally_move(struct call *c, struct cache *cache, const struct bead_row *old,
		    const struct bead_row *row);

/* Adds to the number of beads that have the label. */
enum err tally_label(struct call *c, struct cache *cache, struct str label, int64_t beads);

/* Reads rows of a key and a count. */
enum err tally_read(struct call *c, struct stmt *st, struct tally **out);

/* All labels in use, with the number of beads of each. */
enum err tally_labels(struct call *c, struct cache *cache, struct tally **out);

/* By the id of the epic, "" for none: a struct epic_tally of its tasks, unless it has none. */
struct epic_tally {
	int64_t tasks, closed;
};
enum err tally_epics(struct call *c, struct cache *cache, struct map *out);

/*
 * How the cells of a list begin, of the tasks of an epic, or of those without one, either open or
 * closed. No cell of the list is after this text and a byte of 255.
 */
struct str tally_list(struct arena *mem, struct str epic, bool closed);

/* Can the cells answer this filter? `ready` and `free` are ignored. */
bool tally_can(const struct bead_filter *f);

/* With `ready` or `free`: open beads without a blocker, whatever their leases and deferrals. */
enum err tally_count(struct call *c, struct cache *cache, const struct bead_filter *f,
		     int64_t *out);

/* Are there beads in progress that are not blocked? */
enum err tally_held(struct call *c, struct cache *cache, bool *out);

/* `group` is GROUP_STATUS, GROUP_PRIORITY or GROUP_TYPE. */
enum err tally_group(struct call *c, struct cache *cache, const struct bead_filter *f,
		     enum group group, struct tally **out);

#endif
