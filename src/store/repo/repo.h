#ifndef STORE_REPO_REPO_H
#define STORE_REPO_REPO_H

#include "base/call.h"

/*
 * The user's Git repository; only our own refs and commits are written. Only `abacus-sync` is
 * linked with this layer; see beads/git_process.h.
 *
 * A commit is named by its hash in hexadecimal; an absent string means no commit.
 */
struct repo;

/*
 * Opens exactly this Git directory, without a search. The caller has already checked its owner by
 * the rules of store/owner.h; the owner check of libgit2, which differs from Git's, is off.
 */
enum err repo_open(struct call *c, struct str gitdir, struct repo **out);
void repo_close(struct repo *r);

/*
 * Sets the umask of this process to the permissions that core.sharedRepository of this repository
 * asks for. Without that setting, only the owner may write to new files, whatever the umask was.
 */
void repo_set_umask(struct repo *r);

/* --- refs --- */

/*
 * The commit that a ref points to; absent if there is no such ref. DAMAGED if the ref does not
 * point to an existing commit.
 */
enum err repo_ref(struct call *c, struct repo *r, struct str name, struct str *commit);

/*
 * Like repo_ref(), but reports a damaged ref in `fault` ("is at the tree …") instead of failing;
 * absent: the ref is intact.
 */
enum err repo_ref_fault(struct call *c, struct repo *r, struct str name, struct str *commit,
			struct str *fault);

/*
 * Moves a ref from `old` (absent: it must not exist) to `new`; `moved` is false if another process
 * has moved it meanwhile.
 */
enum err repo_ref_move(struct call *c, struct repo *r, struct str name, struct str old,
		       struct str new, bool *moved);
enum err repo_ref_put(struct call *c, struct repo *r, struct str name, struct str commit);

/* Finds an existing ref that prevents the creation of this one: Git allows no ref below another. */
enum err repo_ref_room(struct call *c, struct repo *r, struct str name, struct str *other);

/* DAMAGED if the ref cannot be moved: a symbolic ref is never written to. */
enum err repo_ref_movable(struct call *c, struct repo *r, struct str name);

/* Is the ref a branch that is checked out, in whichever worktree? */
bool repo_ref_is_checked_out(struct call *c, struct repo *r, struct str name);

/* Is there a ref that matches? '*' stands for anything. */
bool repo_has_refs(struct repo *r, const char *glob);
enum err repo_ref_drop(struct call *c, struct repo *r, struct str name);

/*
 * Removes lock files that our own processes left at our refs when they died. Moving a ref removes
 * its stale lock anyway; this is for locks that would stop the user's own Git.
 */
void repo_sweep_locks(struct call *c, struct repo *r, struct str ref);

/* Does a lock file prevent this ref from being moved? `fix` is a command that removes it. */
struct lock_found;
bool repo_ref_locked(struct call *c, struct repo *r, struct str name, struct lock_found *found,
		     struct str *fix);

/* The names of refs below a prefix, sorted. */
enum err repo_refs_below(struct call *c, struct repo *r, struct str prefix, struct str **names,
			 size_t *count);

/* --- commits --- */

struct commit {
	struct str name, parent; /* the first parent */
	struct str tree;
	int64_t time_ms;
};

bool repo_has(struct repo *r, struct str commit);

/* The type of an object; NULL: there is no such object. */
const char *repo_kind(struct repo *r, struct str name);
bool repo_is_commit(struct repo *r, struct str name);
enum err repo_commit(struct call *c, struct repo *r, struct str name, struct commit *out);

/* The commit itself, or the commit that a tag leads to; absent: neither. */
struct str repo_peel(struct call *c, struct repo *r, struct str name);

/* Resolves a commit as a person names it: a hash or its start, a ref, `ref~2`. */
enum err repo_find(struct call *c, struct repo *r, struct str spec, struct str *commit);

/* Is `a` the same commit as `b`, or an ancestor of it? */
bool repo_reaches(struct repo *r, struct str b, struct str a);

/* --- branches for work on a bead --- */

/*
 * Makes a branch at the commit of HEAD, unless it exists. With `path`, a linked worktree of that
 * branch is made there, unless it exists. With `checkout`, HEAD moves to the branch, if it is at
 * the same commit and no merge or rebase is under way: neither index nor files change. `note` says
 * why something was not done; or absent.
 */
struct repo_branch {
	struct str name;
	struct str path; /* or absent */
	bool checkout;
	struct str note;
};
enum err repo_branch(struct call *c, struct repo *r, struct repo_branch *branch);

/* --- the files that commits change --- */

struct repo_change {
	struct str name, author, message;
	int64_t time_ms;
	const struct str *files; /* none: a merge, or more than `files_most`, or very long names */
	size_t file_count;
};
typedef enum err repo_change_visit(void *arg, const struct repo_change *change);

/* Which commits to visit: those of all branches, HEAD and `also`, without the history of `known`;
 * of those the `most` newest. */
struct repo_changes {
	struct str also;         /* or absent */
	const struct str *known; /* commits that are gone are ignored */
	size_t known_count;
	size_t most, files_most;
	repo_change_visit *visit; /* oldest commit first */
	void *arg;
	struct str head;  /* set: the commit of HEAD; or absent */
	struct str *tips; /* set: where the visit began */
	size_t tip_count;
};

/* Finds the commits to begin with, then visits. */
enum err repo_find_tips(struct call *c, struct repo *r, struct repo_changes *changes);
enum err repo_each_change(struct call *c, struct repo *r, struct repo_changes *changes);

