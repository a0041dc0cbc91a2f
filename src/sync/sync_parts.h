#ifndef SYNC_SYNC_PARTS_H
#define SYNC_SYNC_PARTS_H

#include "base/map.h"
#include "base/text/json.h"
#include "beads/beads.h"
#include "beads/model/news.h"
#include "store/repo/repo_remote.h"
#include "sync/sync.h"

/* Declarations shared by the files of a sync, and used by no other file. */

/*
 * The commits of a sync: `base` contains everything before a place in the journal; `there` is where
 * the remote's ref is now, `seen` where it was at the last fetch; `here` is our own ref.
 */
struct sync {
	struct call *c;
	const struct sync_wants *wants;
	struct beads b;
	struct repo *repo;
	struct remote remote;
	struct str ref, tracking;
	struct str base, there, seen, here;
	struct str made;                /* our last commit, perhaps not published yet */
	struct journal_place made_upto; /* `made` has all records up to here */
	struct pending pending;
	struct journal_place sealed;
	struct news forgot;      /* deletions that the new commit collects */
	struct state *rewritten; /* lines of other clones to publish in normal form */
	struct json remapped;
	struct map reported;
	int64_t pulled, pushed, attempts, started_ms;
	struct str lost_at; /* the remote's ref at the last lost race */
	int64_t stuck;      /* lost races in a row in which the remote's ref did not move */
	struct str warning;
	bool published;
	struct lost_claim *lost; /* claims lost to changes that this sync fetched */
	bool repairs;            /* this is a repair: damaged histories are expected */
	bool adopts;             /* find_ref() has chosen the ref of the other program */
	int64_t file_most;       /* maximum size of a file in bytes */
};

/* sync_doing() reports the next step as progress; sync_warn() adds a warning to the reply. */
void sync_doing(struct sync *s, const char *what);
void sync_warn(struct sync *s, struct str text);

/* --- sync.c --- */

/*
 * sync_open() opens the repository and finds the ref and the remote; sync_alone() takes the lock
 * that allows one sync at a time in a repository.
 */
enum err sync_open(struct sync *s);
enum err sync_alone(struct sync *s, struct lock *lock);
enum err sync_fetch(struct sync *s);

/* Takes the lock, opens the repository, runs the steps, and closes everything. */
typedef enum err sync_step(struct sync *s, void *arg);
enum err sync_run_alone(struct call *c, const struct sync_wants *wants, sync_step *steps,
			void *arg);

/*
 * The first half of an attempt: fetches, seals the journal, and takes all commits of others into
 * the base.
 */
enum err sync_pull(struct sync *s);

/* Does the remote have the commit, alone or with others after it? Reads its ref again. */
enum err sync_look_back(struct sync *s, struct str commit, bool *has);

/* After a lost race: waits for a random time. SYNC_TIMEOUT if there is no time for a retry. */
enum err sync_lost_again(struct sync *s);

/* Lets the journal drop the records that the commit contains. */
enum err sync_settle(struct sync *s, struct str commit);

/* Looks for lost claims, even after a failed sync: it may have fetched before it failed. */
void sync_find_lost(struct sync *s);
enum err sync_move_here(struct sync *s, struct str commit, bool *moved);

/* Commits the local data to our own ref, without contacting the remote. */
enum err sync_commit_own(struct sync *s);

/* The parent of a new commit, chosen so that every published commit stays in the history. */
struct str sync_parent(const struct sync *s);

/* Reports the beads that got a new id in `now`, except those already in `known` (or NULL). */
void sync_report_remaps(struct sync *s, const struct state *now, const struct state *known);

/* --- sync_journal.c --- */

/*
 * Reads the records that are in no commit yet, notes where the journal ends, and flushes the
 * journal to disk.
 */
enum err sync_seal(struct sync *s);

/*
 * Makes a commit the new base. The journal records the news line by line, unless there are too many
 * lines, or lines were forgotten (their ids may since belong to other beads): then it records that
 * everything is to be read from the commit.
 */
enum err sync_rebase(struct sync *s, struct str commit, struct journal_place upto,
		     const struct news *news);

/* Is the journal, opened for writing, as long as it was when it was sealed? */
bool sync_still_sealed(const struct sync *s);

/* Opens the store for writing; fails if the journal has grown since it was sealed. */
enum err sync_hold(struct sync *s);

