#ifndef STORE_COMMIT_DB_H
#define STORE_COMMIT_DB_H

#include "base/call.h"

/*
 * Which files each commit of the repository has changed, and which beads its message names:
 * `history.db` in the store's folder. It is a cache: `abacus-sync learn` fills it from Git, and
 * continues after the commits that it has read before. Deleting it is always safe.
 *
 * Commits are numbered from the oldest. Folders are files whose path ends with a slash, so that
 * the commits that changed a folder are found as fast as those that changed a file.
 */
struct commit_db {
	struct db *db; /* NULL: there is no such file */
};

enum { COMMIT_FILES_MOST = 100 }; /* files of a larger commit say nothing about each other */

/* A damaged or outdated file counts as missing: a reader gets no database, a writer a new one. */
enum err commit_db_open(struct call *c, struct str home, bool write, struct commit_db *out);
void commit_db_close(struct commit_db *d);

/* For 'abacus doctor': looks for damage that opening the file does not find; with --fix, deletes
 * the file. */
struct mend;
enum err commit_db_mend(struct call *c, struct str home, struct mend *m);

/* Were the commits up to this one read? */
bool commit_db_has_tip(struct call *c, struct commit_db *d, struct str commit);

/* --- for the program that reads the commits; inside one transaction --- */

/* The commits whose history was read, and the one that HEAD was at (absent: none). */
enum err commit_db_tips(struct call *c, struct commit_db *d, struct str **out, size_t *count,
			struct str *head);
enum err commit_db_set_tips(struct call *c, struct commit_db *d, const struct str *tips,
			    size_t count, struct str head);
enum err commit_db_clear(struct call *c, struct commit_db *d);

/* A commit; `files` may be empty, for a merge or a large commit. */
struct commit_row {
	struct str name, author, summary;
	int64_t time_ms;
	const struct str *files;
	size_t file_count;
	const struct str *beads; /* the ids that its message names */
	size_t bead_count;
};
struct commit_writer;
struct commit_writer *commit_writer_new(struct call *c, struct commit_db *d);
enum err commit_writer_put(struct commit_writer *w, const struct commit_row *row);
enum err commit_writer_end(struct commit_writer *w); /* commits the transaction */

/* --- for readers --- */

/* A commit that names a bead, newest first. */
struct commit_named {
	struct str name, author, summary;
	int64_t time_ms;
	struct commit_named *next;
};
enum err commit_db_named(struct call *c, struct commit_db *d, struct str bead, size_t most,
			 struct commit_named **out);

/* A file, and how many of the commits in question changed it. The more files a commit changes, the
 * less it says about two of them: its weight is COMMIT_WEIGHT, divided by
 * the number of other files. */
enum { COMMIT_WEIGHT = 10000 };
struct commit_file {
	int64_t file; /* its number */
	struct str path;
	int64_t commits;
	int64_t weight; /* of those commits */
};

/* The files that commits changed which name this bead; by path. */
enum err commit_db_touched(struct call *c, struct commit_db *d, struct str bead,
			   struct commit_file **out, size_t *count);

/*
 * The files that the last `most` commits changed which changed this scope (a normalised path of a
 * file or a folder), each in two of them at least, by number; `weight` is that of all
 * those commits.
 */
enum err commit_db_together(struct call *c, struct commit_db *d, struct str scope, int64_t most,
			    struct commit_file **out, size_t *count, int64_t *weight);

/* Is it the path of a file or a folder that a commit has changed? */
bool commit_db_knows(struct call *c, struct commit_db *d, struct str path);

#endif
