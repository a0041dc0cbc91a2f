#ifndef STORE_REPO_REPO_REMOTE_H
#define STORE_REPO_REPO_REMOTE_H

#include "store/repo/repo.h"

/*
 * A ref at a remote. It is spoken to over whatever the address says: a path, HTTP, ssh (through
 * the user's own `ssh`, with all its settings). Nothing ever asks on a terminal.
 *
 * SYNC_FAILED if it cannot be reached, AUTH_FAILED if it does not want to know us,
 * REMOTE_REJECTED if it does not take what we give it, REMOTE_DAMAGED if its ref is not at a
 * commit that it has.
 */
struct remote {
	struct repo *repo;
	struct str name, url;             /* without the password, for messages */
	struct str address, push_address; /* with it */
	struct str from, to;              /* folders to fetch from, to push to; or absent */
	struct str refused;               /* why the last push lost a race, in the remote's words */
	bool replaces; /* a push need not go on from what is there, which is damaged */
	bool mirror;   /* 'git push' takes no refs for it, unless it is told otherwise */

	/* of the last fetch */
	struct str unusable; /* the object that the ref is at, if it cannot be used */
	struct str why;      /* what is wrong with it; "is at the blob …" */
	struct str leads_to; /* the commit that it leads to, if it is a tag in a folder */
	struct str
		shared; /* another ref that is at the same object; ours may be a symbolic ref to it */
	bool broken;    /* the ref cannot be used: REMOTE_DAMAGED */
	bool cut_short; /* the ref is listed, and what it is at did not come */
};

/* `url` is absent where there is no such remote. */
enum err remote_open(struct call *c, struct repo *r, struct str name, struct remote *out);

/* Is its address a path on this machine, whether there is something or not? */
bool remote_is_folder(struct call *c, const struct remote *m);

/* Where the ref is; absent: it is not there. */
enum err remote_look(struct call *c, struct remote *m, struct str ref, struct str *commit);

/* The same, and gets all that the commit has, unless `known` is where it is. What came is kept
 * apart: see repo_admit(). */
enum err remote_fetch(struct call *c, struct remote *m, struct str ref, struct str known,
		      struct str *commit);

/* REMOTE_DAMAGED: the history of the commit that the ref is at cannot be used. */
enum err remote_refuse(struct call *c, struct remote *m, struct str ref, struct str commit,
		       const struct repo_fault *fault);

/* REMOTE_DAMAGED: a push might write to another ref (`shared`), because ours may be symbolic. */
enum err remote_refuse_shared(struct call *c, const struct remote *m, struct str ref);

/*
 * Moves the remote's ref from `old` (absent: it must not be there) to the commit to which our own
 * ref `from` points. `moved` is false if another was faster.
 */
enum err remote_push(struct call *c, struct remote *m, struct str from, struct str ref,
		     struct str commit, struct str old, bool *moved);

/* The same as repo_ref_locked(), where the remote is a folder; of others nobody knows. */
bool remote_ref_locked(struct call *c, struct remote *m, struct str ref, struct str *lock,
		       struct str *fix);

/* For the transport over ssh. */
struct git_transport;
struct git_remote;
int ssh_transport(struct git_transport **out, struct git_remote *owner, void *param);
bool ssh_address(struct str url);

/* What ssh said when it failed; "" if nothing. */
const char *ssh_complaint(void);

#endif
