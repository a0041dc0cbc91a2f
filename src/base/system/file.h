#ifndef BASE_SYSTEM_FILE_H
#define BASE_SYSTEM_FILE_H

#include <sys/types.h>

#include "base/call.h"

/*
 * Whole files, in durable steps. A failure is INTERNAL_ERROR with the path and the system's
 * reason; a file that is not there is not a failure to file_read().
 */

void file_close(int *fd);
#define AUTO_FD __attribute__((cleanup(file_close))) int

enum { FILE_MOST = 64 * 1024 * 1024 }; /* larger files are refused, not read */

/* The content, or an absent string if there is no such file. Follows symbolic links: for the
 * files of the user and of Git. */
enum err file_read(struct call *c, struct str path, struct str *out);

enum { FILE_SETTINGS_MOST = 4 * 1024 * 1024 };

/* The same for settings of other programs, and scripts: somebody else may have chosen what is
 * there. Only a regular file is read, nobody waits for a FIFO or a terminal, and one that is
 * larger than FILE_SETTINGS_MOST is refused (INVALID_INPUT): such files have some kilobytes. */
enum err file_read_regular(struct call *c, struct str path, struct str *out);

/*
 * This program's own files are regular files, and never symbolic links: a repository can carry a
 * link to any file of the user's. A link fails with UNSAFE_PATH; a FIFO or a device fails too,
 * and nobody waits for it. All functions below work on own files, where the comment does not say
 * otherwise. The folders above are checked by store/folder.h.
 */
int file_own_open(struct arena *mem, struct str path, int flags, mode_t mode);
enum err file_own_check(struct call *c, struct str path); /* for a library that opens it by name */
enum err file_own_read(struct call *c, struct str path, struct str *out);

/* Old content or new content, never a mixture; on the medium before it returns. */
enum err file_own_replace(struct call *c, struct str path, struct str content, mode_t mode);

enum { FILE_PART_MOST = 1 << 30 }; /* a larger part is refused, not read */

/* At most `most` bytes (0: all) from a place in it; absent if there is no such file. */
enum err file_read_part(struct call *c, struct str path, int64_t from, size_t most,
			struct str *out);

/* The same, if the whole file has at most `largest` bytes; a larger file is refused, not read. */
enum err file_read_within(struct call *c, struct str path, int64_t largest, int64_t from,
			  size_t most, struct str *out);

/* INTERNAL_ERROR: a file is larger than this program reads. */
enum err file_too_large(struct call *c, struct str path, int64_t size, int64_t largest);

/* The next run of bytes from an open file; 0 at its end, -1 on an error. */
ssize_t file_some(int fd, char *p, size_t n);
bool file_write(int fd, struct str bytes);

/*
 * For the files of the user: old content or new content, never a mixture, whatever happens on the
 * way: a temporary file beside it, synced, renamed over it. A symbolic link stays one.
 */
enum err file_replace(struct call *c, struct str path, struct str content, mode_t mode);

/* A small file that has to be there, with this content, if there is none. It is not what the call
 * was asked to store. */
enum err file_provide(struct call *c, struct str path, struct str content, mode_t mode);

/*
 * The same for readers, but not on the medium when it returns: for what can be made again. `temp`
 * is the temporary file; only one process may use it at a time. The content is given in pieces.
 */
enum err file_swap(struct call *c, struct str path, struct str temp, const struct str *piece,
		   size_t count);

/* What those left who died while they replaced it. One process at a time. */
enum err file_remove_leftovers(struct call *c, struct str path);

/*
 * Adds one run of bytes at the end, on the medium before it returns; all of them or none, unless
 * that could not be undone: then the call's `stored` says so. Only one process may append at a
 * time: the caller has a lock.
 */
enum err file_append(struct call *c, struct str path, struct str bytes, mode_t mode);

/* The same for hints: not on the medium, and where it fails nobody is told. */
void file_append_hint(struct call *c, struct str path, struct str bytes, mode_t mode);

/* The content of a file, which is gone then; absent if there is no such file. Of several
 * processes one gets it. */
enum err file_own_take(struct call *c, struct str path, struct str *out);

/* Cuts off what is beyond so many bytes. */
enum err file_cut(struct call *c, struct str path, int64_t size);

/* A new file, with nothing in it, that may be lost with the power. */
enum err file_create(struct call *c, struct str path, mode_t mode);

enum err file_make_dir(struct call *c, struct str path, mode_t mode); /* with its parents */

/* Calls `see` with the name of everything in a folder; a folder that is not there is empty. */
enum err file_each(struct call *c, struct str dir, void (*see)(void *arg, struct str name),
		   void *arg);

/* The folder of a file that was just made, on the medium. */
enum err file_sync_dir(struct call *c, struct str path);

/* Is its last byte the end of a line? Of nothing, it is. */
enum err file_ends_line(struct call *c, struct str path, bool *yes);

/*
 * What a path leads to. A look that fails (for want of permission, a loop of links, a path that
 * is too long, a disk that cannot be read) is an error, never "nothing is there".
 */
enum file_kind { FILE_NONE, FILE_FOLDER, FILE_OTHER };
struct file_found {
	enum file_kind kind; /* FILE_NONE also where a link leads to nothing */
	int64_t size;        /* -1: nothing is there */
};
enum err file_look(struct call *c, struct str path, struct file_found *out);

/* After a call that failed: does errno say that nothing is there? */
bool file_missing(void);

/* For where a wrong "no" does no harm: caches, hints, what is reported again later. */
uint64_t file_number(struct arena *mem, struct str path); /* which one; 0: none */
uint64_t file_number_size(struct arena *mem, struct str path, off_t *size);
off_t file_size(struct arena *mem, struct str path); /* -1: there is no such file */
bool file_exists(struct arena *mem, struct str path);
bool file_is_dir(struct arena *mem, struct str path);

enum err file_remove(struct call *c, struct str path); /* one file; gone is fine */

/* A folder with all that is in it; symbolic links are removed, not followed. */
enum err file_remove_tree(struct call *c, struct str path);

/* INTERNAL_ERROR: "cannot <verb> '<path>': <errno's text>"; a link that is not followed:
 * UNSAFE_PATH. */
enum err file_fail(struct call *c, const char *verb, struct str path);

#endif