/*
 * Restarts the journal: the commit is the base, and `pending` is everything written since. The
 * store must have been opened with sync_hold().
 */
enum err sync_restart(struct sync *s, struct str commit, struct state *pending);

/* --- sync_take.c --- */

/*
 * sync_take_in() merges a commit of another clone into the base; sync_backup() keeps a commit with
 * a backup ref.
 */
enum err sync_take_in(struct sync *s, struct str commit);
enum err sync_backup(struct sync *s, struct str commit);

/*
 * Checks every line of a commit, because none of it has been checked before. Lines that are not in
 * normal form are remembered, and sync_join() rewrites them.
 */
enum err sync_check(struct sync *s, const struct snapshot *files);

/* --- sync_lost.c --- */

/*
 * Merges a commit (the first side of the merge) with the local data from before it (the second).
 * The changes that remain in the merge are the lines the commit has lost.
 */
enum err sync_lost(struct sync *s, struct merge *m, bool *lost);

/* --- sync_fit.c --- */

/* A part of a merge that readers would refuse: a bead, an edge, meta.json, or a whole file. */
struct misfit {
	enum snapshot_file file;
	struct str key; /* absent: the whole file */
	struct str why;
	int64_t size; /* of a whole file that is too large; or 0 */
	struct misfit *next;
};
struct misfit *sync_misfits(struct sync *s, const struct merge *m);

/*
 * sync_refuse() fails with REMOTE_DAMAGED and names the line of the commit; sync_fits() refuses the
 * first misfit of a merge.
 */
enum err sync_refuse(struct sync *s, const struct snapshot *files, const struct misfit *misfit);
enum err sync_fits(struct sync *s, const struct merge *m);

/* Checks the merge of a commit, the local data (or NULL) and the local changes. */
enum err sync_fits_change(struct sync *s, const struct snapshot *commit,
			  const struct snapshot *known, const struct state *change);

/* Checks the merge of several lines that the commit itself has for one bead. */
enum err sync_fits_itself(struct sync *s, const struct snapshot *files);

/* The file and line (from 1) of a misfit in a commit; 0 if the commit does not have it. */
size_t sync_place_of(struct sync *s, const struct snapshot *files, const struct misfit *misfit,
		     enum snapshot_file *file);

/* --- sync_part.c --- */

/*
 * Splits beads whose version in a commit cannot be merged with the local one: the commit's version
 * stays as it is, and the local version becomes another bead. With `apply`, the commit becomes the
 * base. `report` is an open list of lines.
 */
enum err sync_part(struct sync *s, struct str commit, bool apply, struct json *report,
		   size_t *count);

/* Merges the local data into the salvaged files of a commit, splitting beads in the same way. */
enum err sync_part_known(struct sync *s, const struct snapshot *known, struct snapshot *all,
			 struct json *report, size_t *count);

/* --- sync_commit.c --- */

/*
 * Commits the base merged with the local changes. Without changes, the commit is the base itself.
 */
enum err sync_join(struct sync *s, struct str *commit);

/*
 * `same` is set if the files are those of the parent; then no commit is written and `commit` is the
 * parent.
 */
enum err sync_write_commit(struct sync *s, struct merge *m, struct str parent, struct str *commit,
			   bool *same);

/* --- sync_refs.c --- */

/* Whether this commit, or one before it, has the files of a store. */
bool sync_has_store(struct sync *s, struct str commit);
struct str sync_no_store(struct sync *s, struct str commit); /* the message for such a commit */

/*
 * Finds the object a local ref points to, and why it is not a store; `why` is absent if it is one.
 */
enum err sync_find_stray(struct sync *s, struct str ref, struct str *object, struct str *why);

/* Removes such a ref, and keeps its object with a backup ref. */
enum err sync_set_aside(struct sync *s, struct str ref, struct str object);

/*
 * Resets the remote's ref from an unusable object to the last usable commit, which becomes `there`.
 * `commit` is absent if there is nothing to publish.
 */
enum err sync_reset_remote(struct sync *s, struct str object, struct str *commit);

/* --- sync_pack.c --- */

/* Starts `abacus-sync pack` in the background once enough commits have been made. */
void sync_pack_later(struct sync *s, struct str commit);

#endif
