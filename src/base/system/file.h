#ifndef BASE_SYSTEM_FILE_H
#define BASE_SYSTEM_FILE_H

#include <sys/types.h>

#include "base/call.h"

struct buf;

/*
 * Durable reads and writes of whole files. A failure is INTERNAL_ERROR with the path and the
 * system's reason; for file_read() a missing file is not a failure.
 */

void file_close(int *fd);
#define AUTO_FD __attribute__((cleanup(file_close))) int

enum { FILE_MOST = 64 * 1024 * 1024 }; /* larger files are refused, not read */

/*
 * Reads a file; `out` is absent if there is no such file. Follows symbolic links, so it is for the
 * user's and Git's files.
 */
enum err file_read(struct call *c, struct str path, struct str *out);

/*
 * Reads an open file. A negative `fd` is a failed open(), whose errno says whether the file exists.
 */
enum err file_read_all(struct call *c, struct str path, int fd, struct str *out);

/* Reads standard input to its end, or until there are more than `most` bytes (0: no limit). */
enum err file_read_input(struct call *c, size_t most, struct str *out);

enum { FILE_SETTINGS_MOST = 4 * 1024 * 1024 };

/*
 * Reads other programs' settings and scripts, where another user may have chosen what the path
 * leads to. Only a regular file is read, so the call never blocks on a FIFO or a terminal; a file
 * larger than FILE_SETTINGS_MOST is refused (INVALID_INPUT), since such files have a few kilobytes.
 */
enum err file_read_regular(struct call *c, struct str path, struct str *out);
enum err file_refuse_settings(struct call *c, struct str path, int64_t size); /* too large */

/*
 * This program's own files are regular files and never symbolic links: a repository can contain a
 * link to any file of the user. A link fails with UNSAFE_PATH; a FIFO or a device fails too,
 * without blocking. All functions below work on own files unless their comment says otherwise. The
 * parent folders are checked by store/folder.h.
 */
int file_own_open(struct arena *mem, struct str path, int flags, mode_t mode);
enum err file_own_check(struct call *c, struct str path); /* for a library that opens it by name */
enum err file_own_read(struct call *c, struct str path, struct str *out);

/* Replaces the file atomically; the new content is durable when this returns. */
enum err file_own_replace(struct call *c, struct str path, struct str content, mode_t mode);

enum { FILE_PART_MOST = 1 << 30 }; /* a larger part is refused, not read */

/* Reads at most `most` bytes (0: all) from an offset; `out` is absent if there is no such file. */
enum err file_read_part(struct call *c, struct str path, int64_t from, size_t most,
			struct str *out);

/* Like file_read_part(), but a file with more than `largest` bytes is refused, not read. */
enum err file_read_within(struct call *c, struct str path, int64_t largest, int64_t from,
			  size_t most, struct str *out);

/* Fails with INTERNAL_ERROR: the file is larger than this program reads. */
enum err file_too_large(struct call *c, struct str path, int64_t size, int64_t largest);

/* Reads the next bytes of an open file; 0 at its end, -1 on an error. */
ssize_t file_some(int fd, char *p, size_t n);
bool file_write(int fd, struct str bytes);

/* Opens a new temporary file without a name. Closing it deletes it. -1: error. */
int file_unnamed(void);

/*
 * Replaces one of the user's files atomically, as file_at_replace() does, with a mode as
 * file_at_mode() chooses it. Of a symbolic link, file_replace() replaces the target, and
 * file_replace_here() the link itself. Other kinds of files are refused. Only for paths whose
 * folders nobody but the user may change: store/output.h writes to the others.
 */
enum err file_replace(struct call *c, struct str path, struct str content, mode_t mode);
enum err file_replace_here(struct call *c, struct str path, struct str content, mode_t mode);

/*
 * Creates a small file with this content unless the file exists. Does not count as a stored change
 * of the call.
 */
enum err file_provide(struct call *c, struct str path, struct str content, mode_t mode);

/*
 * Replaces a file atomically for readers, but not durably: for files that can be rebuilt. `temp` is
 * the temporary file; only one process may use it at a time. The content is given in pieces.
 */
enum err file_swap(struct call *c, struct str path, struct str temp, const struct str *piece,
		   size_t count);

/*
 * Removes the temporary files of processes that died while they replaced the file. Only one process
 * at a time may call this.
 */
