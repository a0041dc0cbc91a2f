#ifndef STORE_OUTPUT_H
#define STORE_OUTPUT_H

#include "base/call.h"
#include "base/system/file_at.h"

struct buf;

/*
 * The file that a command writes to, at a path that the user gave. A symbolic link, from a cloned
 * repository or from another user in a folder like /tmp, could redirect the write to another file
 * of the user, and another user can put it there at any moment. So the path is resolved once: its
 * folders are opened one after the other, no link is followed by the system, and what is written
 * replaces a name in the folder that was opened.
 */
struct output {
	struct file_at file; /* its path contains no links; dir -1: the folder does not exist */
	int reason;          /* errno, if the folder could not be opened */
	int own;             /* this process's own descriptor, as of /dev/stdout; -1: none */
};

enum output_rule {
	/* Links of other users are always refused. */
	OUTPUT_OWNERS = 0,
	/* Links in a worktree are followed only if they stay in it, and do not lead into folders of
	 * Git or of this program. */
	OUTPUT_LINKS = 1,
	/* Missing folders are created, with the mode 0755; with OUTPUT_FIXED 0700. */
	OUTPUT_MAKE = 2,
	/* Folders that another user may replace are refused; see exposed_check_folder(). */
	OUTPUT_FIXED = 4,
};

/* Resolves an absolute path; `rules` are several of enum output_rule. */
enum err output_open(struct call *c, struct str path, unsigned rules, struct output *out);
void output_close(struct output *o);
#define AUTO_OUTPUT __attribute__((cleanup(output_close))) struct output

/* Reads the file, see file_at_read(); absent: there is none. */
enum err output_read(struct call *c, const struct output *o, struct str *out);

/*
 * Replaces a regular file, see file_at_replace() and file_at_mode(); writes to a FIFO or a device,
 * unless that belongs to another user.
 */
enum err output_put(struct call *c, const struct output *o, const struct buf *content, mode_t mode);

/* Removes the file, durably. A missing one is fine. */
enum err output_remove(struct call *c, const struct output *o);

/*
 * Checks an absolute path that other functions are going to write to by its name, with OUTPUT_LINKS
 * and OUTPUT_FIXED. The result stays true, unless a folder of the path is missing.
 */
enum output_missing { OUTPUT_REFUSE_MISSING, OUTPUT_ALLOW_MISSING, OUTPUT_MAKE_MISSING };
enum err output_check(struct call *c, struct str path, enum output_missing missing);

/* Opens and writes a file that a command names, with OUTPUT_LINKS. */
enum err output_write(struct call *c, struct str name, const struct buf *content);

#endif
