#ifndef STORE_REPO_REPO_REMOTE_H
#define STORE_REPO_REPO_REMOTE_H

#include "store/repo/repo.h"

/*
 * Our ref at a remote, which is reached by its address: a path, HTTP, or ssh (through the user's
 * own `ssh` with all its settings). Nothing prompts on a terminal.
 *
 * SYNC_FAILED: the remote cannot be reached. AUTH_FAILED: it refuses our credentials.
 * REMOTE_REJECTED: it refuses the push. REMOTE_DAMAGED: its ref does not point to an existing
 * commit.
 */
struct remote {
	struct repo *repo;
	struct str name, url;             /* without the password, for messages */
	struct str address, push_address; /* with the password */
	struct str from, to;              /* folders to fetch from, to push to; or absent */
	struct str refused;               /* why the last push lost a race, in the remote's words */
	bool replaces; /* a push may replace a damaged ref instead of building on it */
	bool forced;   /* a push may replace the ref by an unrelated commit: only we write it */
	bool mirror; /* a mirror: 'git push' refuses refs for it unless mirroring is switched off */

	bool known; /* this clone has had a commit of the remote */

	/* results of the last fetch */
	struct str unusable; /* the object that the ref points to, if it cannot be used */
	struct str why;      /* what is wrong with it; "is at the blob …" */
	struct str leads_to; /* the commit that the tag leads to; only if the remote is a folder */
	struct str shared; /* another ref at the same object, to which ours may be a symbolic ref */
	bool machines;     /* it has logs of machines that share */
	bool broken;       /* the ref cannot be used: REMOTE_DAMAGED */
	bool cut_short;    /* the ref is listed, but its objects did not arrive */
};

/* `url` is absent if there is no such remote. */
enum err remote_open(struct call *c, struct repo *r, struct str name, struct remote *out);

/* SYNC_FAILED: there is no such remote. The hint is `advice`, and the command that adds it. */
enum err remote_missing(struct call *c, const struct remote *m, const char *advice);

/* Is the remote's address a local path, whether or not it exists? */
bool remote_is_folder(struct call *c, const struct remote *m);

/* The commit that the remote's ref points to; absent: there is no such ref. */
enum err remote_look(struct call *c, struct remote *m, struct str ref, struct str *commit);

/*
 * Like remote_look(), but also fetches the commit with its history, unless it equals `known`. The
 * fetched objects are in quarantine: see repo_quarantine_admit().
 */
enum err remote_fetch(struct call *c, struct remote *m, struct str ref, struct str known,
		      struct str *commit);

/*
 * The same, with every object of the history, also those that are in this clone, because they may
 * be damaged here.
 */
enum err remote_fetch_whole(struct call *c, struct remote *m, struct str ref, struct str *commit);

/* The same as repo_check_packs(), if the remote is a folder. */
enum err remote_check_packs(struct call *c, struct remote *m, struct str ref);

/* REMOTE_DAMAGED: the history of the ref's commit cannot be used. */
enum err remote_refuse(struct call *c, struct remote *m, struct str ref, struct str commit,
		       const struct repo_fault *fault);

/* REMOTE_DAMAGED: our ref may be symbolic, so that a push would write to another ref (`shared`). */
enum err remote_refuse_shared(struct call *c, const struct remote *m, struct str ref);

/* SYNC_FAILED: the remote reported success, but its ref does not have the change. */
enum err remote_not_kept(struct call *c, const struct remote *m);

/* A shell command that deletes the ref, unless the server reports that it is symbolic. */
struct str remote_delete_command(struct call *c, const struct remote *m, struct str ref);

/*
 * Moves the remote's ref from `old` (absent: it must not exist) to the commit that our ref `from`
 * points to. `moved` is false if another client was faster.
 */
enum err remote_push(struct call *c, struct remote *m, struct str from, struct str ref,
		     struct str commit, struct str old, bool *moved);

/* Like repo_ref_locked(), if the remote is a folder; false for other remotes. */
struct lock_found;
bool remote_ref_locked(struct call *c, struct remote *m, struct str ref, struct lock_found *found,
		       struct str *fix);

/* The ssh transport. */
struct git_transport;
struct git_remote;
int ssh_transport(struct git_transport **out, struct git_remote *owner, void *param);
bool ssh_address(struct str url);

/* The error output of ssh; "" if none. */
const char *ssh_complaint(void);

/* "git push --force origin REF" */
struct str remote_force_command(struct call *c, const struct remote *m, struct str ref);

#endif
