#ifndef STORE_REPO_REPO_REMOTE_PARTS_H
#define STORE_REPO_REPO_REMOTE_PARTS_H

#include "base/buf.h"
#include "store/repo/repo_parts.h"
#include "store/repo/repo_remote.h"

/* Shared by the files that reach a remote: repo_wire, repo_folder, repo_fetch and repo_push. */

/* --- a connection: repo_wire --- */

struct talk {
	struct call *c;
	struct remote *remote;
	git_remote *wire;
	struct str old; /* the value of our ref that a push expects at the remote */
	int tries;
	struct str refused; /* the remote's status for our ref */
	struct buf said;    /* output of the remote's hooks, as one line */
	int64_t bytes_most; /* maximum size of a download; 0: none */
};
git_remote_callbacks remote_callbacks(struct talk *t);

/*
 * Connects to an anonymous remote, without configured refspecs, so that only our ref is
 * transferred. `url.*.insteadOf` was applied when the address was read.
 */
enum err remote_connect(struct call *c, struct remote *m, git_direction direction,
			git_remote_callbacks *calls, git_remote **out);

/* The commit that the server lists for the ref; absent: none. */
enum err remote_find(struct call *c, struct remote *m, git_remote *remote, struct str ref,
		     struct str *commit);

/* Fails with the last message of libgit2 or of ssh: "cannot <doing> 'origin' (…): …". */
enum err remote_unreachable(struct call *c, const struct remote *m, int code, const char *doing);

/*
 * Messages of libgit2, of ssh and of the remote, made safe to show: they may quote the address or
 * the password.
 */
struct str remote_shown(struct call *c, const struct remote *m, struct str text);

/* Does the text contain one of the words? NULL ends them. */
bool remote_text_has(const char *text, const char *const *words);

/* Did libgit2 fail because an object is missing or malformed? */
bool remote_unreadable(void);

/* --- a remote that is a folder: repo_folder --- */

/*
 * Opens a folder that is a repository, or has one in `.git`. DUBIOUS_OWNERSHIP: it belongs to
 * another user. REMOTE_DAMAGED: one of its files, or the ref's own, is a FIFO or a device, on which
 * libgit2 would block for ever.
 */
enum err remote_open_folder(struct call *c, const struct remote *m, struct str path, struct str ref,
			    struct repo **out);

/*
 * Reads the ref of a remote that is a folder. libgit2 would omit a ref that it cannot read from its
 * list, and would read all the other refs. The caller closes `there`; it is NULL if the remote is
 * not a folder or cannot be opened, and then connecting to it reports the problem.
 */
enum err remote_look_at_folder(struct call *c, struct remote *m, struct str ref, bool fetch,
			       struct str *commit, struct repo **there);

/* --- refusals: repo_remote --- */

/*
 * A retry would not help: the ref must be repaired at the remote. `at` is the object that the ref
 * points to; absent: unknown.
 */
enum err remote_refuse_broken(struct call *c, struct remote *m, struct str ref, struct str at,
			      struct str fault);

/* The ref cannot be created: Git allows no ref below another. */
enum err remote_refuse_room(struct call *c, struct remote *m, struct str ref, struct str other);

#endif
