#ifndef STORE_REPO_REPO_LOGS_H
#define STORE_REPO_REPO_LOGS_H

#include "store/repo/repo_remote.h"

/*
 * The logs of machines (machines/log.h) as Git objects. They are written by strangers and replaced
 * often, so they never get among the user's objects: they are in a folder of their own, which can
 * be deleted at any time. No local ref points to them.
 */

/* Opens the user's repository, with its settings, but with the objects of `folder`. */
enum err logs_open(struct call *c, struct str gitdir, struct str folder, struct repo **out);

/* A ref at the remote. */
struct log_head {
	struct str ref, commit;
	bool wanted;   /* set by the caller's `wants`: its objects are to be fetched */
	bool failed;   /* they could not be fetched */
	bool left_out; /* set by `wants`: it is not listed */
};

struct log_fetch {
	struct str prefix;  /* of the refs */
	size_t most;        /* maximum number of refs; the rest is ignored */
	int64_t bytes_most; /* maximum size of a download */
	bool singly;        /* one ref at a time, because a download of all failed before */
	/* asked about each ref; may change `wanted` and `left_out` */
	void (*wants)(void *arg, struct log_head *head);
	/* called before and after a download, which may end the process; or NULL */
	void (*about)(void *arg, const struct log_head *head, bool done);
	void *arg;
	const struct str *haves; /* commits whose objects are here */
	size_t have_count;

	/* results */
	struct log_head *head;
	size_t count;
	struct repo *there; /* the remote itself, if it is a folder: its objects are not copied */
};

/* Lists the refs and fetches the wanted ones, in one connection. */
enum err logs_fetch(struct call *c, struct remote *m, struct log_fetch *f);
void logs_fetch_end(struct log_fetch *f);

/* A file of a commit, by its path. Absent: there is none, or it has more than `most` bytes. */
enum err logs_read(struct call *c, struct repo *r, struct str commit, const char *path,
		   int64_t most, struct str *out);

/* Writes a commit without a parent. The path of a file has at most one folder. */
struct logs_file {
	struct str path, text;
};
enum err logs_write(struct call *c, struct repo *r, const struct logs_file *file, size_t count,
		    struct str message, struct str *commit);

/*
 * Moves the ref at the remote from `old` (absent: it must not exist) to a commit that may be
 * unrelated to it. `moved` is false if another client was faster.
 */
enum err logs_push(struct call *c, struct remote *m, struct str ref, struct str commit,
		   struct str old, bool *moved);

/* Deletes a ref at the remote; it need not exist. */
enum err logs_delete(struct call *c, struct remote *m, struct str ref);

/*
 * Copies the objects of these commits into a new folder, which replaces the old one, if that has
 * grown. The handle must be opened again.
 */
enum err logs_tidy(struct call *c, struct repo *r, struct str folder, const struct str *commits,
		   size_t count, bool *done);

#endif
