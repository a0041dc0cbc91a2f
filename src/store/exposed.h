#ifndef STORE_EXPOSED_H
#define STORE_EXPOSED_H

#include "base/call.h"

struct lock;
struct stat;

/*
 * Files of this program in a folder that another user may change: a store of --db-path in /tmp, or
 * the user's own folders where HOME or XDG_STATE_HOME names a folder of somebody else. A check by
 * path proves nothing there, because the file can be replaced before it is opened. So a file is
 * checked once it is open: it belongs to the user, nobody else may write to it, and it has no
 * second hard link, which may be another file of the user.
 */
bool exposed_safe(const struct stat *st);

/*
 * Refuses a file that is not safe: DUBIOUS_OWNERSHIP or UNSAFE_PATH. `path` is for the message.
 */
enum err exposed_check(struct call *c, struct str path, const struct stat *st);
enum err exposed_check_open(struct call *c, struct str path, int fd);

/*
 * Refuses a folder whose content another user may replace: it belongs to neither the user nor root,
 * or every user may write to it and it has no sticky bit. If no folder of a path is refused, and
 * the last part belongs to the user, the path stays what it was when it was checked. Members of a
 * group that may write to a folder are trusted.
 */
enum err exposed_check_folder(struct call *c, struct str path, const struct stat *st);

/* Is this a file of the call's store in such a folder: does its path begin with `c->exposed`? */
bool exposed_covers(const struct call *c, struct str path);

/* Like file_own_read() and lock_take(), but refuse unsafe files. */
enum err exposed_read(struct call *c, struct str path, struct str *out);
enum err exposed_lock(struct call *c, struct str path, int wait_ms, struct lock *out);

#endif
