#ifndef SYNC_SYNC_PARTS_H
#define SYNC_SYNC_PARTS_H

#include "base/map.h"
#include "base/text/json.h"
#include "beads/beads.h"
#include "beads/model/news.h"
#include "store/repo/repo_remote.h"
#include "sync/sync.h"

/* What the files of a sync share; nobody else needs it. */

/*
 * Of commits: `base` is what the journal says has all before a place; `there` is where the
 * remote's ref is, `seen` where it was when we last looked; `here` is our own ref.
 */
struct sync {
	struct call *c;
	const struct sync_wants *wants;
	struct beads b;
	struct repo *repo;
	struct remote remote;
	struct str ref, tracking;
	struct str base, there, seen, here;
	struct str made;                /* a commit of ours that may not have been published */
	struct journal_place made_upto; /* it has what the journal has up to here */
	struct pending pending;
	struct journal_place sealed;
	struct news forgot;      /* on the way to the commit */
	struct state *rewritten; /* lines of others, to be published in normal form */
	struct json remapped;
	struct map reported;
	int64_t pulled, pushed, attempts, started_ms;
	struct str lost_at; /* where the remote's ref was at the last lost race */
	int64_t stuck;      /* how many races in a row were lost to nobody */
	struct str warning;
	bool published;
	struct lost_claim *lost; /* by the writes of others that came with it */
	bool repairs;            /* a history that cannot be read is what it is about */
	int64_t file_most;       /* bytes of a file that others would read */
};

/* Says what comes next; tells the user beside a success. */
void sync_doing(struct sync *s, const char *what);
void sync_warn(struct sync *s, struct str text);

/* --- sync.c --- */

/* The repository, the ref and the remote; one at a time in a repository. */
enum err sync_open(struct sync *s);
enum err sync_alone(struct sync *s, struct lock *lock);
enum err sync_fetch(struct sync *s);
enum err sync_move_here(struct sync *s, struct str commit, bool *moved);

/* Commits what is known here to our own ref, without asking the remote. */
enum err sync_commit_own(struct sync *s);

/* What a new commit goes on from: all that was ever published stays in its history. */
struct str sync_parent(const struct sync *s);

/* Those who had to leave their ids, as far as `known` (or NULL) did not tell. */
void sync_report_remaps(struct sync *s, const struct state *now, const struct state *known);

/* --- sync_journal.c --- */

/* What is not in a commit yet, up to where the journal ends now, and on the medium. */
enum err sync_seal(struct sync *s);

/*
 * From now on this commit is the base. What is new in it is told line by line, unless that is too
 * much, or something was forgotten: an id may be another's since.
 */
enum err sync_rebase(struct sync *s, struct str commit, struct journal_place upto,
		     const struct news *news);

/* Opens the store for writing, if the journal still ends where it was sealed. */
enum err sync_hold(struct sync *s);

/*
 * The journal begins anew: the commit is the base, and this is all that was written since. For a
 * store that sync_hold() has opened.
 */
enum err sync_restart(struct sync *s, struct str commit, struct state *pending);

/* --- sync_take.c --- */

/* Makes a commit of others a part of the base. */
enum err sync_take_in(struct sync *s, struct str commit);
enum err sync_backup(struct sync *s, struct str commit);

/*
 * Nothing of it is known here: every line of it has to be readable. Lines that are not in their
 * normal form are kept, and sync_join() normalizes them.
 */
enum err sync_check(struct sync *s, const struct snapshot *files);

/* --- sync_lost.c --- */

/*
 * Joins a commit, the first side of the merge, with what was known before it, the second. What is
 * left of the merge's changes is what the commit has lost.
 */
enum err sync_lost(struct sync *s, struct merge *m, bool *lost);

/* --- sync_fit.c --- */

/* What would come of a join that nobody could read: a bead, an edge, meta.json, a file. */
struct misfit {
	enum snapshot_file file;
	struct str key; /* absent: the file as a whole */
	struct str why;
	struct misfit *next;
};
struct misfit *sync_misfits(struct sync *s, const struct merge *m);

/* REMOTE_DAMAGED, with the place in the commit that it was to be joined to. */
enum err sync_refuse(struct sync *s, const struct snapshot *files, const struct misfit *misfit);
enum err sync_fits(struct sync *s, const struct merge *m);

/* The same for a commit, what is known beside it (or NULL) and what was written here. */
enum err sync_fits_change(struct sync *s, const struct snapshot *commit,
			  const struct snapshot *known, const struct state *change);

/* The same for the lines that a commit itself has of one bead. */
enum err sync_fits_itself(struct sync *s, const struct snapshot *files);

/* In which file and line a commit has it, from 1; 0: it does not have it. */
size_t sync_place_of(struct sync *s, const struct snapshot *files, const struct misfit *misfit,
		     enum snapshot_file *file);

/* --- sync_part.c --- */

/*
 * Where a commit and what is known here cannot be joined: the commit's version of a bead stays as
 * it is, and the one that is known here becomes another bead. With `apply`, the commit is the
 * base from then on. `report` is an open list, of lines.
 */
enum err sync_part(struct sync *s, struct str commit, bool apply, struct json *report,
		   size_t *count);

/* The same for what could be read of a commit: what is known is joined to it. */
enum err sync_part_known(struct sync *s, const struct snapshot *known, struct snapshot *all,
			 struct json *report, size_t *count);

/* --- sync_commit.c --- */

/* The base with what was written since: a new commit, or the base itself. */
enum err sync_join(struct sync *s, struct str *commit);

/* `same`: its files are those of the parent, which is the commit then. */
enum err sync_write_commit(struct sync *s, struct merge *m, struct str parent, struct str *commit,
			   bool *same);

/* --- sync_refs.c --- */

/* Has this commit the files of a store, or one of those before it? */
bool sync_has_store(struct sync *s, struct str commit);
struct str sync_no_store(struct sync *s, struct str commit); /* the words for it */

/* What a ref of this clone is at, and why that is no store; `why` is absent if it is one. */
enum err sync_find_stray(struct sync *s, struct str ref, struct str *object, struct str *why);

/* Removes such a ref; what it was at is kept as a backup ref. */
enum err sync_set_aside(struct sync *s, struct str ref, struct str object);

/*
 * Sets the remote's ref, which is at an object that cannot be used, to the last commit that can;
 * that is `there` from then on. Absent: nothing is known that could be published.
 */
enum err sync_reset_remote(struct sync *s, struct str object, struct str *commit);

/* --- sync_pack.c --- */

/* Every so many commits, as a process that nobody waits for. */
void sync_pack_later(struct sync *s, struct str commit);

#endif
