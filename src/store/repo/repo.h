#ifndef STORE_REPO_REPO_H
#define STORE_REPO_REPO_H

#include "base/call.h"

/*
 * The user's Git repository, of which we touch our refs and our commits and nothing else. Only
 * `abacus-sync` is linked with this; see beads/git_process.h.
 *
 * A commit is named by its hash in hexadecimal; an absent one is none.
 */
struct repo;

/*
 * Exactly this Git directory. The caller has decided whether its owner may be trusted, by the
 * rules of store/owner.h: libgit2 has rules of its own, which differ from Git's, and is not
 * asked.
 */
enum err repo_open(struct call *c, struct str gitdir, struct repo **out);
void repo_close(struct repo *r);

/* From here on this process creates files with the permissions that core.sharedRepository of this
 * repository asks for; without it, nobody else may write to them, whatever the umask was. */
void repo_set_umask(struct repo *r);

/* --- refs --- */

/* Where a ref points; absent if there is no such ref. DAMAGED if it is not a commit that the
 * repository has. */
enum err repo_ref(struct call *c, struct repo *r, struct str name, struct str *commit);

/* The same; `fault` is what is wrong with it ("is at the tree …"), or absent. */
enum err repo_ref_fault(struct call *c, struct repo *r, struct str name, struct str *commit,
			struct str *fault);

/*
 * Moves a ref from `old` (absent: it must not be there) to `new`; `moved` is false if it was
 * somewhere else meanwhile.
 */
enum err repo_ref_move(struct call *c, struct repo *r, struct str name, struct str old,
		       struct str new, bool *moved);
enum err repo_ref_put(struct call *c, struct repo *r, struct str name, struct str commit);

/* A ref that leaves no room for this one, which is not there: Git allows no ref below another. */
enum err repo_ref_room(struct call *c, struct repo *r, struct str name, struct str *other);

/* DAMAGED if a ref could not be moved: a symbolic ref is never written to. */
enum err repo_ref_movable(struct call *c, struct repo *r, struct str name);
enum err repo_ref_drop(struct call *c, struct repo *r, struct str name);

/*
 * Lock files that dead processes of ours left at our refs. A ref that is moved is cleared of them
 * anyway; this is for those that the user's own Git would trip over.
 */
void repo_sweep_locks(struct call *c, struct repo *r, struct str ref);

/*
 * Has a program left a lock at this ref, so that it cannot be moved? `fix` is a command that
 * removes it.
 */
bool repo_ref_locked(struct call *c, struct repo *r, struct str name, struct str *lock,
		     struct str *fix);

/* The names of refs below a prefix, sorted. */
enum err repo_refs_below(struct call *c, struct repo *r, struct str prefix, struct str **names,
			 size_t *count);

/* --- commits --- */

struct commit {
	struct str name, parent; /* the first parent */
	struct str tree;
	struct str author, summary;
	int64_t time_ms;
};

bool repo_has(struct repo *r, struct str commit);

/* What kind of object this is; NULL: there is none of that name. */
const char *repo_kind(struct repo *r, struct str name);
bool repo_is_commit(struct repo *r, struct str name);
enum err repo_commit(struct call *c, struct repo *r, struct str name, struct commit *out);

/* The commit that an object is, or that a tag leads to; absent: none. */
struct str repo_peel(struct call *c, struct repo *r, struct str name);

/* What a person names a commit by: a hash or its start, a ref, `ref~2`. */
enum err repo_find(struct call *c, struct repo *r, struct str spec, struct str *commit);

/* Is `a` the same as `b`, or one of those before it? */
bool repo_reaches(struct repo *r, struct str b, struct str a);

/* How deep folders in a commit may be nested. */
enum { REPO_DEPTH = 100 };

/* What is wrong with a history: the commit, and a sentence that names it. */
struct repo_fault {
	struct str commit, why; /* absent: nothing */
};

/*
 * Can Git read all of a history, from `tip` back to what `known` (or absent) reaches? Every
 * commit can be parsed and has dates that Git can represent, and its trees and files are there
 * and are what they should be. `git fsck` has nothing to say against commits and trees. What is
 * in the files is not read. The time it takes grows with the number of commits that are new.
 */
enum err repo_check(struct call *c, struct repo *r, struct str tip, struct str known,
		    struct repo_fault *fault);

/* The last commit on the way to `tip`, along first parents, whose whole history passes that
 * check; absent: none. */
enum err repo_last_sound(struct call *c, struct repo *r, struct str tip, struct str *commit);

/* --- what was fetched --- */

/*
 * What comes from a remote is kept apart from the user's objects until it was checked: objects
 * that break `git gc` or `git fsck` never get there. Until then it can be read, and what is
 * written is kept apart too.
 *
 * Makes all that a commit needs a part of the user's objects, and drops the rest.
 */
enum err repo_admit(struct call *c, struct repo *r, struct str commit);
void repo_turn_away(struct repo *r); /* drops all of it */

/* What a process that was killed left. Only one process may fetch at a time. */
void repo_sweep_fetched(struct call *c, struct repo *r);

/* Files of more bytes are not even inflated: REMOTE_DAMAGED. */
void repo_limit_files(struct repo *r, int64_t most);

/* A file of a commit, and the hash that names it; absent if it has no such file. It lives until
 * repo_forget(). */
enum err repo_file(struct call *c, struct repo *r, struct str commit, const char *name,
		   struct str *text, struct str *blob);
void repo_forget(struct repo *r);
size_t repo_held(const struct repo *r); /* how many files live now */
void repo_forget_after(struct repo *r, size_t held);

/* A file to be: runs of bytes one after the other, or a blob that is there. */
struct repo_file {
	const char *name;
	const struct str *piece;
	size_t pieces;
	struct str blob; /* absent: made of the pieces */
};

/*
 * The tree of these files, on the medium. Whatever else is in the trees of the commits in `keep`
 * (absent ones are none) stays; where two differ, the greater hash does.
 */
enum { REPO_KEEP = 2 };
enum err repo_tree(struct call *c, struct repo *r, const struct str keep[REPO_KEEP],
		   struct repo_file *files, size_t count, struct str *tree);
enum err repo_commit_tree(struct call *c, struct repo *r, struct str tree, struct str parent,
			  struct str message, struct str *commit);

/* How many commits come after one, on the way to another; -1: it is not on it. */
int64_t repo_distance(struct repo *r, struct str from, struct str to, int64_t most);

/*
 * A pack, with deltas, of what a commit has and `before` (absent: nothing) has not; its name.
 * What is in it need not lie around loose any more.
 */
enum err repo_pack(struct call *c, struct repo *r, struct str commit, struct str before,
		   struct str *pack);
enum err repo_tidy(struct call *c, struct repo *r, struct str commit, struct str before);
/* Temporary files of libgit2 that are older than a day: their writer is dead. */
void repo_sweep_objects(struct call *c, struct repo *r);
enum err repo_drop_pack(struct call *c, struct repo *r, struct str pack);

/* For the files of this layer alone. */
struct git_repository;
struct git_repository *repo_git(struct repo *r);
enum err repo_fail(struct call *c, enum err code, const char *what, struct str of);

#endif
