#ifndef STORE_REPO_REPO_PARTS_H
#define STORE_REPO_REPO_PARTS_H

#include <git2.h>

#include "base/map.h"
#include "store/repo/repo.h"

/* Shared by the files of this folder only. */

enum { REPO_HAVES = 2 };

/*
 * Commits and trees of our histories have a few hundred bytes. Of larger ones, at most
 * REPO_LARGE_MOST bytes are read in all, because a few bytes of a pack can stand for a folder of a
 * million names.
 */
static const size_t REPO_LARGE = (size_t)8 << 10, REPO_LARGE_MOST = (size_t)64 << 20;

static const size_t REPO_TREE_MOST = (size_t)16 << 20;

/* Sums of sizes end here: a few folders, each of which has the next one twice, have any size. */
static const size_t REPO_SIZE_MOST = (size_t)1 << 50;

/* The bytes of a hash, as a key of a map. */
static inline struct str repo_oid_key(const git_oid *oid)
{
	return (struct str){ (const char *)oid->id, GIT_OID_RAWSZ };
}

/* A stack of the objects that are still to be visited. */
struct repo_todo {
	git_oid *oid;
	size_t count, most;
};

static inline void repo_todo_add(struct arena *mem, struct repo_todo *t, const git_oid *oid)
{
	t->oid = arena_stack(mem, t->oid, t->count, &t->most, sizeof *t->oid);
	t->oid[t->count++] = *oid;
}

struct repo {
	git_repository *git;
	git_odb *odb;
	int64_t file_most;
	const char *const *known; /* names of the store's files */
	size_t known_count;
	git_odb_object **held; /* objects whose content is in use */
	size_t held_count;
	git_odb *own;                 /* the user's objects, while there is a quarantine; or NULL */
	struct call *call;            /* the call that opened the quarantine */
	struct str haves[REPO_HAVES]; /* commits that existed before the fetch; or absent */
	struct map left_out; /* files and folders that a fetch did not copy; value: size_t */
	size_t beside;       /* bytes of files beside the store that a fetch from a folder found */
	struct str damaged;  /* the file of a loose object that cannot be read; or absent */
	struct str damage;   /* why */
	bool elsewhere;      /* a remote that is a folder */
};

struct str repo_hex(struct arena *mem, const git_oid *oid);
bool repo_oid_of(struct str name, git_oid *out); /* false: not a whole object id */

/* Git's objects folder. */
struct str repo_objects(struct call *c, struct repo *r);

/* Makes libgit2 read the loose objects in these folders, and in those that their file
 * `info/alternates` names, with repo_loose.c. */
int repo_loose_add(struct call *c, struct repo *r, git_odb *odb, const struct str *objects,
		   size_t count);

/* DAMAGED, if a loose object that was read in this clone is damaged. No remote is at fault then. */
enum err repo_check_loose(struct call *c, const struct repo *r);

/*
 * Refuses a branch that libgit2 could not check out without writing through one of its links: trees
 * that break the rules of Git, and names that are equal where case is ignored; or without a lot of
 * memory for its attributes. Each tree is read once.
 */
enum err repo_layout_check(struct call *c, struct repo *r, const git_reference *branch);

/* --- files beside the store --- */

/* Is this entry of a commit not a file of the store? `depth` is 0 if it is not in a folder. */
bool repo_is_beside(const struct repo *r, const git_tree_entry *entry, int depth);

/*
 * The limit for the files beside the store that one fetch brings. It is twice that of one commit:
 * if two clones put files there, the history has those of both.
 */
size_t repo_fetch_most(const struct repo *r);

/* Is the object in the quarantine, or left out by the fetch? */
bool repo_was_fetched(const struct repo *r, const git_oid *oid);

/* Measures files and folders, each object once. */
struct repo_beside {
	struct repo *repo;        /* has the objects */
	const struct repo *names; /* has the names of the store's files */
	struct map sizes;         /* value: size_t */
	size_t large; /* bytes of large folders; those beyond the limit count as empty */
};

/* The size of a file, or of all files in a folder. */
size_t repo_beside_size(struct repo_beside *b, const git_tree_entry *entry);

/* The size of all files beside the store in the tree of a commit; `name`: the largest entry. */
size_t repo_beside_sum(struct repo_beside *b, const git_tree *tree, struct str *name);
size_t repo_size_add(size_t a, size_t b); /* at most REPO_SIZE_MOST */

/*
 * Opens the quarantine: objects are written there until repo_quarantine_admit() or
 * repo_quarantine_drop().
 */
enum err repo_quarantine_begin(struct call *c, struct repo *r, const struct str haves[REPO_HAVES]);

/*
 * The same for a whole history, of which every object is fetched, because those of the user may be
 * damaged: these cannot be read until repo_quarantine_end_whole().
 */
enum err repo_quarantine_begin_whole(struct call *c, struct repo *r);
enum err repo_quarantine_end_whole(struct call *c, struct repo *r);

/*
 * Makes libgit2 see only refs at these commits, until repo_show_all(), which must always be called
 * afterwards.
 */
int repo_show_only(git_repository *git, const struct str *commits, size_t count,
		   git_refdb **before);
void repo_show_all(git_repository *git, git_refdb *before);

/*
 * Copies the objects of a commit in another folder that are missing here. Stops at the commits in
 * `known`, which are complete here. Files and folders that are too large, alone or together, are
 * left out; repo_check() reports them.
 */
int repo_copy_from(struct repo *there, struct repo *here, struct str commit,
		   const struct str *known, size_t count);

/*
 * Like repo_copy_from(), between object databases, for a commit that has passed repo_check(). If
 * `most` objects are missing, which is all of them, nothing is written and `all` is set: the caller
 * can move the pack instead. `again`: objects that are there count as missing.
 */
int repo_copy_objects(git_repository *from, git_odb *to, struct str commit, const struct str *known,
		      size_t count, size_t most, bool again, bool *all);

#endif