/* The paths of the files of a commit, by name, at most `most`; `more`: these are not all. */
enum err repo_list_files(struct call *c, struct repo *r, struct str commit, size_t most,
			 struct str **out, size_t *count, bool *more);

/* How deep folders in a commit may be nested. */
enum { REPO_DEPTH = 100 };

/* What is wrong with a history: the commit, and a sentence that names the commit. */
struct repo_fault {
	struct str commit, why; /* absent: nothing */
	size_t size;            /* of files that are larger than repo_limit_files() allows; or 0 */
};

/*
 * Can Git read the whole history from `tip` back to the commits that `known` (or absent) reaches?
 * Every commit must be parsable with dates that Git can represent, its trees and files must exist
 * have the right type and size, and `git fsck` must accept its commits and trees. The content of
 * files is not read. The time grows with the number of new commits.
 */
enum err repo_check(struct call *c, struct repo *r, struct str tip, struct str known,
		    struct repo_fault *fault);

/*
 * The last commit along the first parents of `tip` whose whole history passes repo_check(); absent:
 * none.
 */
enum err repo_last_sound(struct call *c, struct repo *r, struct str tip, struct str *commit);

/*
 * Fails if a pack cannot be opened: libgit2 passes it over, and says that its objects do not exist.
 */
enum err repo_check_packs(struct call *c, struct repo *r);

/* --- quarantine of fetched objects --- */

/*
 * Objects from a remote stay in quarantine, apart from the user's objects, until they are checked:
 * so objects that break `git gc` or `git fsck` never get into the repository. Meanwhile they can be
 * read, and new objects are written to the quarantine, too.
 *
 * Moves all objects that a commit needs to the user's objects, and drops the rest.
 */
enum err repo_quarantine_admit(struct call *c, struct repo *r, struct str commit);

/* The same, also for objects that the repository has: they may be damaged there. */
enum err repo_quarantine_admit_whole(struct call *c, struct repo *r, struct str commit);
void repo_quarantine_drop(struct repo *r); /* drops the whole quarantine */

/* After a repair that failed because of a loose object: the next step is to move its file away. */
enum err repo_set_aside_loose(struct call *c, const struct repo *r);

/* Removes the quarantine of a process that was killed. Only one process may fetch at a time. */
void repo_sweep_fetched(struct call *c, struct repo *r);

/*
 * Larger files are refused before they are inflated: REMOTE_DAMAGED. The same limit holds for the
 * sum of all files of a commit that are not in `known`, the names of the store's files; those that
 * one fetch brings may have twice that.
 */
void repo_limit_files(struct repo *r, int64_t most, const char *const *known, size_t count);

/*
 * A file of a commit, and the hash of its blob; absent if the commit has no such file. The text is
 * valid until repo_forget().
 */
enum err repo_file(struct call *c, struct repo *r, struct str commit, const char *name,
		   struct str *text, struct str *blob);
void repo_forget(struct repo *r);
size_t repo_held(const struct repo *r); /* number of files in memory */
void repo_forget_after(struct repo *r, size_t held);

/* A file to be written: pieces of text in order, or an existing blob. */
struct repo_file {
	const char *name;
	const struct str *piece;
	size_t pieces;
	struct str blob; /* absent: made of the pieces */
};

/*
 * Writes the tree of these files durably. All other entries of the trees of the commits in `keep`
 * (absent ones are skipped) are preserved; where two commits differ in an entry, the greater hash
 * wins. Entries that repo_limit_files() does not allow together with those before them are left
 * out: other clones would refuse the commit.
 */
enum { REPO_KEEP = 2 };
enum err repo_tree(struct call *c, struct repo *r, const struct str keep[REPO_KEEP],
		   struct repo_file *files, size_t count, struct str *tree);
enum err repo_commit_tree(struct call *c, struct repo *r, struct str tree, struct str parent,
			  struct str message, struct str *commit);

/*
 * The number of commits after `from` (absent: of all commits) along the first parents of `to`; -1:
 * `from` is not among the first `most`.
 */
int64_t repo_distance(struct repo *r, struct str from, struct str to, int64_t most);

/*
 * repo_pack() writes a pack, with deltas, of the objects that a commit has and `before` (absent:
 * nothing) has not, and returns its name. repo_tidy() then removes the loose copies of those that
 * the pack has, and repo_replace_pack() an older pack, if the new one has all of its objects.
 */
enum err repo_pack(struct call *c, struct repo *r, struct str commit, struct str before,
		   struct str *pack);
enum err repo_tidy(struct call *c, struct repo *r, struct str commit, struct str before,
		   struct str pack);
enum err repo_replace_pack(struct call *c, struct repo *r, struct str old, struct str pack);
/* Removes temporary files of libgit2 that are older than a day, so their writer must be dead. */
void repo_sweep_objects(struct call *c, struct repo *r);

/* For the files of this folder only. */
struct git_repository;
struct git_repository *repo_git(struct repo *r);
enum err repo_fail(struct call *c, enum err code, const char *what, struct str of);

/* The errno of libgit2's last error, if this machine's disk or memory was its cause; or 0. */
int repo_disk_error(void);
const char *repo_error_text(void); /* of libgit2's last error */
bool repo_error_is(int klass);     /* is its class this one? */

/* Before a write: libgit2 may fail without setting an error, and would leave an earlier one. */
void repo_forget_error(void);

#endif