enum err file_remove_leftovers(struct call *c, struct str path);

/*
 * Appends bytes at the end; they are durable when this returns. On failure the file is cut back to
 * its old size; if that fails too, the call's `stored` says so. The caller holds a lock: only one
 * process may append at a time.
 */
enum err file_append(struct call *c, struct str path, struct str bytes, mode_t mode);

/* Appends a hint: not durable, and errors are ignored. */
void file_append_hint(struct call *c, struct str path, struct str bytes, mode_t mode);

/*
 * Writes to a file that others watch, and whose content does not matter. Replacing the file would
 * wait for the disk on some file systems.
 */
void file_touch(struct call *c, struct str path, mode_t mode);

/*
 * Reads a file and removes it; `out` is absent if there is no such file. If several processes call
 * this at the same time, one of them gets the content.
 */
enum err file_own_take(struct call *c, struct str path, struct str *out);

/* Truncates the file to `size` bytes. */
enum err file_cut(struct call *c, struct str path, int64_t size);

/* Creates an empty file, not durably. */
enum err file_create(struct call *c, struct str path, mode_t mode);

enum err file_make_dir(struct call *c, struct str path, mode_t mode); /* also creates its parents */

/* Creates a folder of this program in an existing parent. A link to a folder is refused. */
enum err file_make_folder(struct call *c, struct str path, mode_t mode);

/* Calls `see` with the name of everything in a folder; a folder that is not there is empty. */
enum err file_each(struct call *c, struct str dir, void (*see)(void *arg, struct str name),
		   void *arg);

/* Makes the directory entry of a file that was just created or renamed durable. */
enum err file_sync_dir(struct call *c, struct str path);

/*
 * Did a power failure lose a part of these bytes of a file, which were written at `offset` and not
 * synced? Any sectors of them may be missing, and a file system shows zeros there. For text, which
 * contains no zeros; a single zero is no such hole, unless it is alone in its sector.
 */
bool file_has_hole(struct str bytes, int64_t offset);

/* Does a text file end with a newline, and its last line contain no zeros? True for an empty or
 * missing file. */
enum err file_ends_whole(struct call *c, struct str path, bool *yes);

/*
 * What a path leads to. A check that fails (no permission, a loop of links, a path that is too
 * long, a read error) is an error, never "nothing is there".
 */
enum file_kind { FILE_NONE, FILE_FOLDER, FILE_OTHER };
struct file_found {
	enum file_kind kind; /* FILE_NONE also for a link whose target is missing */
	int64_t size;        /* -1: nothing is there */
};
enum err file_look(struct call *c, struct str path, struct file_found *out);

/* After a failed call: does errno say that the file does not exist? */
bool file_missing(void);

/*
 * The functions below answer "no" on any error: for caches, hints and state that is reported again
 * later.
 */
uint64_t file_number(struct arena *mem, struct str path); /* identifies the file; 0: no such file */
uint64_t file_number_size(struct arena *mem, struct str path, off_t *size);
off_t file_size(struct arena *mem, struct str path);         /* -1: there is no such file */
int64_t file_changed_ms(struct arena *mem, struct str path); /* last change; 0: unknown */
bool file_exists(struct arena *mem, struct str path);
bool file_is_dir(struct arena *mem, struct str path);

enum err file_remove(struct call *c, struct str path); /* a missing file is fine */

/* As file_remove(); and after a power failure the file is still gone. */
enum err file_remove_durably(struct call *c, struct str path);

/*
 * Removes a folder and its content. Symbolic links are removed, not followed, even if another user
 * puts one in the place of a folder meanwhile.
 */
enum err file_remove_tree(struct call *c, struct str path);

/*
 * INTERNAL_ERROR: "cannot <verb> '<path>': <errno's text>". UNSAFE_PATH if a symbolic link was
 * refused.
 */
enum err file_fail(struct call *c, const char *verb, struct str path);

/* Adds to a failure what is to be done about this errno, if that is known. Returns the code. */
enum err file_remedy(struct call *c, int reason);

/* After a failed call: does errno say that this process may not do that? */
bool file_denied(void);

/* Creates and removes a file in the folder. access() does not know the rules of a sandbox. */
enum err file_try_write(struct call *c, struct str dir);

/* Like file_fail() after a write; READ_ONLY if this process may not write there. */
enum err file_fail_write(struct call *c, const char *verb, struct str path);

#endif
