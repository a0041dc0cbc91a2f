#ifndef STORE_GIT_GIT_TOOL_H
#define STORE_GIT_GIT_TOOL_H

#include "base/call.h"
#include "store/git/git_index.h"

/*
 * What the user's own `git` says of a worktree, as seen from `dir`: it alone knows which index a
 * commit under way is made from, and what is ignored. A failure is INTERNAL_ERROR, with what it
 * said; QUERY_TIMEOUT, if it took too long and was ended.
 */

/* A file, from the root of the worktree. */
struct git_path {
	struct str path;
	struct git_path *next;
};

/* Of a merge, only what neither side has: what comes from elsewhere was made there. */
enum err git_staged(struct call *c, struct str dir, struct git_path **out);

/* Gets a few seconds only: the patterns of a repository can make Git search for ever. */
enum err git_changed(struct call *c, struct str dir, struct git_path **out);

/*
 * The files that a push changes at the remote. `lines` is what Git tells a pre-push hook. Counted
 * are the commits that are pushed and that no remote is known to have, on all lines of their
 * history, whatever their dates say; of a merge, what differs from the automatic merge of its
 * parents; and the commits that a forced push takes away from a branch. A file may be named more
 * than once.
 */
enum err git_pushed(struct call *c, struct str dir, struct str lines, struct git_path **out);

/* What the index in that file says of `path`, from the root of the worktree. It may be a split
 * one; TRACKED_NO, TRACKED_YES or TRACKED_ABOVE. */
struct repository;
enum err git_tracks(struct call *c, const struct repository *repo, struct str index,
		    struct str path, enum tracked *tracked);

/* What is in a folder of the worktree: how the index spells the folder's name (absent: it tracks
 * nothing there), and the files that it does not track. */
struct git_folder {
	struct str name;
	struct git_path *untracked;
};
enum err git_folder(struct call *c, const struct repository *repo, struct str path,
		    struct git_folder *out);

/* Where the hooks of the repository are. */
enum err git_hooks_dir(struct call *c, struct str dir, struct str *out);

/* A path as Git prints it, in quotes where something in it is unusual. */
struct str git_unquote(struct arena *mem, struct str path);

#endif
