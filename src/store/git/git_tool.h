#ifndef STORE_GIT_GIT_TOOL_H
#define STORE_GIT_GIT_TOOL_H

#include "base/call.h"
#include "store/git/git_index.h"

/*
 * Queries of the user's own `git` about a worktree, run in `dir`: only Git knows which index a
 * commit in progress uses, and which files are ignored. A failure is INTERNAL_ERROR with Git's
 * message; QUERY_TIMEOUT if Git took too long or printed too much, and was killed.
 */

/* A file, relative to the root of the worktree. */
struct git_path {
	struct str path;
	struct git_path *next;
};

/*
 * The files staged for a commit. For a merge, only files that differ from both sides: other changes
 * were made elsewhere.
 */
enum err git_staged(struct call *c, struct str dir, struct git_path **out);

/* The changed files. The timeout is a few seconds: ignore patterns can make Git search for ever. */
enum err git_changed(struct call *c, struct str dir, struct git_path **out);

/*
 * The files that a push changes at the remote. `lines` is the input of a pre-push hook. Included
 * are the pushed commits that no remote-tracking ref has, on all lines of history and regardless of
 * dates; for a merge, the differences from the automatic merge of its parents; and the commits that
 * a forced push removes from a branch. A file may be listed more than once.
 */
enum err git_pushed(struct call *c, struct str dir, struct str lines, struct git_path **out);

/*
 * Is `path`, relative to the root of the worktree, tracked in this index file, which may be a split
 * index? TRACKED_NO, TRACKED_YES or TRACKED_ABOVE.
 */
struct repository;
enum err git_tracks(struct call *c, const struct repository *repo, struct str index,
		    struct str path, enum tracked *tracked);

/*
 * The content of a folder of the worktree: the spelling of its name in the index (absent: no file
 * in it is tracked), and its untracked files.
 */
struct git_folder {
	struct str name;
	struct git_path *untracked;
};
enum err git_folder(struct call *c, const struct repository *repo, struct str path,
		    struct git_folder *out);

/* Stages the changes of a tracked file for the commit in progress; an untracked file stays so. */
enum err git_stage(struct call *c, struct str dir, struct str path);

/* The repository's hooks folder. */
enum err git_hooks_dir(struct call *c, struct str dir, struct str *out);

/* Decodes a path that Git printed in quotes because of unusual characters. */
struct str git_unquote(struct arena *mem, struct str path);

#endif
