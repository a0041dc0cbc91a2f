#ifndef BASE_SYSTEM_FILE_AT_H
#define BASE_SYSTEM_FILE_AT_H

#include <sys/types.h>

#include "base/call.h"

struct buf;

/*
 * A file by the open folder that contains it. Between the check of a path and its use, another user
 * may replace a folder of the path, or the file itself, by a link. The open folder stays the one
 * that was checked, and the functions below never follow a link in it.
 */
struct file_at {
	int dir;         /* the open folder, or AT_FDCWD */
	struct str name; /* in the folder; with AT_FDCWD: a path */
	struct str path; /* for messages */
};

/* Reads a regular file of at most FILE_SETTINGS_MOST bytes; `out` is absent if there is none. */
enum err file_at_read(struct call *c, const struct file_at *f, struct str *out);

/*
 * Replaces a regular file atomically: a temporary file beside it is written, synced and renamed
 * over it. A link in its place is replaced, not followed.
 */
enum err file_at_replace(struct call *c, const struct file_at *f, const struct buf *content,
			 mode_t mode);

/*
 * The mode for a new version of the file: that of the present one, without setuid bits, if it is
 * the user's; otherwise `mode` as far as the umask and the present file allow. Another user's file
 * cannot choose who may read the new one; nor can a hard link, which another user may have made.
 */
mode_t file_at_mode(struct arena *mem, const struct file_at *f, mode_t mode);

/* Makes the file's directory entry durable, or its removal. */
enum err file_at_sync_dir(struct call *c, const struct file_at *f);

#endif
